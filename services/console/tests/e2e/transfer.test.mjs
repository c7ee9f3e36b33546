// Imports with preview, mapping and progress, an import that was cut off, exports.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ADMIN, Browser, canary, CANARY, fill, Project, Steps } from './harness.mjs';

let project;
let browser;
before(async () => {
  project = await Project.create();
  await fill(project);
  await project.api('POST', '/entities', { name: 'chairs', fields: [{ name: 'name', type: 'varchar', options: { max_length: 250 } }, { name: 'price', type: 'decimal' }, { name: 'code', type: 'varchar', unique: true }] });
  browser = await Browser.start(project);
});
after(async () => {
  await browser?.stop();
  await project?.remove();
});

const count = async (query = '') => (await project.api('GET', `/entities/chairs/items?limit=1${query}`)).total_items;
const csv = (name, text) => ({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });

test('a CSV with foreign columns is mapped, tried and imported', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/chairs' });
  const { page } = view;
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Import a file' }).click();
  const sheet = page.getByRole('dialog', { name: 'Import a file' });
  const rows = Array.from({ length: 50 }, (_, at) => `"${canary(`Chair ${at}`).replaceAll('"', '""')}";${at},90;C-${at}`);
  await sheet.locator('input[type=file]').setInputFiles(csv(`${CANARY.replaceAll('/', '')}.csv`, ['Name;Preis;code', ...rows, 'Bad;x;C-99'].join('\n')));
  await sheet.getByText('of the first 51 rows').waitFor();
  await sheet.getByLabel('Numbers').selectOption('comma');
  await sheet.getByLabel('Preis').selectOption('price');
  await sheet.getByLabel('Name', { exact: true }).selectOption('name');
  await sheet.getByText('50 of the first 51 rows can be imported.').waitFor();
  await sheet.getByText('Row 51').waitFor();
  await view.axe('import preview');
  await sheet.getByRole('button', { name: 'Import', exact: true }).click();
  const box = page.getByRole('region', { name: 'Transfers' });
  await box.getByText('50 rows were imported, 1 refused').waitFor();
  await view.axe('import report');
  await box.getByText('Details').click();
  await box.getByText('Row 51').waitFor();
  assert.equal(await count(), 50);
  await page.getByText('50 records').waitFor();
  await page.getByRole('link', { name: 'Home' }).click();
  await page.getByText('50 rows imported, 1 refused').waitFor();
  await view.axe('home with a failed import');
  await view.close();
});

test('an import takes 3 steps, by a file that is dropped on the grid', async () => {
  const view = await browser.open({ email: ADMIN });
  const { page } = view;
  const steps = new Steps(page);
  await steps.click(page.getByRole('navigation').getByRole('link', { name: 'chairs', exact: true }));
  await page.getByRole('heading', { level: 1, name: 'chairs' }).waitFor();
  await steps.drop(page.getByRole('region', { name: 'Records of chairs' }), 'chairs.csv', 'name,price,code\nDropped,1.50,D-1\n');
  await page.getByText('1 of the first 1 row can be imported.').waitFor();
  await steps.click(page.getByRole('button', { name: 'Import', exact: true }));
  await page.getByText('1 row was imported, 0 refused').waitFor();
  steps.atMost(3);
  assert.equal(await count('&filter[name]=Dropped'), 1);
  await view.close();
});

test('a file that is dropped where the page takes none does not leave the page', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/chairs' });
  const { page } = view;
  await page.getByRole('heading', { level: 1, name: 'chairs' }).waitFor();
  const isHeld = await page.evaluate(() => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(['x'], 'x.txt'));
    return !document.querySelector('nav').dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
  });
  assert.ok(isHeld);
  await view.close();
});

test('a second import changes the records that it finds by a unique field', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/chairs/import' });
  const { page } = view;
  const sheet = page.getByRole('dialog', { name: 'Import a file' });
  await sheet.locator('input[type=file]').setInputFiles({ name: 'chairs.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from('{"code":"C-1","price":"7.00"}\n{"code":"C-2","price":"7.00"}\n') });
  await sheet.getByLabel(/Update the record/).selectOption('code');
  await sheet.getByText('2 of the first 2 rows').waitFor();
  await sheet.getByRole('button', { name: 'Import', exact: true }).click();
  await page.getByText('2 rows were imported, 0 refused').waitFor();
  assert.equal(await count('&filter[price]=7'), 2);
  await view.close();
});

test('an import that was cut off continues with the same file', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/chairs/import', expects: [502] });
  const { page } = view;
  const before = await count();
  const rows = Array.from({ length: 20_000 }, (_, at) => `Cut ${at},1.00,X-${at}`);
  if (!browser.server) return view.close();
  const sheet = page.getByRole('dialog', { name: 'Import a file' });
  await sheet.locator('input[type=file]').setInputFiles(csv('cut.csv', ['name,price,code', ...rows].join('\n')));
  await sheet.getByText('200 of the first 200 rows').waitFor();
  browser.server.cutAfter = 200_000;
  await sheet.getByRole('button', { name: 'Import', exact: true }).click();
  const box = page.getByRole('region', { name: 'Transfers' });
  await box.getByRole('button', { name: 'Try again' }).waitFor();
  const stored = await count();
  assert.ok(stored > before && stored < before + 20_000, `${stored}`);
  await box.getByRole('button', { name: 'Try again' }).click();
  await box.getByText('20,000 rows were imported, 0 refused').waitFor({ timeout: 120_000 });
  assert.equal(await count(), before + 20_000);
  await view.close();
});

test('an export is saved as a file', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/chairs?filter[code][starts_with]=C-' });
  const { page } = view;
  // The dialog of the browser for a file cannot be driven: the export falls back to a download.
  await page.evaluate(() => delete window.showSaveFilePicker);
  await page.getByRole('button', { name: 'More' }).click();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: 'Export as JSON Lines' }).click()]);
  assert.equal(download.suggestedFilename(), 'chairs.jsonl');
  const lines = readFileSync(await download.path(), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
  assert.equal(lines.length, 50);
  assert.ok(lines[0].name.includes(CANARY));
  await page.getByRole('region', { name: 'Transfers' }).getByText('chairs.jsonl').waitFor();
  await view.close();
});
