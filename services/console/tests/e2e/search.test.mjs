// The search as an app makes it, the indexes, and the settings of the search.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN, Browser, CANARY, canary, fill, importLines, Project, until } from './harness.mjs';

const READER = 'reader@console.example';
const RECORDS = 30;
let project;
let browser;
before(async () => {
  project = await Project.create();
  await fill(project);
  await project.api('POST', '/entities', { name: 'notes', fields: [
    { name: 'title', type: 'varchar', searchable: true, options: { max_length: 250 } }, { name: 'state', type: 'varchar' }, { name: 'n', type: 'integer', indexed: true },
  ] });
  await importLines(project, 'notes', Array.from({ length: RECORDS }, (_, at) => ({ title: canary(`Walnut table ${at}`), state: at % 3 === 0 ? 'open' : canary('closed'), n: at })));
  await until(async () => (await project.api('GET', '/search?q=walnut&e=notes')).total_items === RECORDS, 'records are not found');
  await project.user(READER, ['svc_entities:read', 'svc_search:read', 'notes:read']);
  browser = await Browser.start(project);
});
after(async () => {
  await browser?.stop();
  await project?.remove();
});

const open = (path = 'search', more = {}) => browser.open({ email: ADMIN, path, ...more });
const words = (view) => view.page.getByRole('searchbox', { name: 'Search words' });
const hits = (view) => view.page.getByRole('list', { name: 'Hits' });
const state = async (entity) => (await project.api('GET', '/search/status')).items.find((each) => each.entity === entity);

test('typed words find records, with marked words as text, and a hit leads to its record', async () => {
  const view = await open();
  const { page } = view;
  await page.getByRole('heading', { name: 'Search the records of the project' }).waitFor();
  await view.axe('empty search');
  await words(view).fill('walnut tabel 7');
  await hits(view).getByRole('link').first().waitFor();
  assert.deepEqual(await hits(view).locator('li').first().locator('mark').allInnerTexts(), ['Walnut', 'table', '7', '7', '7']);
  assert.match(await hits(view).locator('li').first().innerText(), /Matched in title/);
  assert.ok((await hits(view).locator('li').first().innerText()).includes(CANARY.slice(0, 20)));
  await view.axe('hits');
  assert.match(page.url(), /\/search\?q=walnut\+tabel\+7$/);
  await page.reload();
  await hits(view).getByRole('link', { name: canary('Walnut table 7') }).click();
  await page.getByRole('dialog', { name: canary('Walnut table 7') }).waitFor();
  await view.close();
});

test('completions, entities, facets, filters, orders and pages are parts of the address', async () => {
  const view = await open();
  const { page } = view;
  await words(view).fill('waln');
  await page.getByRole('button', { name: /^walnut/ }).click();
  await page.getByRole('status').getByText(`${RECORDS} hits`).waitFor();
  await page.getByRole('button', { name: 'Next page' }).click();
  await page.getByText('Page 2').waitFor();
  assert.equal(await hits(view).locator('li').count(), RECORDS - 20);
  await page.getByRole('group', { name: 'Entities' }).getByRole('button', { name: 'notes' }).click();
  await page.getByLabel('Order').selectOption('-n');
  await hits(view).locator('li').first().getByRole('link', { name: canary('Walnut table 29') }).waitFor();
  await page.getByLabel('Count values of').selectOption('state');
  await page.getByRole('region', { name: 'Values among the hits' }).getByRole('button', { name: /^open/ }).click();
  await page.getByRole('status').getByText('10 hits').waitFor();
  await view.axe('facets');
  const address = new URL(page.url()).searchParams;
  assert.deepEqual([address.get('q'), address.get('e'), address.get('sort'), address.get('facets'), address.get('filter[state]')], ['walnut', 'notes', '-n', 'state', 'open']);
  await page.getByRole('button', { name: 'Remove the filter state = open' }).click();
  await page.getByRole('status').getByText(`${RECORDS} hits`).waitFor();
  await page.getByRole('checkbox', { name: 'As the public' }).check();
  await page.getByRole('alert').waitFor();
  view.expects.push(400);
  view.faults = view.faults.filter((fault) => !fault.includes('status of 400'));
  await view.close();
});

test('an entity that is not searchable is named, with the call that makes it searchable', async () => {
  const view = await open('search?q=zzzz');
  const { page } = view;
  await page.getByRole('heading', { name: 'No record that you may see has these words.' }).waitFor();
  await page.getByText('Not searchable').click();
  await page.getByText('/entities/tags/fields/label').waitFor();
  await view.axe('not searchable');
  await view.close();
});

test('an index is emptied after its name was typed, and built again', async () => {
  const view = await open('search/indexes');
  const { page } = view;
  const row = page.getByRole('row', { name: /^notes/ });
  await row.getByText(String(RECORDS)).waitFor();
  await view.axe('indexes');
  await row.getByRole('button', { name: 'More work on notes' }).click();
  await page.getByRole('menuitem', { name: 'Empty the index…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Empty the index of notes?' });
  await dialog.getByText(`${RECORDS} records of notes can no longer be found`).waitFor();
  await view.axe('purge');
  assert.ok(await dialog.getByRole('button', { name: 'Empty the index' }).isDisabled());
  await dialog.getByRole('textbox').fill('notes');
  await page.keyboard.press('Enter');
  await row.getByText('empty').waitFor();
  assert.equal((await state('notes')).documents, 0);
  await row.getByRole('button', { name: 'Index notes again' }).click();
  await row.getByText('ready').waitFor();
  await until(async () => (await state('notes')).documents === RECORDS, 'the index is not complete');
  await row.getByText(String(RECORDS)).waitFor();
  await view.close();
});

test('the progress of an index that is being built is shown, and so is an error', async () => {
  const view = await open('search/indexes');
  const { page } = view;
  const item = { entity: 'notes', status: 'Indexing', documents: 610, total: 1000, documents_per_second: 61.4, remaining_seconds: 6, last_indexed_at: null, error: null };
  await page.route('**/search/status?**', (route) => route.fulfill({ json: { items: [item, { ...item, entity: 'odd', status: 'Failed', error: CANARY }], total_items: 2, page: 1, page_size: 50, has_next_page: false } }));
  await page.reload();
  await page.getByText('610 of 1,000').waitFor();
  await page.getByText('61 records a second, about 6 s left').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Index notes again' }).isDisabled());
  await page.getByRole('row', { name: /^odd/ }).getByText('{{7*7}}').waitFor();
  await view.axe('indexing');
  item.documents = 999;
  await page.getByText('999 of 1,000').waitFor();
  await view.close();
});

test('settings send only changed members, keep a draft, and name problems at their fields', async () => {
  const view = await open('search/settings', { expects: [400] });
  const { page } = view;
  await page.getByText('Words that are ignored in queries').waitFor();
  await view.axe('search settings');
  await page.getByRole('button', { name: 'Add a group' }).click();
  await page.getByRole('textbox', { name: 'Group 1' }).fill('table, desk lamp');
  await page.getByLabel('Stop words').fill('the\nof');
  await page.getByText('2 unsaved changes').waitFor();
  await page.reload();
  assert.equal(await page.getByRole('textbox', { name: 'Group 1' }).inputValue(), 'table, desk lamp');
  await page.keyboard.press('Control+s');
  await page.getByText('must be a single word').first().waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'Group 1' }).getAttribute('aria-invalid'), 'true');
  await view.axe('problems of settings');
  await page.getByRole('textbox', { name: 'Group 1' }).fill('table, desk');
  await page.getByRole('combobox', { name: 'Add a field' }).fill('notes');
  await page.getByRole('option', { name: 'notes.title' }).click();
  const [request] = await Promise.all([page.waitForRequest((each) => each.method() === 'PUT'), page.keyboard.press('Control+s')]);
  await page.getByText('The next search uses the new settings.').waitFor();
  assert.deepEqual(Object.keys(request.postDataJSON()).sort(), ['stop_words', 'synonyms', 'typo_tolerance']);
  assert.ok(request.headers()['if-match']);
  const stored = await project.api('GET', '/search/settings');
  assert.deepEqual([stored.synonyms, stored.stop_words, stored.typo_tolerance.disabled_fields], [[{ words: ['table', 'desk'] }], ['the', 'of'], ['notes.title']]);
  await view.close();
});

test('settings that another administrator has changed are read again, and the input stays', async () => {
  const view = await open('search/settings', { expects: [412] });
  const { page } = view;
  await page.getByLabel('Stop words').fill('mine');
  await page.getByText('1 unsaved change', { exact: true }).waitFor();
  await project.api('PUT', '/search/settings', { public: false });
  await page.keyboard.press('Control+s');
  await page.getByRole('alert').getByText('Your changes are kept.').waitFor();
  await view.axe('stale settings');
  await page.getByRole('button', { name: 'Read the new version' }).click();
  await page.getByRole('alert').waitFor({ state: 'detached' });
  await page.keyboard.press('Control+s');
  await page.getByText('The next search uses the new settings.').waitFor();
  const stored = await project.api('GET', '/search/settings');
  assert.deepEqual([stored.public, stored.stop_words], [false, ['mine']]);
  await project.api('PUT', '/search/settings', { public: true });
  await view.close();
});

test('a user with few rights searches, and sees neither indexes nor settings', async () => {
  const view = await browser.open({ email: READER, path: 'search?q=walnut' });
  const { page } = view;
  await page.getByRole('status').getByText('hits in').waitFor();
  assert.equal(await page.getByRole('link', { name: 'Indexes' }).count(), 0);
  assert.equal(await page.getByRole('link', { name: 'Settings' }).count(), 0);
  await view.go('search/indexes');
  await words(view).waitFor();
  assert.ok(!view.calls.some((call) => /status|settings/.test(call.path)));
  await view.close();
});

test('on a phone and in the dark the search fits', async () => {
  for (const path of ['search?q=walnut&facets=state', 'search/indexes', 'search/settings']) {
    const view = await open(path, { width: 390, height: 844, scheme: 'dark' });
    await view.page.locator('#main h1').waitFor();
    await view.page.waitForTimeout(800);
    await view.axe(`${path} on a phone`);
    const width = await view.page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 390, `${path}: ${width}`);
    await view.close();
  }
});
