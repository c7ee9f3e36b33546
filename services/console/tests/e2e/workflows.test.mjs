// Workflows: the list, the editor as canvas and as list, forms, drafts, conflicts, triggers, runs, versions, rights.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN, Browser, CANARY, fill, Project } from './harness.mjs';

// The service refuses braces in names.
const PLAIN = CANARY.replace('{{7*7}}', '[[7*7]]');
const canary = (text) => `${text} ${PLAIN}`;
const READER = 'reader@console.example';
let project;
let browser;
before(async () => {
  project = await Project.create();
  await fill(project);
  await project.user(READER, ['svc_entities:read', 'svc_workflows:read']);
  await project.api('POST', '/secrets', { name: 'SHOP_KEY', value: 'hidden', allowed_hosts: ['shop.example'] }).catch(() => undefined);
  browser = await Browser.start(project);
});
after(async () => {
  await browser?.stop();
  await project?.remove();
});

let made = 0;
const script = (key, more = {}) => ({ key, action: 'RunScript', params: { script: `return ${JSON.stringify(key)}` }, ...more });
/** A workflow of hostile names with a condition, a failing call and a step on failure. */
async function create(more = {}) {
  return project.api('POST', '/workflows', {
    name: canary(`Flow ${++made}`),
    trigger: { kind: 'event', event: 'EntityCreated', entity: 'products', filter: { field: 'name', op: 'contains', value: PLAIN } },
    steps: [
      script('first', { name: canary('First'), next: 'big' }),
      { key: 'big', action: 'Condition', params: { field: '$svc.trigger.data.stock', op: 'gt', value: 10 }, then: 'log', else: null },
      { key: 'log', action: 'CreateData', name: 'Log', params: { entity: 'tags', values: { label: '{{ $svc.trigger.data.name }}' } }, next: 'call' },
      { key: 'call', action: 'CallAnApi', params: { url: 'http://127.0.0.1:1/none', method: 'POST', body: { text: PLAIN } }, on_failure: 'last' },
      script('last'),
    ],
    ...more,
  });
}
const get = (id) => project.api('GET', `/workflows/${id}`);
const open = (path, more = {}) => browser.open({ email: ADMIN, path: `workflows${path}`, ...more });
const step = (view, key) => view.page.locator(`[data-step="${key}"]`);
const sheet = (view) => view.page.locator('.sheet');
const field = (view, label) => sheet(view).getByRole('textbox', { name: label, exact: true });
const save = async (view) => {
  await view.page.keyboard.press('Control+s');
  await view.page.getByText(/Saved – /).first().waitFor();
};

test('the list names trigger, state and last job, and switches and deletes workflows', async () => {
  const workflow = await create();
  const { job_id } = await project.api('POST', `/workflows/${workflow.id}/trigger`, { name: CANARY, stock: 1 });
  await create({ trigger: { kind: 'timed', cron: '0 8 * * *', timezone: 'Europe/Paris' }, enabled: false, steps: [script('a')] });
  const view = await open('');
  const { page } = view;
  const row = page.getByRole('row', { name: new RegExp(`Flow ${made - 1}`) });
  await row.getByText('products created').waitFor();
  await row.getByText(/Succeeded|Running|Queued/).waitFor();
  assert.ok((await row.getByRole('link', { name: /Succeeded|Running|Queued/ }).getAttribute('href')).endsWith(`run=${job_id}`));
  await page.getByText('0 8 * * * Europe/Paris').waitFor();
  await view.axe('list');
  await row.getByRole('checkbox').uncheck();
  await page.getByText(/is off\./).waitFor();
  assert.equal((await get(workflow.id)).enabled, false);
  await page.getByLabel('State').selectOption('false');
  await page.waitForURL(/enabled=false/);
  await row.waitFor();
  await row.getByRole('button', { name: /Actions of/ }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog', { name: /Delete the workflow/ });
  await dialog.getByText(/2 versions are deleted/).waitFor();
  assert.ok(await dialog.getByRole('button', { name: 'Delete' }).isDisabled());
  await dialog.getByRole('textbox').fill(workflow.name);
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await row.waitFor({ state: 'detached' });
  await project.api('GET', `/workflows/${workflow.id}`, undefined, [404]);
  await view.close();
});

test('a workflow is made with keys only, with completion, and saved', async () => {
  const view = await open('');
  const { page } = view;
  await page.getByRole('button', { name: 'New workflow' }).first().waitFor();
  await page.keyboard.press('c');
  await page.getByLabel('Name of the workflow').waitFor();
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Name of the workflow');
  await page.keyboard.type('Made by keys');
  await step(view, '$trigger').focus();
  await page.keyboard.press('c');
  await page.getByRole('dialog', { name: 'Add a step' }).waitFor();
  await view.axe('add a step');
  await page.keyboard.type('create a record');
  await page.keyboard.press('Enter');
  await sheet(view).getByLabel('entity *').waitFor();
  await sheet(view).getByLabel('entity *').focus();
  await page.keyboard.type('tags');
  await page.keyboard.press('Tab');
  await sheet(view).getByLabel('Add a field…').selectOption('label');
  const value = field(view, 'Value of label');
  await value.focus();
  await page.keyboard.type('by {{ $svc.work');
  await page.getByRole('option', { name: '$svc.workflow.name' }).waitFor();
  // The editor ignores keys for 75 ms after the choices have appeared, so that no key of the text chooses by chance.
  await page.waitForTimeout(200);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForTimeout(300);
  assert.equal(await value.textContent(), 'by {{ $svc.workflow.name }}');
  await page.keyboard.press('Tab');
  assert.notEqual(await page.evaluate(() => document.activeElement?.getAttribute('data-code')), 'Value of label');
  await view.axe('step form');
  await save(view);
  await page.waitForURL(/workflows\/\d+$/);
  const stored = await get(Number(/\d+$/.exec(page.url())[0]));
  assert.equal(stored.name, 'Made by keys');
  assert.deepEqual(stored.steps.map((each) => [each.key, each.action, each.params]), [['create_data', 'CreateData', { entity: 'tags', values: { label: 'by {{ $svc.workflow.name }}' } }]]);
  await view.close();
});

test('canvas and list offer the same actions, and changes are undone', async () => {
  const workflow = await create();
  for (const shown of ['', '?view=list']) {
    const view = await open(`/${workflow.id}${shown}`);
    const { page } = view;
    await step(view, 'log').waitFor();
    await view.axe(`editor ${shown}`);
    const menu = (name) => page.getByRole('button', { name: `Actions of ${name}` });
    await menu('Log').first().click();
    await view.axe(`menu ${shown}`);
    await page.getByRole('menuitem', { name: 'Move later' }).click();
    await menu('last').first().click();
    await page.getByRole('menuitem', { name: 'Remove', exact: true }).click();
    await step(view, 'last').waitFor({ state: 'detached' });
    await menu('Log').first().click();
    await page.getByRole('menuitem', { name: 'Duplicate' }).click();
    await step(view, 'log_2').waitFor();
    await page.keyboard.press('Escape');
    for (let times = 0; times < 3; times++) await page.getByRole('button', { name: 'Undo', exact: true }).first().click();
    await step(view, 'last').waitFor();
    assert.ok(await page.getByRole('button', { name: 'Save' }).isDisabled());
    await step(view, 'first').focus();
    await page.keyboard.press('Control+y');
    await page.getByText('Unsaved changes').waitFor();
    await page.keyboard.press('Control+z');
    await page.getByText('Unsaved changes').waitFor({ state: 'detached' });
    await view.close();
  }
});

test('arrow keys follow the links, Delete removes, and a drag connects and moves steps', async () => {
  const workflow = await create({ steps: [script('a', { next: 'b' }), script('b', { next: 'c' }), script('c', { next: 'd' }), script('d')] });
  const view = await open(`/${workflow.id}`);
  const { page } = view;
  await step(view, 'a').focus();
  await page.keyboard.press('ArrowDown');
  assert.equal(await page.evaluate(() => document.activeElement.dataset.step), 'b');
  await page.keyboard.press('Delete');
  await step(view, 'b').waitFor({ state: 'detached' });
  await page.keyboard.press('Control+z');
  await step(view, 'b').waitFor();
  await page.waitForTimeout(500);
  // The step d is dragged onto the link between the trigger and a.
  const from = await step(view, 'd').boundingBox();
  const link = await page.getByRole('button', { name: 'next: add a step after Trigger' }).boundingBox();
  await page.mouse.move(from.x + 60, from.y + from.height / 2);
  await page.mouse.down();
  await page.mouse.move(from.x + 60, from.y - 40, { steps: 5 });
  await page.mouse.move(link.x + link.width / 2 - (from.width / 2 - 60), link.y + link.height / 2, { steps: 15 });
  await page.mouse.up();
  await page.getByText('Unsaved changes').waitFor();
  await page.waitForTimeout(500);
  // A link is drawn from the failure handle of c to a new place of d: refused, because d leads to c.
  const handle = async (key, name) => page.locator(`.svelte-flow__node[data-id="${key}"] .svelte-flow__handle[data-handleid="${name}"]`).boundingBox();
  const draw = async (key, name, to) => {
    const at = await handle(key, name);
    const target = await step(view, to).boundingBox();
    await page.mouse.move(at.x + at.width / 2, at.y + at.height / 2);
    await page.mouse.down();
    await page.mouse.move(target.x + 40, target.y - 8, { steps: 10 });
    await page.mouse.move(target.x + target.width / 2 + 16, target.y + 3, { steps: 10 });
    await page.mouse.up();
  };
  await draw('c', 'on_failure', 'd');
  await page.getByText('A step cannot lead back to an earlier step.').waitFor();
  await draw('a', 'on_failure', 'c');
  await save(view);
  const steps = Object.fromEntries((await get(workflow.id)).steps.map((each) => [each.key, each]));
  assert.equal((await get(workflow.id)).start_step, 'd');
  assert.deepEqual([steps.d.next, steps.a.next, steps.a.on_failure, steps.c.next], ['a', 'b', 'c', null]);
  await view.close();
});

test('problems are shown at the step and the field that the service names', async () => {
  const workflow = await create();
  const view = await open(`/${workflow.id}?step=log`, { expects: [400] });
  const { page } = view;
  // As a user types: fill() uses a command of the browser that reports no input beforehand, and leaves styles.
  await field(view, 'Value of label').focus();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('{{ $svc.steps.none.data }}');
  await page.keyboard.press('Control+s');
  await page.getByRole('alert').getByText('validation_failed').waitFor();
  await sheet(view).getByText(/there is no step "none"/).first().waitFor();
  await step(view, 'log').getByText('1 problem').waitFor();
  await view.axe('problems');
  await page.keyboard.press('Escape');
  await view.close();
});

test('unsaved changes survive a reload and leaving, and can be discarded', async () => {
  const workflow = await create();
  const view = await open(`/${workflow.id}?step=first`);
  const { page } = view;
  await sheet(view).getByLabel('Name', { exact: true }).fill('Half done');
  await page.getByRole('link', { name: 'Home' }).click();
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  await page.goBack();
  await page.getByText(/Your unsaved changes of/).waitFor();
  await page.reload();
  await page.getByText(/Your unsaved changes of/).waitFor();
  assert.equal(await sheet(view).getByLabel('Name', { exact: true }).inputValue(), 'Half done');
  await view.axe('draft');
  await page.getByRole('button', { name: 'Discard the changes' }).first().click();
  assert.equal(await sheet(view).getByLabel('Name', { exact: true }).inputValue(), canary('First'));
  await page.waitForTimeout(600);
  await page.reload();
  await step(view, 'first').waitFor();
  assert.equal(await page.getByText(/Your unsaved changes of/).count(), 0);
  await view.close();
});

test('a save that lost a race compares the changes and merges them', async () => {
  const workflow = await create();
  const view = await open(`/${workflow.id}?step=last`, { expects: [412] });
  const { page } = view;
  await sheet(view).getByLabel('Name', { exact: true }).fill('Mine');
  await project.api('PUT', `/workflows/${workflow.id}`, { name: canary('Theirs') });
  await page.keyboard.press('Control+s');
  await page.getByText('Another user has saved version 2 of this workflow.').waitFor();
  await page.getByText('both can be kept').waitFor();
  await view.axe('conflict');
  await page.getByRole('button', { name: 'Merge' }).click();
  await save(view);
  const stored = await get(workflow.id);
  assert.deepEqual([stored.version, stored.name, stored.steps.find((each) => each.key === 'last').name], [3, canary('Theirs'), 'Mine']);
  await view.close();
});

test('triggers of every kind are edited, and the next times are those of the service', async () => {
  const workflow = await create({ steps: [script('a')] });
  const view = await open(`/${workflow.id}?step=%24trigger`);
  const { page } = view;
  await sheet(view).getByLabel('Event', { exact: true }).last().selectOption('PushActionTaken');
  await sheet(view).getByLabel('Group of buttons').fill('rsvp');
  await sheet(view).getByRole('radio', { name: /^Time/ }).check();
  await sheet(view).getByLabel('Cron expression').fill('61 * * * *');
  await sheet(view).getByText('minute: 61 is not between 0 and 59').waitFor();
  await sheet(view).getByLabel('Cron expression').fill('*/7 3 * * mon-fri');
  await sheet(view).getByLabel('Time zone').fill('America/New_York');
  assert.equal(await sheet(view).locator('.times li').count(), 5);
  await view.axe('timed trigger');
  await save(view);
  const timed = await get(workflow.id);
  const shown = await sheet(view).locator('.times time').first().getAttribute('datetime');
  assert.equal(Date.parse(shown), Date.parse(timed.next_fire_at));
  await sheet(view).getByRole('radio', { name: /^Call of an address/ }).check();
  await sheet(view).getByLabel('Route').fill('Sync-It');
  await sheet(view).getByRole('button', { name: 'Copy the address' }).click();
  assert.ok((await page.evaluate(() => navigator.clipboard.readText())).endsWith(`/org/${project.id}/workflows/api/Sync-It`));
  await view.axe('address');
  await save(view);
  assert.equal((await get(workflow.id)).trigger.route, 'sync-it');
  await sheet(view).getByRole('radio', { name: /^By hand/ }).check();
  await save(view);
  assert.deepEqual((await get(workflow.id)).trigger, { kind: 'manual' });
  await view.close();
});

test('a test run is followed on the canvas, with the output and the error of each step', async () => {
  const workflow = await create();
  const view = await open(`/${workflow.id}`);
  const { page } = view;
  await page.getByRole('button', { name: 'Test' }).click();
  await sheet(view).getByRole('textbox', { name: 'Data of the trigger' }).fill(JSON.stringify({ name: CANARY, stock: 50 }));
  await view.axe('test');
  await sheet(view).getByRole('button', { name: 'Run', exact: true }).click();
  await page.waitForURL(/run=\d+/);
  await page.locator('.run').getByText('Succeeded').waitFor();
  await step(view, 'call').getByText('Failed').waitFor();
  await step(view, 'last').getByText('Succeeded').waitFor();
  await step(view, 'call').click();
  await sheet(view).getByText('unreachable').waitFor();
  await view.axe('run');
  await step(view, 'log').click();
  await sheet(view).getByText(CANARY.slice(0, CANARY.indexOf('"'))).first().waitFor(); // JSON escapes the quote that follows
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('button', { name: 'Add a step', exact: true }).waitFor();
  await view.close();
});

test('a version is compared with the stored one and restored', async () => {
  const workflow = await create();
  await project.api('PUT', `/workflows/${workflow.id}`, { steps: workflow.steps.filter((each) => each.key !== 'last').map((each) => (each.key === 'call' ? { ...each, on_failure: null } : each)) });
  const view = await open(`/${workflow.id}/versions`);
  const { page } = view;
  await page.getByRole('link', { name: /Version 1/ }).click();
  await page.getByText('on_failure').first().waitFor();
  await page.getByText('removed', { exact: true }).waitFor();
  await view.axe('versions');
  await page.getByRole('button', { name: 'Restore' }).click();
  await step(view, 'last').waitFor();
  await save(view);
  const stored = await get(workflow.id);
  assert.deepEqual([stored.version, stored.steps.some((each) => each.key === 'last')], [3, true]);
  await view.close();
});

test('the whole workflow can be edited as JSON', async () => {
  const workflow = await create({ steps: [script('a')] });
  const view = await open(`/${workflow.id}/json`);
  const { page } = view;
  const text = page.getByRole('textbox', { name: 'JSON' });
  await text.waitFor();
  await view.axe('json');
  const { name, enabled, trigger } = workflow;
  await text.fill(JSON.stringify({ name, enabled, trigger, start_step: 'z', steps: [script('z', { timeout_seconds: 7 })] }));
  await save(view);
  const stored = await get(workflow.id);
  assert.deepEqual([stored.start_step, stored.steps[0].timeout_seconds], ['z', 7]);
  await view.close();
});

test('a user who may only read sees the workflow, and each control says why it is off', async () => {
  const workflow = await create();
  const view = await browser.open({ email: READER, path: `workflows/${workflow.id}?step=log` });
  const { page } = view;
  await sheet(view).getByLabel('Name', { exact: true }).waitFor();
  assert.ok(await sheet(view).getByLabel('Name', { exact: true }).isDisabled());
  assert.ok(await page.getByLabel('Name of the workflow').isDisabled());
  await page.getByRole('button', { name: /^Save/ }).getByText('needs svc_workflows:update').waitFor({ state: 'attached' });
  await page.getByRole('button', { name: /^Test/ }).getByText('needs svc_workflows:trigger').waitFor({ state: 'attached' });
  await view.axe('read only');
  await view.close();
});

test('dark and on a phone the editor has a list, a canvas and a form of a whole page', async () => {
  const workflow = await create();
  const view = await open(`/${workflow.id}`, { width: 390, height: 844, scheme: 'dark' });
  const { page } = view;
  await step(view, 'first').waitFor();
  await view.axe('phone');
  await page.getByRole('button', { name: 'Show as a list' }).click();
  await view.axe('phone, list');
  await step(view, 'log').click();
  await field(view, 'Value of label').waitFor();
  await view.axe('phone, step');
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await sheet(view).getByRole('button', { name: 'Close' }).click();
  await page.waitForFunction(() => document.activeElement?.getAttribute('data-step') === 'log');
  await view.close();
});
