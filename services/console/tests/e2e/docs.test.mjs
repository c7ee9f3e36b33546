// The viewer of the API's documents.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN, Browser, canary, fill, Project } from './harness.mjs';

const READER = 'reader@console.example';
let project;
let browser;
before(async () => {
  project = await Project.create();
  await fill(project);
  await project.user(READER, ['svc_entities:read', 'svc_documentation:read', 'products:read']);
  browser = await Browser.start(project);
});
after(async () => {
  await browser?.stop();
  await project?.remove();
});

const open = (path = 'docs', more = {}) => browser.open({ email: ADMIN, path, ...more });
const contents = (view) => view.page.getByRole('navigation', { name: 'Operations' });

test('an operation is found by its words, and its page has parameters, members, answers and rights', async () => {
  const view = await open();
  const { page } = view;
  await page.getByText('export const modelVersion').waitFor();
  await view.axe('documents');
  await contents(view).getByRole('searchbox').fill('products create');
  await contents(view).getByRole('link', { name: /Create a record of products/ }).click();
  await page.getByRole('heading', { name: 'Create a record of products' }).waitFor();
  const body = page.getByRole('list', { name: 'Body' });
  await body.getByText('at most 250 characters').waitFor();
  await body.getByText(canary('odd').slice(0, 20)).waitFor();
  await page.getByText('unique_violation').waitFor();
  await page.getByText('you hold this').first().waitFor();
  await page.getByRole('button', { name: 'Copy curl' }).click();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^curl -X POST .*\/entities\/products\/items/);
  await view.axe('operation');
  await view.close();
});

test('a read is sent at once, a write after a confirmation, and a refusal is shown in its words', async () => {
  const view = await open('docs/get_products', { expects: [404] });
  const { page } = view;
  await page.getByRole('textbox', { name: 'id' }).fill('1');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('Status 200').waitFor();
  await page.getByRole('region', { name: 'Answer' }).getByText(canary('Product 0').slice(0, 20)).first().waitFor();
  await view.axe('answer');
  await page.getByRole('textbox', { name: 'id' }).fill('999999');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('alert').getByText('not_found (404)').waitFor();
  await view.go('docs/create_tags');
  await page.getByRole('textbox', { name: 'Body' }).fill('{"label": "from the documents"');
  await page.getByText('The body is not valid JSON').first().waitFor();
  await page.getByRole('textbox', { name: 'Body' }).fill('{"label": "from the documents"}');
  await page.getByRole('button', { name: 'Send' }).click();
  const dialog = page.getByRole('dialog', { name: 'Send POST /entities/tags/items?' });
  await dialog.getByRole('button', { name: 'Send' }).click();
  await page.getByText('Status 201').waitFor();
  const { items } = await project.api('GET', '/entities/tags/items?filter[label]=from%20the%20documents');
  assert.equal(items.length, 1);
  await view.close();
});

test('a right that the caller lacks is named, and the call is not offered', async () => {
  const view = await browser.open({ email: READER, path: 'docs/create_products' });
  const { page } = view;
  await page.getByText('you do not hold this').waitFor();
  assert.equal(await page.getByRole('button', { name: /^Send/ }).getAttribute('aria-disabled'), 'true');
  await view.go('docs/realtime_listen');
  await page.getByRole('button', { name: /needs svc_realtime:read/ }).waitFor();
  await view.close();
});

test('the palette finds operations from any view', async () => {
  const view = await open('');
  const { page } = view;
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search or do…' }).fill('jobs retry');
  await page.getByRole('option', { name: /POST \/workflows\/jobs\/\{id\}\/retry/ }).click();
  await page.getByRole('heading', { name: /job/i }).first().waitFor();
  await view.close();
});

test('of documents of some megabytes the contents show a part', async () => {
  const answer = await project.api('GET', '/docs');
  const model = answer.data_model_documentation;
  const paths = Object.entries(model.paths);
  for (let at = 0; at < 110; at++) {
    for (const [path, methods] of paths) {
      model.paths[path.replace('/entities/', `/entities/e${at}_`)] = Object.fromEntries(Object.entries(methods).map(([method, operation]) => [method, { ...operation, operationId: `${operation.operationId}_${at}`, tags: [`entity ${at}`] }]));
    }
  }
  const text = JSON.stringify(answer);
  assert.ok(text.length > 4_000_000, `${text.length}`);
  const view = await open('');
  const { page } = view;
  await page.route(/\/docs$/, (route) => (route.request().resourceType() === 'document' ? route.continue() : route.fulfill({ contentType: 'application/json', body: text })));
  await page.getByRole('link', { name: 'Documentation' }).click();
  await contents(view).getByText('entity 109').waitFor();
  await contents(view).getByRole('searchbox').fill('list products');
  await contents(view).getByRole('link').first().waitFor();
  assert.ok((await contents(view).getByRole('link').count()) <= 101);
  await view.close();
});

test('on a phone and in the dark the documents fit', async () => {
  const view = await open('docs/search', { width: 390, height: 844, scheme: 'dark' });
  await view.page.locator('#main h1').waitFor();
  await view.axe('operation on a phone');
  const width = await view.page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 390, `${width}`);
  await view.page.getByRole('link', { name: 'All operations' }).click();
  await contents(view).waitFor();
  await view.close();
});
