// Jobs: the list, filters, live changes, the sheet with steps and canvas, retries and cancellations of one and of several jobs.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN, Browser, canary, CANARY, fill, Project, Steps, until } from './harness.mjs';

const READER = 'jobs-reader@console.example';
/** Names of workflows have no templates. */
const NAME = canary('Sync').replace('{{7*7}}', '');
const SPIN = "let until = Date.now() + 8000; while (Date.now() < until); return 1";
let project;
let browser;
let sync;
let slow;

const trigger = async (workflow, data) => (await project.api('POST', `/workflows/${workflow.id}/trigger`, data)).job_id;
const job = (id) => project.api('GET', `/workflows/jobs/${id}`);
const ended = (id, status) => until(async () => (await job(id)).status === status, `job ${id} is not ${status}`);

/** Waits for the job's run of this number to have this status. */
const hasRun = (id, run, status) => until(async () => {
  const found = await job(id);
  return found.run === run && found.status === status;
}, `job ${id} has no ${status} run ${run}`);

before(async () => {
  project = await Project.create();
  await fill(project);
  await project.user(READER, ['svc_workflows:read']);
  sync = await project.api('POST', '/workflows', {
    name: NAME, trigger: { kind: 'manual' },
    steps: [
      { key: 'make', name: 'Make many', action: 'RunScript', params: { script: `console.log(${JSON.stringify(CANARY)}); return Array.from({ length: 6000 }, (_, i) => ({ i, text: ${JSON.stringify(CANARY)} }))` }, next: 'pick' },
      { key: 'pick', action: 'Condition', params: { field: '$svc.trigger.data.ok', op: 'eq', value: true }, then: 'save', else: 'call' },
      { key: 'save', action: 'CreateData', params: { entity: 'tags', values: { label: 'made' } } },
      { key: 'call', action: 'CallAnApi', params: { url: 'http://127.0.0.1:1/none', method: 'GET' } },
    ],
  });
  slow = await project.api('POST', '/workflows', { name: 'Slow', trigger: { kind: 'manual' }, steps: [{ key: 'spin', action: 'RunScript', params: { script: SPIN }, timeout_seconds: 30 }] });
  for (let at = 0; at < 3; at++) await trigger(sync, { ok: false, note: CANARY });
  await trigger(sync, { ok: true });
  for (const [id, status] of [[1, 'failed'], [2, 'failed'], [3, 'failed'], [4, 'succeeded']]) await ended(id, status);
  browser = await Browser.start(project);
});
after(async () => {
  await browser?.stop();
  await project?.remove();
});

const row = (page, id) => page.getByRole('row').filter({ has: page.getByRole('link', { name: new RegExp(`^${id} `) }) });

test('a failed job is retried in 3 steps, from the failed step and from the start', async () => {
  const view = await browser.open({ email: ADMIN });
  const { page } = view;
  const steps = new Steps(page);
  await page.locator('#main').focus();
  await steps.chord('g j');
  await row(page, 1).waitFor();
  await steps.click(page.getByRole('button', { name: 'Retry Job 1', exact: false }));
  await view.axe('menu of a job');
  await steps.click(page.getByRole('menuitem', { name: 'From “call”, with its saved input' }));
  await page.getByRole('status').getByText('Job 1 is queued again').waitFor();
  steps.atMost(3);
  await hasRun(1, 2, 'failed');
  const second = await job(1);
  assert.deepEqual(second.steps.map((each) => [each.key, each.run]), [['make', 1], ['pick', 1], ['call', 1], ['call', 2]]);

  await row(page, 1).getByText('run 2').waitFor();
  await row(page, 1).getByText('Failed').waitFor();
  await page.getByRole('button', { name: 'Retry Job 1', exact: false }).click();
  await page.getByRole('menuitem', { name: 'From the start' }).click();
  await hasRun(1, 3, 'failed');
  assert.deepEqual((await job(1)).steps.filter((each) => each.run === 3).map((each) => each.key), ['make', 'pick', 'call']);
  await view.close();
});

test('a job is retried from any step in 3 steps', async () => {
  const view = await browser.open({ email: ADMIN });
  const { page } = view;
  const steps = new Steps(page);
  await page.locator('#main').focus();
  await steps.chord('g j');
  await steps.click(page.getByRole('link', { name: /^2 Sync/ }));
  const sheet = page.getByRole('dialog', { name: 'Job 2' });
  await steps.click(sheet.getByRole('button', { name: 'Retry from here: pick' }));
  steps.atMost(3);
  await hasRun(2, 2, 'failed');
  assert.deepEqual((await job(2)).steps.filter((each) => each.run === 2).map((each) => each.key), ['pick', 'call']);
  await sheet.getByRole('heading', { name: 'Run 2' }).waitFor();
  await view.close();
});

test('filters and a job have addresses, and the focus returns to the link of the job', async () => {
  const view = await browser.open({ email: ADMIN, path: 'jobs' });
  const { page } = view;
  await row(page, 4).waitFor();
  await view.axe('jobs');
  await page.getByRole('link', { name: /^Failed 3/ }).click();
  await row(page, 4).waitFor({ state: 'detached' });
  assert.match(page.url(), /jobs\?status=failed$/);
  await page.getByRole('combobox', { name: 'Workflow' }).click();
  await page.getByRole('option', { name: 'Slow' }).click();
  await page.getByRole('heading', { name: 'No job matches these filters.' }).waitFor();
  await view.axe('no job');
  await page.getByRole('button', { name: 'All workflows' }).click();
  const period = page.getByRole('combobox', { name: 'Period' });
  await period.selectOption('1h');
  await row(page, 3).waitFor();
  await page.getByRole('link', { name: /^Failed 3/ }).waitFor();
  assert.match(page.url(), /since=1h/);
  await period.selectOption('time');
  await page.getByLabel('From').fill('2099-01-01T00:00');
  await page.getByLabel('From').blur();
  await page.getByRole('heading', { name: 'No job matches these filters.' }).waitFor();
  await page.getByRole('link', { name: /^Failed 0/ }).waitFor();
  await view.axe('a period');
  await page.getByLabel('From').fill('2020-01-01T00:00');
  await page.getByLabel('From').blur();
  await row(page, 3).waitFor();
  await page.getByLabel('until').fill('2020-01-02T00:00');
  await page.getByLabel('until').blur();
  await page.getByRole('heading', { name: 'No job matches these filters.' }).waitFor();
  assert.match(page.url(), /since=2\S+&until=2/);
  await period.selectOption('');
  await row(page, 3).waitFor();
  assert.doesNotMatch(page.url(), /since|until/);
  await page.getByRole('link', { name: /^3 Sync/ }).click();
  const sheet = page.getByRole('dialog', { name: 'Job 3' });
  await sheet.getByText('failed jobs of this workflow have this error').waitFor();
  assert.match(page.url(), /jobs\/3\?status=failed$/);
  await view.axe('job');
  await page.keyboard.press(']');
  await page.getByRole('dialog', { name: 'Job 2' }).waitFor();
  await page.keyboard.press('Escape');
  await sheet.waitFor({ state: 'detached' });
  assert.match(await page.evaluate(() => document.activeElement?.textContent ?? ''), /^3 Sync/);
  await view.go('jobs/999999');
  await page.getByRole('alert').getByText('not_found').waitFor();
  view.faults = view.faults.filter((fault) => !fault.includes('404'));
  await view.close();
});

test('steps show masked input, output and log; a value of megabytes is cut', async () => {
  const view = await browser.open({ email: ADMIN, path: 'jobs/3' });
  const { page } = view;
  const sheet = page.getByRole('dialog', { name: 'Job 3' });
  await sheet.getByText('Data of the trigger').click();
  await sheet.locator('pre[aria-label="Trigger"]').getByText('window.canary=1').waitFor();
  const begin = Date.now();
  await sheet.getByRole('button', { name: /^Make many/, expanded: false }).click();
  const output = sheet.locator('pre[aria-label="Output"]').first();
  await output.getByText('"i": 0').waitFor();
  const shown = (await output.innerText()).length;
  assert.ok(shown < 10_000, `${shown} characters`);
  console.log(`# a large output is open after ${Date.now() - begin} ms`);
  await sheet.getByRole('button', { name: 'Show more' }).first().click();
  await until(async () => (await output.innerText()).length > shown, 'no more is shown');
  const [download] = await Promise.all([page.waitForEvent('download'), sheet.getByRole('button', { name: 'Save Output' }).click()]);
  assert.equal(download.suggestedFilename(), 'job-3-make-output.json');
  await view.axe('open steps');
  await view.close();
});

test('the canvas shows the run, and a step of it can be retried', async () => {
  const view = await browser.open({ email: ADMIN, path: 'jobs/3?view=canvas' });
  const { page } = view;
  const sheet = page.getByRole('dialog', { name: 'Job 3' });
  const canvas = sheet.getByRole('group', { name: 'Steps of the workflow' });
  await canvas.getByText('Succeeded').first().waitFor();
  await canvas.getByText('Failed').waitFor();
  await view.axe('run on the canvas');
  await canvas.getByRole('button', { name: 'Actions of call' }).click();
  await page.getByRole('menuitem', { name: 'Retry from here' }).click();
  await hasRun(3, 2, 'failed');
  await view.close();
});

test('a new job waits until it is asked for, a shown job changes in place, and a running job is cancelled', async () => {
  const view = await browser.open({ email: ADMIN, path: 'jobs' });
  const { page } = view;
  await row(page, 4).waitFor();
  await page.getByText('live', { exact: true }).waitFor();
  const id = await trigger(slow, {});
  await page.getByRole('button', { name: '1 new' }).click();
  await row(page, id).getByText('Running').waitFor();
  await view.axe('running job');
  await page.getByRole('button', { name: `Cancel Job ${id}` }).click();
  const question = page.getByRole('dialog', { name: 'Cancel 1 job?' });
  await view.axe('question');
  await question.getByRole('button', { name: 'Cancel 1 job' }).click();
  await row(page, id).getByText('Cancelled').waitFor();
  await ended(id, 'cancelled');
  await view.close();
});

test('several jobs are retried and cancelled with a result for each', async () => {
  const view = await browser.open({ email: ADMIN, path: `jobs?workflow=${sync.id}` });
  const { page } = view;
  const before = await Promise.all([2, 3].map(async (id) => (await job(id)).run));
  for (const id of [2, 3, 4]) await page.getByRole('checkbox', { name: `Choose ${id}`, exact: true }).check();
  await view.axe('chosen jobs');
  assert.equal(await page.getByRole('button', { name: 'Cancel 0 jobs' }).getAttribute('aria-disabled'), 'true');
  // The request names a job that cannot be retried, as after a change elsewhere.
  await page.route('**/workflows/jobs/retry', async (route) => {
    const body = route.request().postDataJSON();
    await route.continue({ postData: JSON.stringify({ ids: [...body.ids, 4] }) });
  });
  await page.getByRole('button', { name: 'Retry 2 jobs' }).click();
  await page.getByText('2 jobs are queued again, 1 refused').waitFor();
  await page.getByRole('listitem').getByText('only failed, cancelled and skipped jobs can be retried').waitFor();
  await view.axe('results');
  await page.unroute('**/workflows/jobs/retry');
  await hasRun(2, before[0] + 1, 'failed');
  await hasRun(3, before[1] + 1, 'failed');

  const [first, second] = [await trigger(slow, {}), await trigger(slow, {})];
  await view.go(`jobs?workflow=${slow.id}`);
  for (const id of [first, second]) await page.getByRole('checkbox', { name: `Choose ${id}`, exact: true }).check();
  const calls = [];
  await page.route('**/workflows/jobs/**', async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    calls.push(new URL(route.request().url()).pathname.split('/workflows/')[1]);
    // The request names a job that has ended, as after a change elsewhere.
    await route.continue({ postData: JSON.stringify({ ids: [...route.request().postDataJSON().ids, 4] }) });
  });
  await page.getByRole('button', { name: 'Cancel 2 jobs' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel 2 jobs' }).click();
  await page.getByText('2 jobs were cancelled, 1 refused').waitFor();
  await page.getByRole('listitem').getByText('The job has already ended: its status is succeeded.').waitFor();
  assert.deepEqual(calls, ['jobs/cancel']);
  await page.unroute('**/workflows/jobs/**');
  await ended(first, 'cancelled');
  await ended(second, 'cancelled');
  await view.close();
});

test('all failed jobs with the same error are retried', async () => {
  await Promise.all([1, 2, 3].map((id) => ended(id, 'failed')));
  const view = await browser.open({ email: ADMIN, path: 'jobs/1' });
  const { page } = view;
  const before = (await job(3)).run;
  await page.getByRole('button', { name: 'Retry all 3' }).click();
  const question = page.getByRole('dialog', { name: 'Retry 3 jobs?' });
  await question.getByText('call: ').waitFor();
  await question.getByRole('button', { name: 'Retry 3 jobs' }).click();
  await page.getByText('3 jobs are queued again').waitFor();
  await hasRun(3, before + 1, 'failed');
  await view.close();
});

test('Home shows failed jobs by error, and retries them', async () => {
  await Promise.all([1, 2, 3].map((id) => ended(id, 'failed')));
  const view = await browser.open({ email: ADMIN });
  const { page } = view;
  const before = (await job(1)).run;
  await page.getByText('3 jobs failed', { exact: true }).waitFor();
  await view.axe('home with failed jobs');
  await page.getByRole('button', { name: 'Retry: 3 jobs failed' }).click();
  await page.getByRole('status').getByText('3 jobs are queued again').waitFor();
  await hasRun(1, before + 1, 'failed');
  await page.getByRole('listitem').filter({ hasText: '3 jobs failed' }).getByRole('link').click();
  await row(page, 1).waitFor();
  assert.match(page.url(), new RegExp(`jobs\\?status=failed&workflow=${sync.id}$`));
  await view.close();
});

test('a user who may only read sees no data of others, and controls with the reason', async () => {
  const view = await browser.open({ email: READER, path: 'jobs/3' });
  const { page } = view;
  const sheet = page.getByRole('dialog', { name: 'Job 3' });
  await sheet.getByText('are hidden from you').waitFor();
  await view.axe('job without data');
  const button = sheet.getByRole('button', { name: 'Retry from here: call' }).last();
  assert.equal(await button.getAttribute('aria-disabled'), 'true');
  assert.match(await button.getAttribute('title'), /needs svc_workflows:trigger/);
  await page.getByRole('button', { name: 'Retry Job 3', exact: false }).first().click();
  await page.getByRole('menuitem', { name: /From the start/ }).getByText('needs svc_workflows:trigger').waitFor();
  await page.keyboard.press('Escape');
  assert.equal(await page.getByRole('link', { name: 'Secrets' }).count(), 0);
  assert.equal(await page.getByRole('link', { name: 'Audit log' }).count(), 0);
  await view.go('secrets');
  await page.getByText('needs svc_secrets:read').waitFor();
  await view.close();
});

test('jobs in the dark and on a phone', async () => {
  const view = await browser.open({ email: ADMIN, path: 'jobs', scheme: 'dark', width: 390, height: 844 });
  const { page } = view;
  await row(page, 1).waitFor();
  await view.axe('jobs on a phone');
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
  await page.getByRole('link', { name: /^1 Sync/ }).click();
  const sheet = page.getByRole('dialog', { name: 'Job 1' });
  await sheet.getByRole('link', { name: 'Canvas' }).click();
  await sheet.getByRole('group', { name: 'Steps of the workflow' }).getByText('Failed').waitFor();
  await view.axe('canvas on a phone');
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
  await view.close();
});
