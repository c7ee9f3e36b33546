// Secrets: storing, rotating, hosts, uses, deleting. A value is shown nowhere.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN, Browser, canary, Project, Steps } from './harness.mjs';

const READER = 'secrets-reader@console.example';
const VALUE = 'v4lue-of-the-secret-{{7*7}}<img src=x onerror="window.canary=1">';
let project;
let browser;
before(async () => {
  project = await Project.create();
  await project.user(READER, ['svc_secrets:read']);
  await project.api('POST', '/secrets', { name: 'SHOP_KEY', value: VALUE, allowed_hosts: ['api.example.com'] });
  await project.api('POST', '/secrets', { name: 'SHOP', value: VALUE });
  await project.api('POST', '/workflows', {
    name: canary('Charge').replace('{{7*7}}', ''), trigger: { kind: 'manual' },
    steps: [{ key: 'call', action: 'CallAnApi', params: { url: 'http://127.0.0.1:1/', method: 'GET', headers: { Authorization: 'Bearer {{ $svc.secrets.SHOP_KEY }}' } } }],
  });
  browser = await Browser.start(project);
});
after(async () => {
  await browser?.stop();
  await project?.remove();
});

test('a secret is rotated in 4 steps', async () => {
  const view = await browser.open({ email: ADMIN });
  const { page } = view;
  const steps = new Steps(page);
  await page.locator('#main').focus();
  await steps.chord('g e');
  await steps.click(page.getByRole('link', { name: 'SHOP_KEY' }));
  await steps.type(`${VALUE} rotated`, page.getByLabel('New value'));
  await steps.chord('Enter');
  await page.getByRole('status').getByText('SHOP_KEY has a new value, version 2').waitFor();
  steps.atMost(4);
  const stored = await project.api('GET', '/secrets/SHOP_KEY');
  assert.deepEqual([stored.version, stored.allowed_hosts], [2, ['api.example.com']]);
  assert.equal(await page.getByLabel('New value').inputValue(), '');
  await view.axe('rotated secret');
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href, document.body.innerText]));
  assert.ok(!kept.includes('v4lue'));
  await view.close();
});

test('a secret is stored, with the problems of the service at their fields', async () => {
  const view = await browser.open({ email: ADMIN, path: 'secrets', expects: [400, 409] });
  const { page } = view;
  await page.getByRole('link', { name: 'SHOP_KEY' }).waitFor();
  await view.axe('secrets');
  await page.keyboard.press('c');
  const sheet = page.getByRole('dialog', { name: 'New secret' });
  await sheet.getByLabel('Name').fill('9 lives');
  await sheet.getByLabel('Value', { exact: true }).fill('abc');
  await sheet.getByRole('button', { name: 'Store the secret' }).click();
  await sheet.getByText('must be a letter or _').waitFor();
  await sheet.getByLabel('Name').fill('MAIL_KEY');
  await sheet.getByRole('button', { name: 'Store the secret' }).click();
  await sheet.getByText('must have at least 4 characters').waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('type')), 'password');
  await view.axe('problems of a secret');
  await sheet.getByLabel('Value', { exact: true }).fill(VALUE);
  await sheet.getByLabel('Allowed hosts').fill('https://x.example/');
  await sheet.getByRole('button', { name: 'Store the secret' }).click();
  await sheet.getByText('must be a host name or an address').waitFor();
  await sheet.getByLabel('Allowed hosts').fill('a.example\nb.example');
  await sheet.getByRole('button', { name: 'Call of the API' }).click();
  const call = page.getByRole('dialog', { name: 'Call of the API' });
  await call.getByText('"value":"********"').waitFor();
  assert.ok(!(await call.innerText()).includes('v4lue'));
  await page.keyboard.press('Escape');
  await sheet.getByRole('button', { name: 'Show the value' }).click();
  assert.equal(await sheet.getByLabel('Value', { exact: true }).getAttribute('type'), 'text');
  await sheet.getByRole('button', { name: 'Store the secret' }).click();
  await page.getByRole('dialog', { name: 'MAIL_KEY' }).waitFor();
  assert.deepEqual((await project.api('GET', '/secrets/MAIL_KEY')).allowed_hosts, ['a.example', 'b.example']);
  await view.close();
});

test('a secret names its uses, and is deleted only by its name and without use', async () => {
  const view = await browser.open({ email: ADMIN, path: 'secrets/SHOP_KEY', expects: [409] });
  const { page } = view;
  const sheet = page.getByRole('dialog', { name: 'SHOP_KEY' });
  await sheet.getByText('in call').waitFor();
  await sheet.getByRole('button', { name: 'Delete…' }).click();
  const question = page.getByRole('dialog', { name: 'Delete the secret SHOP_KEY?' });
  await question.getByText('1 workflow names this secret').waitFor();
  assert.ok(await question.getByRole('button', { name: 'Delete…' }).isDisabled());
  await question.getByLabel(/to confirm/).fill('SHOP_KEY');
  await question.getByRole('button', { name: 'Delete…' }).click();
  await sheet.getByRole('alert').getByText('Enabled workflows use this secret').waitFor();
  await view.axe('secret in use');
  await page.getByRole('link', { name: 'SHOP', exact: true }).click();
  const other = page.getByRole('dialog', { name: 'SHOP', exact: true });
  await other.getByText('No workflow names this secret.').waitFor();
  await other.getByRole('button', { name: 'Delete…' }).click();
  await page.getByLabel(/to confirm/).fill('SHOP');
  await page.getByRole('dialog', { name: 'Delete the secret SHOP?' }).getByRole('button', { name: 'Delete…' }).click();
  await page.getByText('The secret SHOP was deleted').waitFor();
  await other.waitFor({ state: 'detached' });
  await project.api('GET', '/secrets/SHOP', undefined, [404]);
  await view.close();
});

test('a typed value is not lost without a question', async () => {
  const view = await browser.open({ email: ADMIN, path: 'secrets/SHOP_KEY' });
  const { page } = view;
  await page.getByLabel('New value').fill('typed');
  await page.getByRole('link', { name: 'Home' }).click();
  const question = page.getByRole('dialog', { name: 'Leave without saving?' });
  await question.getByRole('button', { name: 'Cancel' }).click();
  assert.equal(await page.getByLabel('New value').inputValue(), 'typed');
  await page.getByLabel('New value').focus();
  await page.keyboard.press('Escape');
  await question.getByRole('button', { name: 'Discard the value' }).click();
  await page.getByRole('dialog', { name: 'SHOP_KEY' }).waitFor({ state: 'detached' });
  await view.close();
});

test('a reader changes no secret, and a phone shows the sheet as a page', async () => {
  const view = await browser.open({ email: READER, path: 'secrets', scheme: 'dark', width: 390, height: 844 });
  const { page } = view;
  const sheet = page.getByRole('dialog', { name: 'SHOP_KEY' });
  await page.getByRole('link', { name: 'SHOP_KEY' }).click();
  const save = sheet.getByRole('button', { name: /Save the new value/ });
  assert.equal(await save.getAttribute('title'), 'needs svc_secrets:update');
  assert.ok(await sheet.getByLabel('New value').isDisabled());
  assert.equal(await sheet.getByRole('button', { name: 'Delete…' }).getAttribute('aria-disabled'), 'true');
  await view.axe('secret of a reader');
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
  await sheet.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('heading', { name: 'Secrets' }).waitFor();
  await view.axe('secrets on a phone');
  await view.close();
});

test('a project without secrets says what a secret is', async () => {
  const view = await browser.open({ email: ADMIN, path: 'secrets' });
  const { page } = view;
  await page.route('**/secrets?**', (route) => route.fulfill({ json: { items: [], total_items: 0, page: 1, page_size: 50, has_next_page: false } }));
  await page.reload();
  await page.getByRole('heading', { name: 'No secrets yet' }).waitFor();
  await view.axe('no secrets');
  await view.close();
});
