// The model: entities and fields as typed lines, plans, relations, enums, the diagram, and the steps of its tasks.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN, Browser, canary, CANARY, fill, Project, Steps, until } from './harness.mjs';

const READER = 'reader@console.example';
let project;
let browser;
before(async () => {
  project = await Project.create();
  await fill(project);
  await project.user(READER, ['svc_entities:read', 'svc_fields:read', 'products:read']);
  browser = await Browser.start(project);
});
after(async () => {
  await browser?.stop();
  await project?.remove();
});

const model = (name) => project.api('GET', `/entities/${name}`);
const field = async (entity, name) => (await model(entity)).fields.find((each) => each.name === name);
const sheet = (view) => view.page.locator('.sheet');
const plan = (view) => view.page.getByRole('region', { name: 'Plan' });
const line = (view, n) => sheet(view).getByRole('combobox', { name: `Field ${n}`, exact: true });
const button = (place, name) => place.getByRole('button', { name, exact: true });
/** A button that is off has the reason in its name. */
const isOff = async (place, name) => assert.equal(await place.getByRole('button', { name: new RegExp(`^${name}`) }).last().getAttribute('aria-disabled'), 'true', name);
const isDone = (text, view) => view.page.locator('.toasts, [role=status]').getByText(text).first().waitFor();

const box = (view, name) => view.page.locator(`.svelte-flow__node[data-id="${name}"]`);
async function draw(view, from, to) {
  const dot = await box(view, from).locator('.svelte-flow__handle.source').boundingBox();
  const target = await box(view, to).boundingBox();
  await view.page.mouse.move(dot.x + dot.width / 2, dot.y + dot.height / 2);
  await view.page.mouse.down();
  await view.page.mouse.move(dot.x + 40, dot.y + 10, { steps: 3 });
  await view.page.mouse.move(target.x + target.width / 2, target.y + target.height - 8, { steps: 5 });
  await view.page.mouse.up();
}

test('an entity with five fields takes at most 8 steps, and the bar shows it at once', async () => {
  const view = await browser.open({ email: ADMIN });
  const { page } = view;
  const step = new Steps(view.page);
  await step.click(page.getByRole('link', { name: 'New entity' }));
  await page.getByLabel('Name', { exact: true }).waitFor();
  await step.type('orders');
  await view.page.keyboard.press('Enter');
  for (const each of ['number: varchar! 40 unique', 'total: decimal! min 0', 'state: enum(status) = open', 'buyer -> authors', 'tags ->> tags']) {
    await step.type(each);
    await view.page.keyboard.press('Enter');
  }
  await plan(view).getByText('Safe:').waitFor();
  await step.click(button(plan(view), 'Create the entity'));
  await isDone('orders has been created.', view);
  step.atMost(8);
  await page.getByRole('navigation', { name: 'Menu' }).getByRole('link', { name: 'orders' }).waitFor();
  await sheet(view).getByRole('heading', { name: 'orders' }).waitFor();
  const made = await model('orders');
  assert.deepEqual(made.fields.map((each) => [each.name, each.type, each.required, each.unique]), [
    ['number', 'varchar', true, true], ['total', 'decimal', true, false], ['state', 'enum', false, false], ['buyer', 'relation', false, false], ['tags', 'relation', false, false],
  ]);
  assert.equal(view.calls.filter((each) => each.method === 'POST' && each.path === '/entities' && !each.query.has('dry_run')).length, 1);
  await view.axe('entity sheet');
  await view.close();
});

test('a relation takes 3 steps by drawing', async () => {
  const view = await browser.open({ email: ADMIN });
  const step = new Steps(view.page);
  await step.chord('g m');
  await box(view, 'authors').waitFor();
  await step.take(() => draw(view, 'authors', 'tags'));
  const form = view.page.getByRole('dialog', { name: 'New relation' });
  await form.getByText('Safe:').waitFor();
  await view.axe('form of a relation');
  await step.click(button(form, 'Add the relation'));
  await isDone('The model has been changed.', view);
  step.atMost(3);
  const { type, options } = await field('authors', 'tag');
  assert.deepEqual([type, options.entity, options.many, options.on_delete], ['relation', 'tags', false, 'restrict']);
  await view.page.getByText('tag ->').first().waitFor();
  await view.close();
});

test('a relation takes 5 steps by keys, with many and the rule for deletes in its line', async () => {
  const view = await browser.open({ email: ADMIN });
  const { page } = view;
  const step = new Steps(view.page);
  await step.chord('g m');
  await box(view, 'tags').waitFor();
  await step.chord('/');
  await step.type('tags');
  await view.page.keyboard.press('Enter');
  await sheet(view).getByRole('heading', { name: 'tags' }).waitFor();
  await line(view, 1).focus();
  await step.type('writers ->> authors restrict');
  await plan(view).getByText('Safe:').waitFor();
  await step.chord('Control+s');
  await isDone('The model has been changed.', view);
  step.atMost(5);
  const { options } = await field('tags', 'writers');
  assert.deepEqual([options.entity, options.many, options.on_delete], ['authors', true, 'restrict']);
  await page.getByRole('button', { name: 'Actions of writers' }).waitFor();
  await view.close();
});

test('hints are chosen by keys, problems of wrong lines name the expected words, and pasted lines become fields', async () => {
  const view = await browser.open({ email: ADMIN, path: 'model/tags' });
  const { page } = view;
  await line(view, 1).click();
  await page.keyboard.type('kind: va');
  await sheet(view).getByRole('option', { name: 'varchar' }).waitFor();
  await view.axe('hints');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  assert.equal(await line(view, 1).inputValue(), 'kind: varchar');
  await page.keyboard.type(' 2x');
  await page.keyboard.press('Enter');
  await sheet(view).getByText('does not fit here').waitFor();
  assert.equal(await line(view, 1).getAttribute('aria-invalid'), 'true');
  await isOff(plan(view), 'Apply');
  await line(view, 1).fill('kind: varchar 20');
  await page.evaluate(() => navigator.clipboard.writeText('weight: float min 0,\nshown: bool = true;\n\nkind: text'));
  await line(view, 2).focus();
  await page.keyboard.press('Control+v');
  await sheet(view).getByText('Another line has the name “kind”.').waitFor();
  await button(sheet(view), 'Remove the line').nth(3).click();
  await button(plan(view), 'Apply 3 changes').click();
  await isDone('3 changes of the model have been made.', view);
  assert.deepEqual((await model('tags')).fields.slice(-3).map((each) => [each.name, each.type, each.default]), [['kind', 'varchar', null], ['weight', 'float', null], ['shown', 'bool', true]]);
  await view.close();
});

test('a plan names records that stop it; after their repair it can be applied', async () => {
  await project.api('PUT', '/entities/products/items/2', { sku: null });
  const view = await browser.open({ email: ADMIN, path: 'model/products' });
  const { page } = view;
  await page.getByRole('button', { name: /^sku: varchar/ }).click();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('sku: varchar! 200 unique indexed');
  await plan(view).getByText('1 record has no value').waitFor();
  await isOff(plan(view), 'Apply');
  await view.axe('plan with a conflict');
  const link = plan(view).getByRole('link', { name: 'products/2' });
  assert.match(await link.getAttribute('href'), /\/data\/products\/2$/);
  await plan(view).getByRole('link', { name: 'Repair the records' }).click();
  await view.grid().waitFor();
  await view.cell(0, 2).getByText('Product 1', { exact: true }).waitFor();
  assert.equal(await view.grid().getAttribute('aria-rowcount'), '2');
  await project.api('PUT', '/entities/products/items/2', { sku: 'S-REPAIRED' });
  await page.goBack();
  await page.getByText('have been restored').waitFor();
  await button(plan(view), 'Apply').and(page.locator(':not([aria-disabled])')).click();
  await isDone('The model has been changed.', view);
  const sku = await field('products', 'sku');
  assert.deepEqual([sku.required, sku.options.max_length], [true, 200]);
  await view.close();
});

test('a change by the menu, a new name, and a delete with the name typed back', async () => {
  const role = await project.api('POST', '/roles', { name: canary('uses stock'), permissions: ['products:read'], field_access: [{ entity: 'products', action: 'read', fields: ['stock', 'name'] }] });
  const view = await browser.open({ email: ADMIN, path: 'model/products' });
  const { page } = view;
  const menu = async (name, item, role = 'menuitem') => {
    await page.getByRole('button', { name: `Actions of ${name}`, exact: true }).click();
    await page.getByRole(role, { name: item }).click();
  };
  await menu('stock', 'Indexed', 'menuitemcheckbox');
  await plan(view).getByText('The index of stock is created.').waitFor();
  await button(plan(view), 'Apply').click();
  await isDone('The model has been changed.', view);
  assert.equal((await field('products', 'stock')).indexed, true);
  await page.getByRole('button', { name: /^stock: integer indexed/ }).click();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('amount: integer indexed min 0');
  await plan(view).getByText('Calls, filters and clients that use the name “stock” fail').waitFor();
  await plan(view).getByText('Named by 1 role').waitFor();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: /^amount: integer/ }).waitFor();
  await menu('amount', 'Delete…');
  await plan(view).getByText('40 records are deleted or lose a value.').waitFor();
  await button(plan(view), 'Apply').click();
  const question = page.getByRole('dialog', { name: 'Delete the field amount?' });
  await question.getByText('40 records').waitFor();
  assert.ok(await button(question, 'Delete').isDisabled());
  await question.getByLabel('Type “amount” to confirm').fill('amount');
  await button(question, 'Delete').click();
  await until(async () => !(await field('products', 'amount')), 'the field is still there');
  await page.getByRole('button', { name: 'Actions of amount' }).waitFor({ state: 'detached' });
  await project.api('DELETE', `/roles/${role.id}`);
  await view.close();
});

test('a type that cannot be converted is refused in the words of the service', async () => {
  const view = await browser.open({ email: ADMIN, path: 'model/products', expects: [400] });
  const { page } = view;
  await page.getByRole('button', { name: /^image: file/ }).click();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('image: integer');
  await plan(view).getByText('file cannot be converted to integer').first().waitFor();
  await isOff(plan(view), 'Apply');
  await view.axe('refused plan');
  await page.getByLabel('Line of image').press('Escape');
  await page.getByRole('button', { name: /^image: file/ }).waitFor();
  await view.close();
});

test('options of an entity, a new name and a delete', async () => {
  await project.api('POST', '/entities', { name: 'notes', history: true, fields: [{ name: 'text', type: 'text', public: true }] });
  await project.api('POST', '/entities/notes/items', { text: CANARY });
  await project.api('PUT', '/entities/notes/items/1', { text: canary('changed') });
  const view = await browser.open({ email: ADMIN, path: 'model/notes' });
  const { page } = view;
  await sheet(view).getByText('Options', { exact: true }).click();
  await page.getByLabel('Label', { exact: true }).fill(canary('Notes'));
  await page.getByLabel('Row security').selectOption('off');
  await page.getByLabel('Public', { exact: false }).first().check();
  await page.getByLabel('History', { exact: false }).first().uncheck();
  await page.getByLabel('Name', { exact: true }).fill('remarks');
  await plan(view).getByText('Everyone can read these fields of all records without signing in: text.').waitFor();
  await plan(view).getByText('Rename notes to remarks').waitFor();
  await plan(view).getByText('1 record is deleted or loses a value.').waitFor();
  await view.axe('options');
  await button(plan(view), 'Apply 2 changes').click();
  await page.getByLabel('Type “notes” to confirm').fill('notes');
  await button(page.getByRole('dialog', { name: 'Change the options' }), 'Apply and lose the values').click();
  await page.waitForURL('**/model/remarks');
  const { label, row_level_security, public_read, history } = await model('remarks');
  assert.deepEqual([label, row_level_security, public_read, history], [canary('Notes'), false, true, false]);
  await button(sheet(view), 'Delete the entity').click();
  await plan(view).getByText('1 record is deleted').waitFor();
  await button(plan(view), 'Delete…').click();
  await page.getByLabel('Type “remarks” to confirm').fill('remarks');
  await button(page.getByRole('dialog', { name: 'Delete remarks' }), 'Delete').click();
  await isDone('remarks has been deleted.', view);
  await project.api('GET', '/entities/remarks', undefined, [404]);
  await view.close();
});

test('an entity that others refer to is not deleted, and the plan says why', async () => {
  const view = await browser.open({ email: ADMIN, path: 'model/authors', expects: [409] });
  await sheet(view).getByText('Relations to this entity').waitFor();
  await button(sheet(view), 'Delete the entity').click();
  await plan(view).getByText(/Other entities refer to this entity: .*products\.author/).waitFor();
  await isOff(plan(view), 'Delete…');
  await button(plan(view), 'Discard').click();
  await view.close();
});

test('unsaved lines survive a reload, and a change of another user is noticed', async () => {
  const view = await browser.open({ email: ADMIN, path: 'model/products', expects: [412] });
  const { page } = view;
  await page.getByRole('button', { name: /^note: text/ }).click();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('note: text 5000');
  await plan(view).getByText('Safe').waitFor();
  await page.reload();
  await page.getByText('have been restored').waitFor();
  assert.equal(await page.getByLabel('Line of note').inputValue(), 'note: text 5000');
  await plan(view).getByText('Safe').waitFor();
  await project.api('PUT', '/entities/products/fields/note', { searchable: true });
  await button(plan(view), 'Apply').click();
  await plan(view).getByText('Another user has changed the model.').waitFor();
  assert.equal((await field('products', 'note')).options.max_length, undefined);
  assert.equal(await page.getByLabel('Line of note').inputValue(), 'note: text 5000');
  await button(plan(view), 'Discard').click();
  await page.getByRole('button', { name: /^note: text searchable/ }).waitFor();
  assert.ok(!(await page.evaluate(() => JSON.stringify(localStorage))).includes('5000'));
  await view.close();
});

test('enums: a new one, values with their plan, and a delete', async () => {
  const view = await browser.open({ email: ADMIN, path: 'model?view=enums' });
  const { page } = view;
  await page.getByRole('link', { name: 'status' }).waitFor();
  await view.axe('enums');
  await page.keyboard.press('c');
  await page.getByLabel('Name', { exact: true }).fill('colour');
  await page.getByLabel('Values, one on each line').fill('red\nblue');
  await button(plan(view), 'Apply').click();
  await isDone('colour has been created.', view);
  assert.deepEqual((await project.api('GET', '/enums/colour')).values, ['red', 'blue']);
  await page.getByLabel('Values, one on each line').fill('blue\ngreen');
  await plan(view).getByText('Removes').waitFor();
  await plan(view).getByText('No field that you may see uses the enum.').waitFor();
  await button(plan(view), 'Apply').click();
  await isDone('The model has been changed.', view);
  assert.deepEqual((await project.api('GET', '/enums/colour')).values, ['blue', 'green']);
  await button(sheet(view), 'Delete the enum').click();
  await button(plan(view), 'Delete…').click();
  await page.getByLabel('Type “colour” to confirm').fill('colour');
  await button(page.getByRole('dialog', { name: 'Delete the enum colour?' }), 'Delete').click();
  await project.api('GET', '/enums/status');
  await isDone('colour has been deleted.', view);
  await page.getByRole('link', { name: 'status' }).click();
  await page.getByLabel('Values, one on each line').fill('open');
  await plan(view).getByText(/records have a value to be removed in 'status' of 'products'/).waitFor();
  await plan(view).getByText(/^Used by .*products\.status/).waitFor();
  await plan(view).getByRole('link', { name: /^products\// }).first().waitFor();
  await view.axe('plan of an enum');
  await isOff(plan(view), 'Apply');
  await button(plan(view), 'Discard').click();
  await button(sheet(view), 'Delete the enum').click();
  await plan(view).getByText(/The field 'status' of '\w+' uses this enum\./).first().waitFor();
  await isOff(plan(view), 'Delete…');
  await button(plan(view), 'Discard').click();
  await view.close();
});

test('boxes stay where they were put, also by keys', async () => {
  const view = await browser.open({ email: ADMIN, path: 'model' });
  const { page } = view;
  const placed = () => page.evaluate((key) => JSON.parse(localStorage.getItem(key) ?? '{}'), `groundwork.model:${project.id}`);
  await box(view, 'products').waitFor();
  await view.axe('diagram');
  const from = await box(view, 'products').boundingBox();
  await page.mouse.move(from.x + 60, from.y + from.height - 12);
  await page.mouse.down();
  await page.mouse.move(from.x + 90, from.y + from.height + 60, { steps: 6 });
  await page.mouse.up();
  const first = (await placed()).products;
  assert.ok(first, 'the place is stored');
  await box(view, 'products').focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('ArrowDown');
  await page.waitForFunction(({ key, y }) => JSON.parse(localStorage.getItem(key)).products.y !== y, { key: `groundwork.model:${project.id}`, y: first.y });
  await page.reload();
  await box(view, 'products').waitFor();
  await button(page, 'Arrange').click();
  assert.deepEqual(await placed(), {});
  await view.close();
});

test('a reader sees the model and why it cannot be changed, and sends no forbidden call', async () => {
  const view = await browser.open({ email: READER, path: 'model/products' });
  const { page } = view;
  const needs = async (control, permission) => {
    assert.equal(await control.getAttribute('aria-disabled'), 'true');
    assert.match(await control.textContent() + await control.getAttribute('title'), new RegExp(`needs ${permission}`));
  };
  await page.getByRole('button', { name: /^name: varchar/ }).waitFor();
  await needs(page.getByRole('button', { name: /New entity/ }), 'svc_entities:create');
  await needs(page.getByRole('button', { name: /New relation/ }), 'svc_fields:create');
  await needs(page.getByRole('button', { name: /Delete the entity/ }), 'svc_entities:delete');
  await needs(page.getByRole('button', { name: /^name: varchar/ }), 'svc_fields:update');
  assert.ok(await line(view, 1).isDisabled());
  await page.getByRole('button', { name: 'Actions of name' }).click();
  assert.equal(await page.getByRole('menuitem', { name: /Delete/ }).getAttribute('aria-disabled'), 'true');
  await page.keyboard.press('Escape');
  await sheet(view).getByText('Options', { exact: true }).click();
  assert.ok(await page.getByLabel('Label', { exact: true }).isDisabled());
  assert.equal(await page.getByRole('link', { name: 'New entity' }).count(), 0);
  await view.axe('reader');
  assert.deepEqual(view.calls.filter((each) => each.method !== 'GET' && !each.path.startsWith('/auth/')), []);
  await view.close();
});

test('on a phone the list has the actions of the diagram', async () => {
  const view = await browser.open({ email: ADMIN, path: 'model', width: 390, height: 800, scheme: 'dark' });
  const { page } = view;
  await page.getByRole('link', { name: 'products' }).first().waitFor();
  await view.axe('list on a phone');
  await page.getByRole('button', { name: 'Actions of authors' }).tap();
  await page.getByRole('menuitem', { name: 'New relation' }).tap();
  const form = page.getByRole('dialog', { name: 'New relation' });
  await form.getByText('Safe:').waitFor();
  assert.equal(await form.getByLabel('From').inputValue(), 'authors');
  await view.axe('relation on a phone');
  await button(form, 'Discard').tap();
  await page.getByRole('link', { name: 'products' }).first().tap();
  await page.getByRole('button', { name: /^price: decimal/ }).tap();
  await page.getByLabel('Line of price').fill('price: decimal min 1');
  await plan(view).getByText('1 record has').waitFor();
  await view.axe('plan on a phone');
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  await button(plan(view), 'Discard').tap();
  await view.close();
});

test('a hundred entities: one is found, and shown with its neighbours', async () => {
  for (let at = 0; at < 100; at++) {
    await project.api('POST', '/entities', {
      name: `big_${String(at).padStart(3, '0')}`,
      fields: [{ name: 'name', type: 'varchar' }, ...(at > 0 ? [{ name: 'before', type: 'relation', options: { entity: `big_${String(Math.floor((at - 1) / 3)).padStart(3, '0')}` } }] : [])],
    });
  }
  const view = await browser.open({ email: ADMIN, path: 'model', scheme: 'dark' });
  const { page } = view;
  await box(view, 'big_007').waitFor();
  await view.axe('diagram of a hundred');
  await page.keyboard.press('/');
  await page.keyboard.type('big_007');
  await page.keyboard.press('Enter');
  await sheet(view).getByRole('heading', { name: 'big_007' }).waitFor();
  await box(view, 'big_007').locator('.active').waitFor();
  await page.getByRole('searchbox', { name: 'Find an entity' }).fill('');
  await button(page, 'Only with neighbours').click();
  await page.getByText('5 of').waitFor();
  assert.equal(await page.locator('.svelte-flow__node').count(), 5);
  await page.getByText('before ->').first().waitFor();
  await view.axe('neighbours');
  await button(page, 'All entities').click();
  // Boxes outside of the view are not drawn, so the count tells that all are back.
  await page.getByText(/^1\d\d entities/).waitFor();
  await view.close();
});
