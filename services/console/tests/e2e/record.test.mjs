// The sheet of a record: fields, drafts, conflicts, locks, files, rights, history; deleted records.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN, Browser, call, CANARY, canary, fill, Project, Steps } from './harness.mjs';

const EDITOR = 'editor@console.example';
const NOBODY = 'nobody@console.example';
const PICTURE = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAFAAAAA8AQMAAADL6a/PAAAABlBMVEX/tAAAUKDIiUJrAAAAZUlEQVR42kXMMRHAIADAwHAMyEAK0pDeTu1nyvTd56tjt1122mG79thtl5122J8IESJEiBAhQoQIESJEiBAhQoQIESJEiBAhQoQIESJEiBAhQoQIESJEiBAhQoQIEcIeu+2y044XYgMWEiAtLJwAAAAASUVORK5CYII=', 'base64');
let project;
let browser;
let editor;
before(async () => {
  project = await Project.create();
  await fill(project);
  editor = await project.user(EDITOR, ['svc_entities:read', 'svc_realtime:read', 'products:read', 'products:update', 'products:create', 'authors:read', 'tags:read']);
  await project.user(NOBODY, ['svc_entities:read', 'products:read']);
  browser = await Browser.start(project);
});
after(async () => {
  await browser?.stop();
  await project?.remove();
});

const path = (id) => `/entities/products/items/${id}`;
const record = (id) => project.api('GET', path(id));
const open = (id, more = {}) => browser.open({ email: ADMIN, path: `data/products/${id}`, ...more });
const sheet = (view) => view.page.getByRole('dialog').first();
const save = (view) => sheet(view).getByRole('button', { name: 'Save', exact: true });

test('a record has its own address, every field has an input, and a save is one call', async () => {
  const view = await open(2);
  const { page } = view;
  await sheet(view).getByLabel('name', { exact: true }).waitFor();
  await view.axe('record');
  await sheet(view).getByLabel('name', { exact: true }).fill(canary('renamed'));
  await sheet(view).getByLabel('price', { exact: true }).fill('1234567890123456789.10');
  await sheet(view).getByLabel('stock', { exact: true }).fill('9007199254740993');
  await sheet(view).getByLabel('in_stock').selectOption('true');
  await sheet(view).getByLabel('status').selectOption(canary('odd'));
  await sheet(view).getByLabel('released').fill('2027-02-28');
  await sheet(view).getByLabel('meta').fill('{"a": [1, "x"]}');
  await sheet(view).getByLabel('token').fill('a secret');
  await sheet(view).getByRole('combobox', { name: 'author' }).fill('Cy');
  await page.getByRole('option', { name: /Cy/ }).click();
  await sheet(view).getByRole('combobox', { name: 'tags' }).fill('blue');
  await page.getByRole('option', { name: /blue/ }).click();
  await page.getByText('10 unsaved changes').waitFor();
  const drafts = await page.evaluate(() => JSON.stringify(localStorage));
  assert.ok(drafts.includes('renamed') && !drafts.includes('a secret'));
  await page.keyboard.press('Control+s');
  await page.getByText('Saved – products/2').waitFor();
  const text = await (await fetch(project.base + path(2), { headers: { Authorization: `Bearer ${project.token}` } })).text();
  assert.match(text, /"price":1234567890123456789\.10/);
  assert.match(text, /"stock":9007199254740993/);
  const stored = JSON.parse(text);
  assert.deepEqual([stored.status, stored.in_stock, stored.released, stored.meta, stored.author, stored.tags], [canary('odd'), true, '2027-02-28', { a: [1, 'x'] }, 3, [1, 2]]);
  assert.equal(view.calls.filter((each) => each.method === 'PUT').length, 1);
  await view.cell(1, 2).getByText(canary('renamed')).waitFor();
  assert.ok(!(await page.evaluate(() => JSON.stringify(localStorage))).includes('renamed'));
  await view.close();
});

test('problems are shown at their fields, and the first one has the focus', async () => {
  const view = await open(3, { expects: [400] });
  const { page } = view;
  await sheet(view).getByLabel('stock', { exact: true }).fill('x');
  await page.getByText('expected a whole number').waitFor();
  assert.ok(await save(view).isDisabled());
  await sheet(view).getByLabel('stock', { exact: true }).fill('5');
  await sheet(view).getByLabel('price', { exact: true }).fill('-2');
  await save(view).click();
  await page.getByRole('alert').getByText('validation_failed').waitFor();
  const price = sheet(view).getByLabel('price', { exact: true });
  assert.equal(await price.getAttribute('aria-invalid'), 'true');
  assert.equal(await price.evaluate((element) => document.activeElement === element), true);
  await view.axe('problems');
  await view.close();
});

test('a draft survives a reload and is cleared by a discard', async () => {
  const view = await open(4);
  const { page } = view;
  await sheet(view).getByLabel('note').fill('half done');
  await page.reload();
  await page.getByText('has been restored').waitFor();
  assert.equal(await sheet(view).getByLabel('note').inputValue(), 'half done');
  await view.axe('draft');
  await sheet(view).getByRole('button', { name: 'Discard' }).first().click();
  assert.equal(await sheet(view).getByLabel('note').inputValue(), CANARY.repeat(10));
  await page.reload();
  await sheet(view).getByLabel('note').waitFor();
  assert.equal(await page.getByText('has been restored').count(), 0);
  await view.close();
});

test('a conflict shows three versions, and the reader chooses', async () => {
  const view = await open(5, { expects: [412] });
  const { page } = view;
  await sheet(view).getByLabel('name', { exact: true }).fill('mine');
  await sheet(view).getByLabel('stock', { exact: true }).fill('111');
  await project.api('PUT', path(5), { name: canary('theirs'), sku: 'S-NEW' });
  await page.keyboard.press('Control+s');
  await page.getByText('Another user has changed this record.').waitFor();
  await view.axe('conflict');
  const row = (name) => page.getByRole('row', { name: new RegExp(`^${name} `) });
  assert.ok(await row('stock').getByRole('radio').nth(1).isChecked());
  assert.ok(await row('sku').getByRole('radio').nth(0).isChecked());
  assert.equal(await row('name').getByRole('radio', { checked: true }).count(), 0);
  await row('name').getByRole('radio').nth(1).check();
  await page.getByRole('alert').getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved – products/5').waitFor();
  const { name, stock, sku } = await record(5);
  assert.deepEqual([name, stock, sku], ['mine', 111, 'S-NEW']);
  await view.close();
});

test('a lock of another user is named, and an administrator breaks it', async () => {
  const view = await open(6, { expects: [423] });
  const { page } = view;
  const token = await project.signIn(EDITOR);
  await project.api('PUT', `${path(6)}/rls-users`, { items: [{ user_id: editor.id, can_update: true }] });
  await call(project.base, token, 'POST', `${path(6)}/lock`, { ttl_seconds: 600 });
  await sheet(view).getByLabel('name', { exact: true }).fill('locked out');
  await page.keyboard.press('Control+s');
  await page.getByRole('alert').getByText(`The record is locked by user ${editor.id}`).waitFor();
  await view.axe('locked');
  await page.getByRole('button', { name: 'Break the lock' }).click();
  await page.getByRole('button', { name: 'Break the lock' }).waitFor({ state: 'detached' });
  await page.keyboard.press('Control+s');
  await page.getByText('Saved – products/6').waitFor();
  await page.getByRole('button', { name: 'Lock while I edit' }).click();
  await page.getByText('You have locked this record').waitFor();
  await call(project.base, token, 'PUT', path(6), { name: 'refused' }, [423]);
  await page.keyboard.press('Escape');
  await page.getByRole('grid').waitFor();
  await page.waitForTimeout(1000);
  await call(project.base, token, 'PUT', path(6), { name: 'accepted' }, [200]);
  await view.close();
});

test('a file is attached, shown, downloaded and removed', async () => {
  const view = await open(7);
  const { page } = view;
  await sheet(view).getByLabel('note').fill('typed before the upload');
  await sheet(view).locator('input[type=file]').setInputFiles({ name: `${canary('flag').replaceAll('/', '')}.png`, mimeType: 'image/png', buffer: PICTURE });
  await sheet(view).getByText('image/png').waitFor();
  await sheet(view).locator('img').waitFor();
  assert.ok((await record(7)).image > 0);
  assert.equal(await sheet(view).getByLabel('note').inputValue(), 'typed before the upload');
  await save(view).click();
  await page.getByText('Saved – products/7').waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), sheet(view).getByRole('button', { name: 'Download' }).click()]);
  assert.ok((await download.createReadStream()) !== null);
  await sheet(view).getByRole('link', { name: 'Files' }).click();
  await sheet(view).getByText('image/png').waitFor();
  await view.axe('files');
  await sheet(view).getByRole('link', { name: 'Fields' }).click();
  await sheet(view).getByRole('button', { name: 'Remove the file' }).click();
  await save(view).click();
  for (let tries = 0; tries < 50 && (await record(7)).image !== null; tries++) await page.waitForTimeout(200);
  assert.equal((await record(7)).image, null);
  await view.close();
});

test('the rights of a record are explained and granted', async () => {
  const view = await open(8);
  const { page } = view;
  await sheet(view).getByRole('link', { name: 'Rights' }).click();
  await sheet(view).getByText('Allowed', { exact: true }).waitFor();
  await sheet(view).getByRole('combobox', { name: 'User', exact: true }).fill('nobody');
  await page.getByRole('option', { name: `${NOBODY} user` }).click();
  await sheet(view).getByText('Not allowed').waitFor();
  await sheet(view).getByText('Rule for rows').waitFor();
  await view.axe('rights');
  await sheet(view).getByRole('combobox', { name: /User, group or role/ }).fill('nobody');
  await page.getByRole('option', { name: `${NOBODY} user` }).click();
  await sheet(view).getByText('Allowed', { exact: true }).waitFor();
  await sheet(view).getByRole('checkbox', { name: 'may change' }).check();
  await page.waitForTimeout(500);
  const grants = await project.api('GET', `${path(8)}/rls-users`);
  assert.equal(grants.items[0].can_update, true);
  await sheet(view).getByRole('button', { name: /Remove the grant/ }).click();
  await sheet(view).getByText('granted to no user').waitFor();
  await view.close();
});

test('the history names changes and restores a version', async () => {
  await project.api('PUT', path(9), { name: canary('second') });
  const view = await open(9);
  const { page } = view;
  await sheet(view).getByRole('link', { name: 'History' }).click();
  await sheet(view).getByText(canary('second')).first().waitFor();
  await sheet(view).getByText(ADMIN).first().waitFor();
  await view.axe('history');
  await sheet(view).getByRole('button', { name: 'Restore' }).first().click();
  await page.getByText('The record was restored.').waitFor();
  assert.equal((await record(9)).name, 'Product 8');
  await view.cell(8, 2).getByText('Product 8').waitFor();
  await view.close();
});

test('the user who changed a record is found, and the change undone, in 4 steps', async () => {
  await project.api('PUT', path(12), { name: canary('changed') });
  const view = await browser.open({ email: ADMIN });
  const { page } = view;
  const steps = new Steps(page);
  await steps.click(page.getByRole('navigation').getByRole('link', { name: 'products', exact: true }));
  await steps.click(view.cell(11, 1).getByRole('link', { name: '12' }));
  await steps.click(sheet(view).getByRole('link', { name: 'History' }));
  await sheet(view).getByText(ADMIN).first().waitFor();
  await steps.click(sheet(view).getByRole('button', { name: 'Restore' }).first());
  await page.getByText('The record was restored.').waitFor();
  steps.atMost(4);
  assert.equal((await record(12)).name, 'Product 11');
  await view.close();
});

test('a record is created with the keyboard only', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/products' });
  const { page } = view;
  await view.cell(0, 2).waitFor();
  await page.keyboard.press('c');
  await page.getByRole('dialog', { name: 'New record of products' }).waitFor();
  await page.waitForTimeout(300);
  for (let tabs = 0; tabs < 30; tabs++) {
    await page.keyboard.press('Tab');
    if (await page.evaluate(() => document.activeElement?.labels?.[0]?.textContent === 'name')) break;
  }
  await page.keyboard.type('made by keys');
  await page.keyboard.press('Tab');
  await page.keyboard.type('K-1');
  await page.keyboard.press('Enter');
  await page.getByText(/Saved – products\/\d+/).waitFor();
  const made = (await project.api('GET', '/entities/products/items?filter[sku]=K-1')).items[0];
  assert.equal(made.name, 'made by keys');
  await page.keyboard.press('Escape');
  await page.waitForURL(/data\/products$/);
  await view.close();
});

test('the records before and after are reached by keys, and Escape returns to the grid', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/products' });
  const { page } = view;
  await view.cell(12, 1).click();
  await page.keyboard.press('e');
  await page.waitForURL(/products\/13$/);
  await page.getByRole('dialog', { name: 'Product 12' }).waitFor();
  await page.keyboard.press(']');
  await page.waitForURL(/products\/14$/);
  await page.getByRole('dialog', { name: 'Product 13' }).waitFor();
  await page.keyboard.press('[');
  await page.waitForURL(/products\/13$/);
  await page.getByRole('dialog', { name: 'Product 12' }).waitFor();
  await page.keyboard.press('Escape');
  await page.waitForURL(/products$/);
  await page.waitForTimeout(200);
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('role')), 'gridcell');
  await view.close();
});

test('a record is deleted, and restored from the deleted ones', async () => {
  const view = await open(20);
  const { page } = view;
  await sheet(view).getByLabel('name', { exact: true }).waitFor();
  await sheet(view).getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog', { name: /Delete 1 record/ }).getByRole('button', { name: 'Delete' }).click();
  await page.getByText('1 record was deleted').waitFor();
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Deleted records' }).click();
  await page.getByRole('dialog', { name: 'Deleted records' }).getByText('#20').waitFor();
  await view.axe('deleted');
  await page.getByRole('dialog', { name: 'Deleted records' }).getByRole('button', { name: 'Restore' }).first().click();
  await page.getByText('The record was restored.').waitFor();
  assert.equal((await record(20)).name, 'Product 19');
  await view.close();
});

test('a record that another user deletes says so', async () => {
  const view = await open(21);
  await sheet(view).getByLabel('name', { exact: true }).waitFor();
  await view.page.waitForTimeout(1000);
  await project.api('DELETE', path(21));
  await view.page.getByText('This record has been deleted.').waitFor();
  await view.close();
});

test('a user who may only read has inputs that say so', async () => {
  await project.api('PUT', `${path(30)}/rls-users`, { items: [{ user_id: (await project.api('GET', `/users?email=${NOBODY}`)).items[0].id }] });
  const view = await browser.open({ email: NOBODY, path: 'data/products/30' });
  await sheet(view).getByLabel('name', { exact: true }).waitFor();
  assert.ok(await sheet(view).getByLabel('name', { exact: true }).isDisabled());
  await sheet(view).getByText('needs products:update').first().waitFor();
  await view.axe('record, read only');
  await view.close();
});
