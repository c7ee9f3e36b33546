// The audit log: filters in the address, pages, live entries, the sheet with values before and after a change.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN, Browser, canary, CANARY, fill, Project } from './harness.mjs';

const READER = 'audit-reader@console.example';
let project;
let browser;
let role;
before(async () => {
  project = await Project.create();
  await fill(project);
  await project.user(READER, ['svc_audit_log:read']);
  role = await project.api('POST', '/roles', { name: 'editors', permissions: ['svc_users:read'], api_access: true });
  await project.api('PUT', `/roles/${role.id}`, { description: canary('After'), permissions: ['svc_users:read', 'svc_roles:read'] });
  for (let at = 0; at < 60; at++) await project.api('PUT', `/roles/${role.id}`, { description: canary(`Round ${at}`) });
  await project.api('POST', '/secrets', { name: 'SHOP_KEY', value: 'abcd1234' });
  await project.api('PUT', '/entities/products/items/3/rls-users', { items: [{ user_id: 1, can_update: true, can_delete: false }] });
  browser = await Browser.start(project);
});
after(async () => {
  await browser?.stop();
  await project?.remove();
});

const rows = (page) => page.getByRole('table').first().getByRole('row');

test('filters have addresses, and further entries are shown on request', async () => {
  const view = await browser.open({ email: ADMIN });
  const { page } = view;
  await page.locator('#main').focus();
  await page.keyboard.press('g');
  await page.keyboard.press('a');
  await page.getByRole('link', { name: 'rls_users.update' }).waitFor();
  await view.axe('audit log');
  await page.getByRole('textbox', { name: 'Target' }).fill(`role/${role.id}`);
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'rls_users.update' }).waitFor({ state: 'detached' });
  assert.match(page.url(), new RegExp(`audit\\?target=role%2F${role.id}$`));
  await page.getByRole('link', { name: 'roles.update' }).first().waitFor();
  assert.equal(await rows(page).count(), 51);
  await page.getByRole('button', { name: 'Show more' }).click();
  await page.getByRole('link', { name: 'roles.create' }).waitFor();
  assert.equal(await rows(page).count(), 63);
  await page.getByRole('textbox', { name: 'Action' }).fill('roles.create');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'roles.update' }).first().waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'roles.create' }).waitFor();
  assert.equal(await rows(page).count(), 2);
  await page.getByRole('combobox', { name: 'Kind of actor' }).selectOption('system');
  await page.getByRole('heading', { name: 'No entry matches these filters.' }).waitFor();
  await view.axe('no entry');
  await page.getByRole('combobox', { name: 'Kind of actor' }).selectOption('');
  await page.getByRole('combobox', { name: 'Actor', exact: true }).click();
  await page.getByRole('option', { name: ADMIN }).click();
  await page.getByRole('link', { name: 'roles.create' }).waitFor();
  assert.match(page.url(), /kind=user&actor=\d+|actor=\d+&kind=user/);
  await page.getByRole('button', { name: 'Any actor' }).click();
  await page.getByRole('combobox', { name: 'Period' }).selectOption('1h');
  await page.getByRole('link', { name: 'roles.create' }).waitFor();
  await page.getByRole('combobox', { name: 'Period' }).selectOption('time');
  await page.getByLabel('until').fill('2020-01-01T00:00');
  await page.getByLabel('until').blur();
  await page.getByRole('heading', { name: 'No entry matches these filters.' }).waitFor();
  await view.close();
});

test('an entry shows values before and after, and its address works by itself', async () => {
  const view = await browser.open({ email: ADMIN, path: `audit?target=role/${role.id}&action=roles.update` });
  const { page } = view;
  await page.getByRole('button', { name: 'Show more' }).click();
  await page.getByRole('link', { name: 'roles.update' }).nth(60).click();
  const sheet = page.getByRole('dialog', { name: /roles\.update/ });
  const changes = sheet.getByRole('table', { name: 'Changes' });
  await changes.getByRole('row', { name: /description null/ }).getByText(canary('After')).waitFor();
  await changes.getByRole('row', { name: /permissions/ }).getByText('["svc_users:read"]').waitFor();
  await sheet.getByText('Request id').waitFor();
  await view.axe('entry');
  const exact = await sheet.locator('time').getAttribute('title');
  assert.match(exact, /\d\d:\d\d|\d:\d\d/);
  await page.keyboard.press('[');
  await changes.getByText(canary('Round 0')).waitFor();
  const address = page.url();
  await page.keyboard.press('Escape');
  await sheet.waitFor({ state: 'detached' });
  // More than a page after the entry, the list does not have it.
  await page.goto(`${address.split('?')[0]}?action=secrets.create`);
  await changes.getByText(canary('Round 0')).waitFor();
  await page.goto(`${address.split('/audit')[0]}/audit/999999`);
  await page.getByRole('alert').getByText('not_found').waitFor();
  view.faults = view.faults.filter((fault) => !fault.includes('404'));
  await page.goto(address);
  await sheet.getByRole('link', { name: `Entries of role/${role.id}` }).click();
  assert.match(page.url(), /audit\?target=role%2F\d+$/);
  await view.close();
});

test('targets lead to their views: a secret, an entity, a record and its history', async () => {
  const view = await browser.open({ email: ADMIN, path: 'audit?action=secrets.create' });
  const { page } = view;
  await page.getByRole('link', { name: 'secrets.create' }).click();
  await page.getByRole('dialog').getByText('"SHOP_KEY"').waitFor();
  await page.getByRole('dialog').getByRole('link', { name: 'secret', exact: true }).click();
  await page.getByRole('dialog', { name: 'SHOP_KEY' }).waitFor();
  await view.go('data/products/3?tab=history');
  await page.getByRole('link', { name: 'Audit entries of this record' }).click();
  await page.getByRole('link', { name: 'rls_users.update' }).click();
  await page.getByRole('dialog').getByRole('link', { name: 'record/3', exact: true }).click();
  await page.getByRole('dialog', { name: 'Product 2' }).waitFor();
  await view.close();
});

test('new entries wait until they are asked for', async () => {
  const view = await browser.open({ email: ADMIN, path: 'audit?target=role' });
  const { page } = view;
  await page.getByText('live', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'roles.update' }).first().waitFor();
  await project.api('PUT', '/secrets/SHOP_KEY', { value: 'abcd1234' });
  await project.api('PUT', `/roles/${role.id}`, { description: CANARY });
  await page.getByRole('button', { name: '1 new' }).click();
  await page.getByRole('button', { name: '1 new' }).waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'roles.update' }).first().click();
  await page.getByRole('dialog').getByRole('row', { name: /description/ }).getByText(CANARY, { exact: true }).waitFor();
  await view.close();
});

test('a reader of the log sees ids where names are not allowed, also on a phone', async () => {
  const view = await browser.open({ email: READER, path: 'audit?action=secrets.create', scheme: 'dark', width: 390, height: 844 });
  const { page } = view;
  await page.getByRole('link', { name: 'secrets.create' }).waitFor();
  await view.axe('audit log on a phone');
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
  await page.getByRole('link', { name: 'secrets.create' }).click();
  await page.getByRole('dialog').getByText('user 1', { exact: true }).waitFor();
  assert.equal(await page.getByRole('dialog').getByRole('link', { name: 'secret', exact: true }).count(), 0);
  await view.axe('entry on a phone');
  await view.close();
});
