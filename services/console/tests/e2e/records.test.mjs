// The grid of records: reading, filters, columns, order, edits in cells, selection, clipboard, live changes, rights.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN, Browser, canary, fill, importLines, Project, until } from './harness.mjs';

const MANY = 2500;
const READER = 'reader@console.example';
let project;
let browser;
before(async () => {
  project = await Project.create();
  await fill(project);
  await project.api('POST', '/entities', { name: 'numbers', fields: [{ name: 'n', type: 'integer', indexed: true }, { name: 'word', type: 'varchar' }] });
  await importLines(project, 'numbers', Array.from({ length: MANY }, (_, at) => ({ n: at, word: `w${at}` })));
  await project.api('POST', '/entities', { name: 'empties', fields: [{ name: 'name', type: 'varchar' }] });
  await project.user(READER, ['svc_entities:read', 'svc_fields:read', 'products:read'], [{ entity: 'products', action: 'read', fields: ['name', 'price', 'status'] }]);
  browser = await Browser.start(project);
});
after(async () => {
  await browser?.stop();
  await project?.remove();
});

const record = (id) => project.api('GET', `/entities/products/items/${id}`);
test('a grid shows every type of field as text, and its calls', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/products' });
  const { page } = view;
  await view.cell(0, 2).getByText(canary('Product 0')).waitFor();
  await page.getByText('40 records').waitFor();
  assert.equal(await view.cell(1, 4).innerText(), '1.90');
  await page.getByRole('button', { name: 'Columns' }).click();
  for (const name of ['meta', 'token', 'note', 'image', 'author', 'tags', 'seen']) await page.getByRole('checkbox', { name, exact: true }).setChecked(true);
  await page.keyboard.press('Escape');
  await page.getByRole('columnheader', { name: /^note/ }).waitFor({ state: 'attached' });
  await view.cell(0, 10).getByText(canary('Ana')).waitFor({ state: 'attached' });
  await view.axe('grid');
  await page.getByRole('button', { name: 'Call of the API' }).click();
  await page.getByText('await gw.db.products.list(').waitFor();
  await view.axe('calls');
  await view.close();
});

test('100 rows are read at a time, the last row is reached, and the order can be changed', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/numbers' });
  const { page } = view;
  await page.getByText('2,500 records').waitFor();
  assert.equal(await view.grid().getAttribute('aria-rowcount'), String(MANY + 1));
  await view.cell(0, 2).click();
  await page.keyboard.press('Control+End');
  await page.getByRole('gridcell', { name: `w${MANY - 1}` }).waitFor();
  const lists = view.calls.filter((call) => call.path === '/entities/numbers/items' && call.query.get('limit') === '100');
  // The pages are read again when the stream of changes begins after the first read.
  const pages = new Set(lists.map((call) => String(call.query)));
  assert.ok(pages.size <= 4, `pages for the first and the last row: ${[...pages].join(' ')}`);
  assert.ok(lists.every((call) => call.query.get('count') === 'false'));
  await page.keyboard.press('Control+Home');
  await view.cell(0, 2).getByText('0', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'n', exact: true }).click();
  await page.getByRole('button', { name: 'n', exact: true }).click();
  await view.cell(0, 2).getByText(String(MANY - 1)).waitFor();
  assert.match(page.url(), /sort=-n/);
  assert.equal(await page.getByRole('columnheader', { name: /^n/ }).getAttribute('aria-sort'), 'descending');
  await view.close();
});

test('a million rows are scrolled to their ends, and at most 50 pages are held', async () => {
  const view = await browser.open({ email: ADMIN });
  const { page } = view;
  const total = 1_000_000;
  await page.route(/entities\/numbers\/items\?/, async (route) => {
    const query = new URL(route.request().url()).searchParams;
    const cursor = query.get('cursor');
    const limit = Number(query.get('limit'));
    const from = cursor === null ? (Number(query.get('page') ?? 1) - 1) * limit : cursor === 'start' ? 0 : Number(cursor);
    const items = Array.from({ length: Math.max(0, Math.min(limit, total - from)) }, (_, at) => ({ id: from + at + 1, n: from + at, word: `w${from + at}` }));
    const next = from + limit < total;
    await route.fulfill({ json: { items, total_items: query.get('count') === 'false' ? -1 : total, page: 1, page_size: limit, has_next_page: next, ...(cursor ? { next_cursor: next ? String(from + limit) : null } : {}) } });
  });
  await page.getByRole('link', { name: 'numbers' }).first().click();
  await page.getByText('1,000,000 records').waitFor();
  const grid = page.getByRole('grid');
  for (const share of [0.25, 0.5, 0.75, 1]) {
    await grid.evaluate((element, at) => (element.scrollTop = at * (element.scrollHeight - element.clientHeight)), share);
    await until(async () => (await page.getByRole('gridcell', { name: /^w\d+$/ }).count()) > 10, `no rows at ${share}`);
  }
  await page.getByRole('gridcell', { name: 'w999999' }).waitFor();
  await grid.evaluate((element) => (element.scrollTop = element.scrollHeight / 2));
  await until(async () => (await page.getByRole('gridcell', { name: /^w[45]\d{5}$/ }).count()) > 10, 'no rows in the middle');
  await page.mouse.move(700, 500);
  const seen = () => page.locator('.placed .cell:nth-child(2)').allInnerTexts().then((texts) => Math.min(...texts.map(Number).filter((n) => n > 0)));
  const before = await seen();
  await page.mouse.wheel(0, 320);
  await page.waitForTimeout(600);
  const moved = (await seen()) - before;
  assert.ok(moved >= 8 && moved <= 12, `a wheel of ten rows moved ${moved} rows`);
  assert.ok((await page.locator('.placed').count()) < 80);
  await view.close();
});

test('filters are made, shown as chips, kept in the address, and removed', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/products' });
  const { page } = view;
  await view.cell(0, 2).waitFor();
  await page.keyboard.press('/');
  await page.getByLabel('Field').selectOption('price');
  await page.getByLabel('Condition').selectOption('gte');
  await page.getByLabel('Value', { exact: true }).fill('30');
  await view.axe('filter form');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByText('10 records').waitFor();
  assert.match(page.url(), /filter\[price\]\[gte\]=30|filter%5Bprice%5D%5Bgte%5D=30/);
  await page.keyboard.press('/');
  await page.getByLabel('Field').selectOption('status');
  await page.getByRole('combobox', { name: 'Value' }).selectOption('open');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByText('4 records').waitFor();
  await page.keyboard.press('/');
  await page.getByLabel('Field').selectOption('author');
  await page.getByRole('combobox', { name: 'Value' }).fill('Ana');
  await page.getByRole('option', { name: /Ana/ }).click();
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('button', { name: /Remove the filter author is Ana/ }).waitFor();
  await view.axe('chips');
  await page.reload();
  await page.getByRole('button', { name: /Remove the filter price/ }).waitFor();
  await page.getByRole('button', { name: 'Remove all filters' }).click();
  await page.getByText('40 records').waitFor();
  await view.go('data/products?filter[price][gte]=9999');
  await page.getByRole('heading', { name: 'No record matches these filters.' }).waitFor();
  await view.axe('no match');
  await view.close();
});

test('a filter that the service refuses is shown with its code', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/products?filter[nothing]=1', expects: [400] });
  await view.page.getByRole('alert').getByText('invalid_query').waitFor();
  await view.axe('refused filter');
  await view.close();
});

test('columns are hidden, moved and widened by the menu, and remembered', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/products' });
  const { page } = view;
  await view.cell(0, 2).waitFor();
  const heads = () => page.getByRole('columnheader').evaluateAll((all) => all.map((each) => each.querySelector('.sort')?.textContent.trim()).filter((name) => name));
  assert.deepEqual((await heads()).slice(0, 3), ['id', 'name', 'sku']);
  const choose = async (column, item) => {
    await page.getByRole('button', { name: `Column ${column}` }).click();
    await page.getByRole('menuitem', { name: item }).click();
  };
  await page.getByRole('button', { name: 'Column sku' }).click();
  await view.axe('column menu');
  await page.keyboard.press('Escape');
  await choose('sku', 'Move left');
  await choose('price', 'Hide the column');
  assert.deepEqual((await heads()).slice(0, 4), ['id', 'sku', 'name', 'stock']);
  const width = () => page.getByRole('columnheader', { name: /^name/ }).evaluate((element) => element.offsetWidth);
  const before = await width();
  await choose('name', 'Wider');
  assert.equal(await width(), before + 40);
  await page.reload();
  await view.cell(0, 2).waitFor();
  assert.deepEqual((await heads()).slice(0, 4), ['id', 'sku', 'name', 'stock']);
  assert.equal(await width(), before + 40);
  await view.close();
});

test('a cell is edited with the keyboard, saved at once, and undone', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/products' });
  const { page } = view;
  await view.cell(4, 3).click();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Control+a');
  await page.keyboard.type('12.50');
  await page.keyboard.press('Enter');
  await view.cell(4, 4).getByText('12.50').waitFor();
  await page.getByText('Saved – price: 12.50').waitFor();
  assert.equal(await view.cell(5, 4).evaluate((element) => document.activeElement === element), true);
  await view.axe('undo');
  await page.keyboard.press('Control+z');
  await page.getByText('Undone').waitFor();
  await view.cell(4, 4).getByText('4.90').waitFor();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Control+a');
  await page.keyboard.type('77');
  await page.keyboard.press('Escape');
  await view.cell(5, 4).getByText('5.90').waitFor();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Control+a');
  await page.keyboard.type('8');
  await page.keyboard.press('Tab');
  await view.cell(5, 4).getByText('8').waitFor();
  await until(async () => Number((await record(6)).price) === 8, 'the price was not saved');
  assert.equal(await view.cell(5, 5).evaluate((element) => document.activeElement === element), true);
  await view.close();
});

test('a value that is refused restores the cell and says why', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/products', expects: [400, 409] });
  const { page } = view;
  await view.cell(2, 4).dblclick();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('-1');
  await page.keyboard.press('Enter');
  await page.getByText(/must be at least 0/).waitFor();
  await view.cell(2, 4).getByText('2.90').waitFor();
  await view.cell(2, 3).dblclick();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('S-001');
  await page.keyboard.press('Enter');
  await page.getByText('Request id').first().waitFor();
  await view.cell(2, 3).getByText('S-002').waitFor();
  await view.close();
});

test('a cell that another user has changed is not overwritten', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/products' });
  const { page } = view;
  await until(() => view.calls.some((call) => call.path === '/realtime'), 'there is no stream');
  await view.cell(7, 5).dblclick();
  await page.keyboard.press('Control+a');
  await project.api('PUT', '/entities/products/items/8', { name: 'Changed', stock: 700 });
  await view.cell(7, 2).getByText('Changed').waitFor();
  await page.keyboard.type('5');
  await page.keyboard.press('Enter');
  await page.getByText('Another user has changed this cell.').waitFor();
  assert.equal((await record(8)).stock, 700);
  await view.close();
});

test('choices and relations are edited in their cells', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/products' });
  const { page } = view;
  await view.cell(9, 7).dblclick();
  await page.getByRole('combobox', { name: 'status' }).selectOption('paid');
  await page.keyboard.press('Enter');
  await until(async () => (await record(10)).status === 'paid', 'the status was not saved');
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('checkbox', { name: 'author' }).check();
  await page.keyboard.press('Escape');
  const column = await page.getByRole('columnheader', { name: /^author/ }).getAttribute('aria-colindex');
  await view.cell(9, Number(column) - 1).dblclick();
  await page.getByRole('combobox', { name: 'author' }).fill('Cy');
  await page.getByRole('option', { name: /Cy/ }).click();
  await until(async () => (await record(10)).author === 3, 'the author was not saved');
  await view.close();
});

test('a range is copied, pasted and filled down in one call each', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/products' });
  const { page } = view;
  await view.cell(10, 5).click();
  await page.keyboard.press('Shift+ArrowDown');
  await page.keyboard.press('Control+c');
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), '10\n11');
  await view.cell(12, 5).click();
  await page.keyboard.press('Control+v');
  await until(async () => (await record(13)).stock === 10 && (await record(14)).stock === 11, 'the range was not pasted');
  await page.getByText('2 records were changed').waitFor();
  assert.equal(view.calls.filter((call) => call.path.endsWith('/import')).length, 1);
  await view.cell(20, 5).click();
  for (let rows = 0; rows < 4; rows++) await page.keyboard.press('Shift+ArrowDown');
  await page.keyboard.press('Control+d');
  await page.getByText('4 records were changed').waitFor();
  assert.equal((await record(25)).stock, 20);
  await page.keyboard.press('Control+z');
  await until(async () => (await record(25)).stock === 24, 'the fill was not undone');
  await view.cell(0, 5).click();
  await page.evaluate(() => navigator.clipboard.writeText('1\nx'));
  await page.keyboard.press('Control+v');
  await page.getByText(/Row 2, stock: .*Nothing was pasted/).waitFor();
  assert.equal((await record(1)).stock, 0);
  await view.close();
});

test('many records are selected, edited and deleted', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/numbers?filter[n][lt]=10' });
  const { page } = view;
  await page.getByRole('checkbox', { name: 'Select all records of this list' }).click();
  await page.getByText('10 selected').waitFor();
  await view.axe('selection');
  await page.getByRole('button', { name: 'Edit field' }).click();
  await page.getByLabel('Field').selectOption('word');
  await page.getByRole('textbox', { name: 'word' }).fill(canary('same'));
  await view.axe('bulk edit');
  await page.getByRole('button', { name: 'Change 10 records' }).click();
  await until(async () => (await project.api('GET', '/entities/numbers/items?filter[word][starts_with]=same&limit=1')).total_items === 10, 'the words were not changed');
  await page.getByRole('button', { name: 'Delete' }).click();
  const question = page.getByRole('dialog');
  await view.axe('question');
  assert.ok(await question.getByRole('button', { name: 'Delete' }).isDisabled());
  await question.getByLabel(/to confirm/).fill('numbers');
  await question.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('10 records were deleted').waitFor();
  await page.getByRole('heading', { name: 'No record matches these filters.' }).waitFor();
  await view.close();
});

test('a bar of totals computes what the service computes', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/numbers?filter[n][gte]=2400' });
  const { page } = view;
  await page.getByRole('button', { name: 'Totals' }).click();
  await page.getByRole('combobox', { name: 'Total of n' }).selectOption('sum');
  await page.getByText(String(Array.from({ length: 100 }, (_, at) => 2400 + at).reduce((a, b) => a + b))).waitFor();
  await view.axe('totals');
  await view.close();
});

test('changes of other users are shown in their rows, and new records as a number', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/products' });
  const { page } = view;
  await view.cell(2, 2).waitFor();
  // A change before the stream has begun is shown, too: the list is read again when the stream begins.
  await project.api('PUT', '/entities/products/items/3', { name: canary('changed early') });
  await view.cell(2, 2).getByText(canary('changed early')).waitFor();
  await until(() => view.calls.some((call) => call.path === '/realtime'), 'there is no stream');
  await project.api('PUT', '/entities/products/items/3', { name: canary('changed live') });
  await view.cell(2, 2).getByText(canary('changed live')).waitFor();
  const { id } = await project.api('POST', '/entities/products/items', { name: 'new one' });
  await page.getByRole('button', { name: '1 new' }).click();
  await page.getByText('41 records').waitFor();
  await view.cell(2, 2).click();
  await page.keyboard.press('Control+End');
  await page.getByText('new one').waitFor();
  await project.api('DELETE', `/entities/products/items/${id}`);
  await page.locator('.is-gone').waitFor({ state: 'attached' });
  await view.close();
});

test('an empty entity says what to do', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/empties' });
  await view.page.getByRole('heading', { name: 'empties has no records' }).waitFor();
  await view.page.getByText('curl -X POST').waitFor();
  await view.axe('empty');
  await view.close();
});

test('a user with few rights sees only what it may use, without a refusal', async () => {
  const view = await browser.open({ email: READER, path: 'data/products' });
  const { page } = view;
  await page.getByText('found').or(page.getByText('0 records')).or(page.getByRole('heading', { name: 'products has no records' })).first().waitFor();
  assert.equal(await page.getByRole('link', { name: 'authors' }).count(), 0);
  assert.equal(await page.getByRole('button', { name: 'New record' }).getAttribute('aria-disabled'), 'true');
  await page.getByRole('button', { name: 'New record' }).click({ force: true });
  await page.getByRole('status').getByText('needs products:create').waitFor();
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: /Import a file/ }).getByText('needs products:create').waitFor();
  await page.keyboard.press('Escape');
  await view.go('data/authors');
  await page.getByText('needs authors:read').waitFor();
  await view.close();
});

test('a phone shows cards', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/products', width: 390, height: 844 });
  const { page } = view;
  const list = page.getByRole('list', { name: 'Records of products' });
  await list.getByRole('listitem').first().waitFor();
  await view.axe('cards');
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
  await list.getByRole('button').nth(2).click();
  await page.getByRole('dialog').waitFor();
  assert.equal(await list.isVisible(), false);
  await view.axe('record on a phone');
  await view.close();
});
