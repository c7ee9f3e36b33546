// The settings of a project: values, signing keys, domains, storage.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import '../unit/ts.mjs';
import { ADMIN, Browser, canary, fill, Project, Steps } from './harness.mjs';

const READER = 'reader@console.example';
const ROTATE_STEPS = 4;
let project;
let browser;
before(async () => {
  project = await Project.create();
  await fill(project);
  await project.user(READER, ['svc_entities:read', 'products:read']);
  browser = await Browser.start(project);
});
after(async () => {
  await browser?.stop();
  await project?.remove();
});

const open = (path = 'settings', more = {}) => browser.open({ email: ADMIN, path, ...more });
const stored = () => project.api('GET', '/');

test('the defaults of the form are those of the service', async () => {
  const { ROWS } = await import('../../src/areas/settings/settings.ts');
  const rates = { rate_sign_in_account: 10_000, rate_sign_in_address: 10_000 };
  const { settings } = await project.api('PUT', '/', { settings: { rate_sign_in_account: null, rate_sign_in_address: null } });
  await project.api('PUT', '/', { settings: rates });
  assert.deepEqual(Object.fromEntries(ROWS.map((row) => [row.name, row.fallback])), settings);
});

test('only changed values are sent, a default is restored, and problems are at their fields', async () => {
  const view = await open('settings', { expects: [400] });
  const { page } = view;
  await page.getByLabel('Name of the project').fill(canary('Renamed'));
  await page.getByLabel('Lifetime of an access token').fill('30');
  await page.getByLabel('Allowed origins').fill('https://app.example.com\nhttps://');
  await view.axe('settings');
  await page.keyboard.press('Control+s');
  await page.getByText('must be between 60 and 86400').first().waitFor();
  assert.equal(await page.getByLabel('Lifetime of an access token').getAttribute('aria-invalid'), 'true');
  await view.axe('problems of settings');
  await page.getByLabel('Lifetime of an access token').fill('1800');
  await page.getByText('= 30 minutes').waitFor();
  await page.getByLabel('Allowed origins').fill('https://app.example.com');
  await page.reload();
  await page.getByText('Unsaved changes of an earlier visit').waitFor();
  const [request] = await Promise.all([page.waitForRequest((each) => each.method() === 'PUT'), page.getByRole('button', { name: 'Save', exact: true }).click()]);
  await page.getByText('The settings were saved.').waitFor();
  assert.deepEqual(request.postDataJSON(), { name: canary('Renamed'), allowed_origins: ['https://app.example.com'], settings: { access_token_seconds: 1800 } });
  assert.ok(request.headers()['if-match']);
  await page.getByRole('button', { name: 'Use the default' }).first().click();
  await page.keyboard.press('Control+s');
  await page.getByText('1 unsaved change', { exact: true }).waitFor({ state: 'detached' });
  assert.equal((await stored()).settings.access_token_seconds, 3600);
  await view.close();
});

test('settings that have changed since are read again, and the input stays', async () => {
  const view = await open('settings', { expects: [412] });
  const { page } = view;
  await page.getByLabel('Name of the project').fill('mine');
  await project.api('PUT', '/', { name: 'theirs', settings: { password_min_length: 12 } });
  await page.keyboard.press('Control+s');
  await page.getByRole('alert').getByText('Your changes are kept.').waitFor();
  await page.getByRole('button', { name: 'Read the new version' }).click();
  await page.getByRole('alert').waitFor({ state: 'detached' });
  await page.keyboard.press('Control+s');
  await page.getByText('The settings were saved.').waitFor();
  const { name, settings } = await stored();
  assert.deepEqual([name, settings.password_min_length], ['mine', 12]);
  await view.close();
});

test(`a signing key is rotated in ${ROTATE_STEPS} steps`, async () => {
  const view = await open('');
  const { page } = view;
  const steps = new Steps(page);
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  await steps.chord('g ,');
  await steps.click(page.getByRole('link', { name: 'Signing keys' }));
  await steps.click(page.getByRole('button', { name: 'Rotate the key' }));
  await steps.click(page.getByRole('dialog').getByRole('button', { name: 'Rotate the key' }));
  await page.getByText('signs tokens now').waitFor();
  await page.getByText('verifies tokens that were signed before').waitFor();
  await view.axe('keys');
  steps.atMost(ROTATE_STEPS);
  await view.close();
});

test('a domain is added with its records, and deleted after its name was typed', async () => {
  const view = await open('settings/domains', { expects: [400] });
  const { page } = view;
  await page.getByRole('heading', { name: 'No domain yet' }).waitFor();
  await page.getByRole('textbox', { name: 'Domain' }).fill('not a domain');
  await page.keyboard.press('Enter');
  await page.getByText('must be a domain, such as example.com').waitFor();
  await page.getByRole('textbox', { name: 'Domain' }).fill('mail.example.com');
  await page.keyboard.press('Enter');
  const sheet = page.getByRole('dialog', { name: 'mail.example.com' });
  const dkim = sheet.getByRole('region', { name: 'dkim' });
  await dkim.getByRole('button', { name: 'Copy' }).last().click();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^v=DKIM1/);
  await view.axe('domain');
  await sheet.getByRole('button', { name: 'Delete the domain…' }).click();
  await page.getByLabel(/Type/).fill('mail.example.com');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'No domain yet' }).waitFor();
  await view.close();
});

test('a user who is no administrator does not see the settings', async () => {
  const view = await browser.open({ email: READER, path: 'settings' });
  await view.page.getByText('needs a role of administrators').waitFor();
  assert.equal(await view.page.getByRole('link', { name: 'Settings' }).count(), 0);
  assert.ok(!view.calls.some((call) => call.path === '/'));
  await view.close();
});

test('on a phone and in the dark the settings fit', async () => {
  const view = await open('settings', { width: 390, height: 844, scheme: 'dark' });
  for (const path of ['settings', 'settings/storage', 'settings/danger']) {
    await view.go(path);
    await view.page.locator('#main h1').waitFor();
    await view.page.waitForTimeout(500);
    await view.axe(`${path} on a phone`);
    const width = await view.page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 390, `${path}: ${width}`);
  }
  await view.close();
});
