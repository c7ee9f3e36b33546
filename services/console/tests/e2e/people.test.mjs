// Users, roles, groups, API keys, explanations, and the profile of the user who is signed in.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN, Browser, call, CANARY, canary, fill, PASSWORD, Project, Steps } from './harness.mjs';

const BO = 'bo@console.example';
const ANA = 'ana@console.example';
const READER = 'reader@console.example';
const EDITOR = 'editor@console.example';
const GROUP = canary('Support');
let project;
let browser;
let bo;
let ana;
let group;
before(async () => {
  project = await Project.create();
  await fill(project);
  bo = await project.user(BO, ['svc_entities:read', 'products:read'], [{ entity: 'products', action: 'read', fields: ['name', 'sku', 'price'] }]);
  ana = await project.user(ANA, ['svc_entities:read', 'products:read']);
  await project.user(READER, ['svc_users:read']);
  await project.user(EDITOR, ['svc_entities:read', 'products:read', 'svc_users:read', 'svc_roles:read', 'svc_roles:update', 'svc_roles:create', 'svc_permissions:read']);
  group = await project.api('POST', '/groups', { name: GROUP, description: canary('Group') });
  await project.api('POST', '/api-keys', { name: canary('Nightly'), permissions: ['products:read'] });
  await project.api('PUT', `/users/${ana.id}`, { metadata: { note: CANARY } });
  await project.api('PUT', `/user-profiles/${ana.id}`, { display_name: canary('Ana') });
  browser = await Browser.start(project);
});
after(async () => {
  await browser?.stop();
  await project?.remove();
});

const open = (path, more = {}) => browser.open({ email: ADMIN, path, ...more });
const sheet = (view) => view.page.locator('#main').getByRole('dialog');
const user = (id) => project.api('GET', `/users/${id}`);
const role = (id) => project.api('GET', `/roles/${id}`);

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';
const IPHONE = 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1';
const HOSTILE = '<img/src=x/onerror="window.canary=1"> (Linux)';

/** Signs in with a device, and returns a function that calls the API in this session. */
async function signInFrom(agent, email) {
  const headers = { 'Content-Type': 'application/json', 'User-Agent': agent };
  const answer = await fetch(`${project.base}/auth/v1/token`, { method: 'POST', headers, body: JSON.stringify({ email, password: PASSWORD }) });
  const { access_token } = await answer.json();
  return (status) => call(project.base, access_token, 'GET', '/users/me', undefined, [status]);
}

test('a user is found by search and filters, and the address keeps them', async () => {
  const view = await open('users');
  const { page } = view;
  await page.getByRole('link', { name: BO }).waitFor();
  await view.axe('users');
  await page.getByRole('searchbox', { name: 'Search by address' }).fill('NA@');
  await page.getByRole('link', { name: BO }).waitFor({ state: 'detached' });
  await page.getByRole('link', { name: ANA }).waitFor();
  await page.getByRole('searchbox', { name: 'Search by address' }).fill('');
  await page.getByRole('combobox', { name: 'Role' }).selectOption({ label: `<b>${BO}</b>` });
  await page.getByText('1 user', { exact: true }).waitFor();
  await page.getByRole('link', { name: BO }).waitFor();
  assert.match(page.url(), new RegExp(`role=${bo.role_ids[0]}`));
  await page.getByRole('combobox', { name: 'Status' }).selectOption('suspended');
  await page.getByText('No user found').waitFor();
  await view.axe('users, nothing found');
  await page.getByRole('button', { name: 'Remove all filters' }).click();
  await page.getByRole('link', { name: ANA }).click();
  await sheet(view).getByLabel('Metadata').waitFor();
  assert.ok((await sheet(view).getByLabel('Metadata').inputValue()).includes('img src'));
  await sheet(view).getByLabel('Display name').waitFor();
  await view.axe('user');
  await page.keyboard.press('Escape');
  await page.waitForURL(/users$/);
  assert.equal(await page.evaluate(() => document.activeElement?.textContent?.trim()), ANA);
  await view.close();
});

test('a user is made with a password that is shown once, changed, suspended and deleted', async () => {
  const view = await open('users');
  const { page } = view;
  const email = 'new@console.example';
  await page.getByRole('link', { name: BO }).waitFor();
  await page.keyboard.press('c');
  await sheet(view).getByLabel('E-mail address').fill(email);
  await sheet(view).getByLabel('I hand over a password').check();
  await view.axe('new user');
  await sheet(view).getByRole('button', { name: 'Create user' }).click();
  await sheet(view).getByText('It will not be shown again').waitFor();
  const password = await sheet(view).locator('.once code').textContent();
  await call(project.base, undefined, 'POST', '/auth/v1/token', { email, password });
  await view.axe('password');
  await sheet(view).getByRole('button', { name: 'Copy Password' }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), password);
  await sheet(view).getByRole('button', { name: 'Open the user' }).click();

  await sheet(view).getByRole('combobox', { name: 'Add a role' }).fill(BO);
  await page.locator('.choice', { hasText: BO }).click();
  await sheet(view).getByText(`Effect on ${email}`).waitFor();
  await sheet(view).getByText('products:read').waitFor();
  await sheet(view).getByLabel('Metadata').fill('{"a":');
  await sheet(view).getByLabel('Metadata').blur();
  await sheet(view).getByText('is not a JSON object').waitFor();
  await sheet(view).getByLabel('Metadata').fill(JSON.stringify({ note: CANARY }));
  await page.keyboard.press('Control+s');
  await page.getByText(`Saved – ${email}`).waitFor();
  const id = Number(/users\/(\d+)/.exec(page.url())[1]);
  const stored = await user(id);
  assert.deepEqual([stored.metadata, stored.role_ids.includes(bo.role_ids[0])], [{ note: CANARY }, true]);

  await sheet(view).getByRole('combobox', { name: 'Add to a group' }).fill('Supp');
  await page.locator('.choice').first().click();
  await sheet(view).getByRole('button', { name: /^Remove Support/ }).waitFor();
  assert.deepEqual((await user(id)).group_ids, [group.id]);

  await sheet(view).getByRole('button', { name: 'Suspend' }).click();
  await page.getByRole('dialog', { name: `Suspend ${email}?` }).getByRole('button', { name: 'Suspend' }).click();
  await sheet(view).getByText('Suspended', { exact: true }).waitFor();
  await call(project.base, undefined, 'POST', '/auth/v1/token', { email, password }, [403]);
  await sheet(view).getByRole('button', { name: 'Activate' }).click();
  await sheet(view).getByText('Active', { exact: true }).waitFor();
  await call(project.base, undefined, 'POST', '/auth/v1/token', { email, password }, [200]);

  await sheet(view).getByRole('button', { name: 'Delete' }).click();
  const ask = page.getByRole('dialog', { name: `Delete ${email}?` });
  await ask.getByText(/leaves 1 group/).waitFor();
  await ask.getByRole('textbox').fill(email);
  await ask.getByRole('button', { name: 'Delete' }).click();
  await page.waitForURL(/users$/);
  await project.api('GET', `/users/${id}`, undefined, [404]);
  await view.close();
});

test('the sessions of a user are named by their devices, and end one by one or all at once', async () => {
  const email = 'signed-in@console.example';
  const { id } = await project.user(email, ['svc_entities:read']);
  const [firefox, iphone, hostile] = [await signInFrom(FIREFOX, email), await signInFrom(IPHONE, email), await signInFrom(HOSTILE, email)];
  const view = await open(`users/${id}`);
  const { page } = view;
  const row = (device) => sheet(view).getByRole('row', { name: device });
  await row('Firefox on Linux').getByText('127.0.0.1').waitFor();
  assert.equal(await row('Safari on iPhone').getByText('Safari on iPhone', { exact: true }).getAttribute('title'), IPHONE);
  assert.equal(await row('<img on Linux').getByText('<img on Linux', { exact: true }).getAttribute('title'), HOSTILE);
  assert.deepEqual((await sheet(view).getByRole('button', { name: /^End .* on/ }).allTextContents()).map((text) => text.trim()), ['End', 'End', 'End']);
  await view.axe('user with sessions');
  await sheet(view).getByRole('button', { name: 'End Safari on iPhone' }).click();
  await page.getByText('The session has ended: Safari on iPhone').waitFor();
  await row('Safari on iPhone').waitFor({ state: 'detached' });
  await page.waitForFunction(() => document.activeElement?.closest('section')?.getAttribute('aria-label') === 'Sessions');
  await Promise.all([firefox(200), iphone(401), hostile(200)]);

  await sheet(view).getByRole('button', { name: 'Call of the API' }).click();
  await page.getByLabel('curl').filter({ hasText: `DELETE` }).filter({ hasText: `/users/${id}/sessions` }).waitFor();
  await page.keyboard.press('Escape');
  await sheet(view).getByRole('button', { name: 'End all sessions' }).click();
  const ask = page.getByRole('dialog', { name: `End all sessions of ${email}?` });
  await ask.getByText(/^2 sessions end/).waitFor();
  await ask.getByRole('button', { name: 'End all sessions' }).click();
  await sheet(view).getByText('no open sessions').waitFor();
  await Promise.all([firefox(401), hostile(401)]);
  assert.equal(await sheet(view).getByRole('button', { name: 'End all sessions' }).count(), 0);
  await view.close();

  await signInFrom(FIREFOX, email);
  const other = await browser.open({ email: READER, path: `users/${id}` });
  const end = sheet(other).getByRole('button', { name: 'End Firefox on Linux' });
  await end.waitFor();
  assert.equal(await end.getAttribute('aria-disabled'), 'true');
  assert.equal(await end.getAttribute('title'), 'needs svc_users:update');
  await other.close();
});

test('a user sees the own sessions and ends all but the current session', async () => {
  const email = 'devices@console.example';
  const { id } = await project.user(email, ['svc_entities:read', 'svc_users:read']);
  const [firefox, iphone] = [await signInFrom(FIREFOX, email), await signInFrom(IPHONE, email)];
  const view = await browser.open({ email, path: 'profile' });
  const { page } = view;
  const ends = page.getByRole('button', { name: /^End .* on/ });
  await page.getByRole('row', { name: 'this session' }).waitFor();
  assert.equal(await page.getByRole('row', { name: 'this session' }).getByRole('button').count(), 0);
  assert.equal(await ends.count(), 2);
  await view.axe('own sessions');
  await page.getByRole('button', { name: 'End Firefox on Linux' }).click();
  await page.getByRole('row', { name: 'Firefox on Linux' }).waitFor({ state: 'detached' });
  await Promise.all([firefox(401), iphone(200)]);
  const later = await signInFrom(FIREFOX, email);
  await view.go(`users/${id}`);
  await sheet(view).getByRole('row', { name: 'this session' }).waitFor();
  await page.getByRole('button', { name: 'Sign out other devices' }).click();
  await page.getByRole('dialog', { name: 'Sign out other devices' }).getByRole('button', { name: 'Sign out other devices' }).click();
  await page.getByText('Your other sessions have ended.').waitFor();
  await ends.first().waitFor({ state: 'detached' });
  await Promise.all([iphone(401), later(401)]);
  await sheet(view).getByRole('row', { name: 'this session' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Sign out other devices' }).count(), 0);
  await view.close();
});

test('a refused invitation says why at the form, and an invited user is confirmed by hand', async () => {
  const view = await open('users/new', { expects: [409] });
  const { page } = view;
  await sheet(view).getByLabel('E-mail address').fill(ANA);
  await sheet(view).getByRole('button', { name: 'Send invitation' }).click();
  await sheet(view).getByText(/is taken/).first().waitFor();
  assert.equal(await sheet(view).getByLabel('E-mail address').inputValue(), ANA);
  await sheet(view).getByLabel('E-mail address').fill('guest@console.example');
  await sheet(view).getByRole('button', { name: 'Send invitation' }).click();
  await page.getByText('guest@console.example was invited.').waitFor();
  const guest = (await project.api('GET', '/users?email=guest@console.example')).items[0];
  await sheet(view).getByRole('button', { name: 'Send invitation again' }).waitFor();
  await sheet(view).getByRole('button', { name: 'Confirm the address' }).click();
  await page.getByText('The address is confirmed.').waitFor();
  assert.ok((await user(guest.id)).email_confirmed_at);
  await view.close();
});

test('a change of another user is kept when a user is saved', async () => {
  const view = await open(`users/${ana.id}`, { expects: [412] });
  const { page } = view;
  await sheet(view).getByLabel('Metadata').fill('{"mine":1}');
  await sheet(view).getByLabel('Metadata').blur();
  await page.reload();
  await sheet(view).getByText(/that were not saved are in the form/).waitFor();
  assert.match(await sheet(view).getByLabel('Metadata').inputValue(), /"mine": 1/);
  await project.api('PUT', `/users/${ana.id}`, { email: 'ana2@console.example' });
  await page.keyboard.press('Control+s');
  await sheet(view).getByText(/Another user has saved a newer version/).waitFor();
  assert.equal(await sheet(view).getByLabel('E-mail address').inputValue(), 'ana2@console.example');
  await page.keyboard.press('Control+s');
  await page.getByText('Saved – ana2@console.example').waitFor();
  assert.deepEqual((await user(ana.id)).metadata, { mine: 1 });
  await project.api('PUT', `/users/${ana.id}`, { email: ANA });
  await view.close();
});

test('two fields are given to a role in 6 steps, with the effect before the save', async () => {
  const view = await open('');
  const { page } = view;
  await page.getByRole('heading', { level: 1 }).waitFor();
  const steps = new Steps(page);
  await steps.chord('g r');
  await steps.click(page.getByRole('link', { name: `<b>${BO}</b>` }));
  await steps.click(page.getByRole('button', { name: 'Fields of products: 3 of 14' }));
  await steps.click(page.getByRole('checkbox', { name: 'Read stock', exact: true }));
  await steps.click(page.getByRole('checkbox', { name: 'Read status', exact: true }));
  await page.getByText('products: Read stock').or(page.getByText('products: read stock')).waitFor();
  assert.equal(await page.getByText('1 user gains it').count(), 2);
  await view.axe('role');
  await steps.chord('Control+s');
  await page.getByText(/^Saved – /).waitFor();
  assert.deepEqual((await role(bo.role_ids[0])).field_access, [{ entity: 'products', action: 'read', fields: ['name', 'sku', 'price', 'stock', 'status'] }]);
  steps.atMost(6);
  await view.close();
});

test('the matrix filters, marks changes, counts users, and keeps a draft', async () => {
  const view = await open(`roles/${bo.role_ids[0]}`);
  const { page } = view;
  const box = (name) => page.getByRole('checkbox', { name, exact: true });
  await box('products:update').check();
  await box('products:read').uncheck();
  await page.getByText('Effect of 2 changes').waitFor();
  await page.getByText('1 user gains it').waitFor();
  await page.getByText('1 user loses it').waitFor();
  await page.getByText('opens 4 endpoints').click();
  await page.getByText('PUT /entities/products/items/{id}', { exact: true }).waitFor();
  await page.getByRole('combobox', { name: 'Shown rows' }).selectOption('changed');
  await page.getByText('1 row', { exact: true }).waitFor();
  await page.reload();
  await page.getByText(/that were not saved are in the form/).waitFor();
  assert.ok(await box('products:update').isChecked());
  await page.getByRole('button', { name: 'Discard changes' }).click();
  assert.ok(await box('products:read').isChecked());
  await page.getByRole('searchbox', { name: 'Filter entities and services' }).fill('svc_user');
  await page.getByText('2 rows', { exact: true }).waitFor();
  await page.getByRole('checkbox', { name: /^Read: all 2 rows/ }).check();
  assert.ok((await box('svc_users:read').isChecked()) && (await box('svc_user_profiles:read').isChecked()));
  await page.getByRole('button', { name: 'Discard changes' }).click();
  await page.getByRole('button', { name: 'Delete' }).click({ force: true });
  await page.getByRole('status').getByText(/1 user has this role; remove/).waitFor();
  await view.close();
});

test('a role is made like another role, and deleted', async () => {
  const view = await open(`roles/${bo.role_ids[0]}`);
  const { page } = view;
  await page.getByRole('button', { name: 'New role like this' }).click();
  await page.getByLabel('Name', { exact: true }).fill(canary('Copied'));
  await page.getByRole('button', { name: 'Create role' }).click();
  await page.waitForURL(/roles\/\d+$/);
  await page.getByRole('heading', { name: canary('Copied') }).waitFor();
  const id = Number(/roles\/(\d+)/.exec(page.url())[1]);
  assert.deepEqual((await role(id)).permissions, (await role(bo.role_ids[0])).permissions);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('textbox').fill(canary('Copied'));
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.waitForURL(/roles$/);
  await page.getByRole('link', { name: 'Admin User' }).waitFor();
  await view.axe('roles');
  await project.api('GET', `/roles/${id}`, undefined, [404]);
  await view.close();
});

test('a caller cannot give a permission that the caller does not hold', async () => {
  const view = await browser.open({ email: EDITOR, path: `roles/${ana.role_ids[0]}` });
  const { page } = view;
  const closed = page.getByRole('checkbox', { name: 'products:delete (you do not hold this yourself)' });
  await closed.waitFor();
  assert.ok(await closed.isDisabled());
  assert.ok(await page.getByRole('checkbox', { name: 'products:read', exact: true }).isEnabled());
  await view.axe('role, few rights');
  await view.go('roles/1');
  await page.getByText(/You can look at this role but not change it: .*rights that the caller does not hold/).waitFor();
  assert.ok(await page.getByLabel('Name', { exact: true }).isDisabled());
  await view.close();
});

test('a group has members that are added and removed', async () => {
  const view = await open('groups');
  const { page } = view;
  await page.getByRole('link', { name: 'Support' }).click();
  await sheet(view).getByText('The group has no members.').waitFor();
  await sheet(view).getByRole('combobox', { name: 'Add a member' }).fill('bo@');
  await page.locator('.choice', { hasText: BO }).click();
  await sheet(view).getByRole('link', { name: BO }).waitFor();
  await view.axe('group');
  assert.deepEqual((await user(bo.id)).group_ids, [group.id]);
  await sheet(view).getByRole('button', { name: `Remove ${BO}` }).click();
  await sheet(view).getByText('The group has no members.').waitFor();
  await page.keyboard.press('Escape');
  await page.waitForURL(/groups$/);
  await page.keyboard.press('c');
  await sheet(view).getByLabel('Name', { exact: true }).fill(canary('Second'));
  await sheet(view).getByRole('button', { name: 'Create group' }).click();
  await page.waitForURL(/groups\/\d+$/);
  await sheet(view).getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog', { name: /Delete the group/ }).getByRole('textbox').fill(canary('Second'));
  await page.getByRole('dialog', { name: /Delete the group/ }).getByRole('button', { name: 'Delete' }).click();
  await page.waitForURL(/groups$/);
  await view.close();
});

test('a key is rotated in 4 steps, and its value is shown once', async () => {
  const view = await open('');
  const { page } = view;
  await page.getByRole('heading', { level: 1 }).waitFor();
  const before = (await project.api('GET', '/api-keys')).items[0];
  const steps = new Steps(page);
  await steps.chord('g k');
  await steps.click(page.getByRole('button', { name: /^Rotate Nightly/ }));
  const dialog = page.getByRole('dialog', { name: /^Rotate Nightly/ });
  await view.axe('rotate');
  await steps.click(dialog.getByRole('button', { name: 'Rotate', exact: true }));
  await dialog.getByText('It will not be shown again').waitFor();
  await view.axe('rotated');
  await steps.click(dialog.getByRole('button', { name: 'Copy The new value' }));
  const value = await page.evaluate(() => navigator.clipboard.readText());
  steps.atMost(4);
  await call(project.base, value, 'GET', '/entities/products/items?limit=1');
  assert.notEqual((await project.api('GET', `/api-keys/${before.id}`)).prefix, before.prefix);
  await dialog.getByRole('button', { name: 'Close' }).last().click();
  await dialog.waitFor({ state: 'detached' });
  assert.ok(!(await page.content()).includes(value));
  await view.close();
});

test('a key is made with the permissions of a role, and deleted', async () => {
  const view = await open('keys/new');
  const { page } = view;
  await sheet(view).getByLabel('Name', { exact: true }).fill(canary('Made'));
  await sheet(view).getByLabel('Permissions of a role').selectOption({ label: `<b>${ANA}</b>` });
  await sheet(view).getByText('2 permissions').waitFor();
  await sheet(view).getByRole('checkbox', { name: 'tags:read', exact: true }).check();
  await view.axe('new key');
  await sheet(view).getByRole('button', { name: 'Create key' }).click();
  await sheet(view).getByText('It will not be shown again').waitFor();
  const value = await sheet(view).locator('.once code').textContent();
  await call(project.base, value, 'GET', '/entities/tags/items?limit=1');
  const made = (await project.api('GET', '/api-keys?sort=-created_at')).items[0];
  assert.deepEqual(made.permissions, ['products:read', 'svc_entities:read', 'tags:read']);
  await view.go(`keys/${made.id}`);
  await sheet(view).getByText('3 permissions').waitFor();
  await view.axe('key');
  await sheet(view).getByRole('button', { name: 'Delete' }).click();
  const ask = page.getByRole('dialog', { name: /^Delete the key/ });
  await ask.getByText('The key is in use').waitFor();
  await ask.getByRole('textbox').fill(made.name);
  await ask.getByRole('button', { name: 'Delete' }).click();
  await page.waitForURL(/keys$/);
  await project.api('GET', `/api-keys/${made.id}`, undefined, [404]);
  await view.close();
});

test('why a user cannot see a record is explained in 4 steps, and a grant helps', async () => {
  const view = await open('');
  const { page } = view;
  await page.getByRole('heading', { level: 1 }).waitFor();
  const steps = new Steps(page);
  await steps.chord('g y');
  await steps.type('products/12', page.getByRole('textbox', { name: 'Path' }));
  await steps.type('bo@', page.getByRole('combobox', { name: 'As user or API key' }));
  await steps.click(page.getByRole('option', { name: BO }));
  const deciding = page.locator('li', { hasText: 'This check decides' });
  await deciding.getByText('Rule for rows').waitFor();
  await deciding.getByText(/granted neither to this user/).waitFor();
  steps.atMost(4);
  await page.getByRole('heading', { name: `as ${BO}` }).waitFor();
  assert.match(page.url(), new RegExp(`path=[^&]*products[^&]*12.*user=${bo.id}`));
  await view.axe('explain');
  assert.equal(await page.getByRole('button', { name: `Add ${BO} to a group` }).getAttribute('aria-disabled'), 'true');
  await page.getByRole('button', { name: `Grant the record to ${BO}` }).click();
  await page.getByText('Allowed', { exact: true }).waitFor();
  await project.api('PUT', '/entities/products/items/13/rls-groups', { items: [{ group_id: group.id }] });
  await view.go(`explain?path=/entities/products/items/13&user=${bo.id}`);
  await page.getByRole('button', { name: new RegExp(`Add ${BO} to Support`) }).click();
  await page.getByText('Allowed', { exact: true }).waitFor();
  await page.getByRole('link', { name: /^group Support/ }).waitFor();
  await project.api('DELETE', `/groups/${group.id}/members/${bo.id}`);
  await view.close();
});

test('a missing permission names the roles that help', async () => {
  const helper = await project.api('POST', '/roles', { name: 'Remover', api_access: true, permissions: ['products:delete'] });
  const view = await open(`explain?method=DELETE&path=/entities/products/items/12&user=${bo.id}`);
  const { page } = view;
  await page.locator('li', { hasText: 'This check decides' }).getByText('products:delete', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Give the role Remover' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Give the role Remover' }).click();
  await page.getByText(`Saved – ${BO}`).waitFor();
  assert.ok((await user(bo.id)).role_ids.includes(helper.id));
  await project.api('PUT', `/users/${bo.id}`, { role_ids: bo.role_ids });
  await view.close();
});

test('the rights of a record lead to the explanation', async () => {
  const view = await open('data/products/14?tab=rights');
  const { page } = view;
  await page.getByRole('link', { name: 'Explain another request' }).click();
  await page.waitForURL(/explain\?path=/);
  await page.getByText('Allowed', { exact: true }).waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'Path' }).inputValue(), '/entities/products/items/14');
  await view.close();
});

test('a user who may only see users has no enabled control that would be refused', async () => {
  const view = await browser.open({ email: READER, path: 'users' });
  const { page } = view;
  await page.getByRole('link', { name: BO }).waitFor();
  assert.deepEqual(await page.getByRole('navigation', { name: 'Parts of People' }).getByRole('link').allTextContents(), ['Users', 'Who can see?']);
  const add = page.getByRole('button', { name: /^New user/ });
  assert.equal(await add.getAttribute('aria-disabled'), 'true');
  await add.click({ force: true });
  await page.getByRole('status').getByText('needs svc_users:create').waitFor();
  await view.axe('users, few rights');
  await page.getByRole('link', { name: BO }).click();
  await sheet(view).getByText('needs svc_users:update').first().waitFor();
  const enabled = await sheet(view).locator('button:not([aria-disabled=true]):not(:disabled), input:enabled, textarea:enabled, select:enabled').evaluateAll((found) => found.map((each) => each.getAttribute('aria-label') ?? each.textContent?.trim()));
  assert.deepEqual(enabled, ['Call of the API', 'Close']);
  await view.axe('user, few rights');
  // The message of the first click may be gone by now.
  await add.click({ force: true });
  await page.getByRole('status').getByRole('button', { name: 'Why?' }).last().click();
  await page.waitForURL(/explain\?method=POST&path=\/users/);
  await page.locator('li', { hasText: 'This check decides' }).getByText('svc_users:create', { exact: true }).waitFor();
  assert.ok(await page.getByRole('combobox', { name: 'As user or API key' }).isDisabled());
  await view.go('roles');
  await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
  assert.deepEqual(view.calls.filter((each) => each.method !== 'GET' && !each.path.startsWith('/auth/')), []);
  await view.close();
});

test('the own profile, password and address are changed', async () => {
  const email = 'self@console.example';
  await project.user(email, ['svc_entities:read']);
  const view = await browser.open({ email, path: '', expects: [400] });
  const { page } = view;
  await page.getByRole('button', { name: email }).click();
  await page.getByRole('menuitem', { name: 'Your profile' }).click();
  await page.getByLabel('Display name').fill(canary('Self'));
  await page.getByLabel('Time zone').fill('Nowhere/Land');
  await page.getByRole('button', { name: 'Save profile' }).click();
  await page.getByText(/must name an IANA time zone/).first().waitFor();
  await view.axe('profile with a problem');
  await page.getByLabel('Time zone').fill('Europe/London');
  await page.getByRole('button', { name: 'Save profile' }).click();
  await page.getByText('The profile was saved.').waitFor();
  await page.getByLabel('A JSON object that applications store with your account').fill('{"theme":"dark"}');
  await page.getByLabel('A JSON object that applications store with your account').blur();
  await page.getByRole('button', { name: 'Save metadata' }).click();
  await page.getByText('Saved – Metadata').waitFor();
  const me = (await project.api('GET', `/users?email=${email}`)).items[0];
  assert.deepEqual(me.metadata, { theme: 'dark' });
  assert.equal((await project.api('GET', `/user-profiles/${me.id}`)).timezone, 'Europe/London');

  await page.getByLabel('Current password').fill('wrong');
  await page.getByLabel('New password').fill('another horse battery staple');
  await page.getByRole('button', { name: 'Change password' }).click();
  await page.getByText('is not the current password').first().waitFor();
  await page.getByLabel('Current password').fill('correct horse battery staple');
  await page.getByRole('button', { name: 'Change password' }).click();
  await page.getByText('The password was changed.').waitFor();
  await call(project.base, undefined, 'POST', '/auth/v1/token', { email, password: 'another horse battery staple' });

  await page.getByLabel('New address').fill('self2@console.example');
  await page.getByLabel('Your password').fill('another horse battery staple');
  await page.getByRole('button', { name: 'Change address' }).click();
  await page.getByText('Links were sent to self2@console.example and to your current address.').waitFor();
  await view.close();
});

test('of a matrix of 100 entities a part is drawn, and its filter finds the others', async () => {
  for (let at = 0; at < 100; at++) await project.api('POST', '/entities', { name: `many_${String(at).padStart(3, '0')}`, fields: [{ name: 'name', type: 'varchar' }] });
  const view = await open(`roles/${ana.role_ids[0]}`);
  const { page } = view;
  await page.getByRole('checkbox', { name: 'many_000:read', exact: true }).waitFor();
  assert.ok((await page.locator('tbody tr').count()) <= 60);
  await page.getByRole('searchbox', { name: 'Filter entities and services' }).fill('many_09');
  await page.getByText('10 rows', { exact: true }).waitFor();
  await page.getByRole('checkbox', { name: 'many_099:read', exact: true }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText(/^Saved – /).waitFor();
  assert.ok((await role(ana.role_ids[0])).permissions.includes('many_099:read'));
  await view.close();
});

test('the views work on a phone and in the dark', async () => {
  const view = await open('users', { width: 390, height: 844, scheme: 'dark' });
  const { page } = view;
  for (const path of ['users', `users/${bo.id}`, 'roles', `roles/${bo.role_ids[0]}`, `groups/${group.id}`, 'keys', 'keys/new', `explain?path=/entities/products/items/15&user=${bo.id}`, 'profile']) {
    await view.go(path);
    await page.locator('#main').locator('.sheet h2, h1').last().waitFor();
    await page.locator('#main [aria-busy]').first().waitFor({ state: 'detached' });
    await view.axe(`${path}, phone`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${path} is wider than the phone`);
  }
  await view.close();
});
