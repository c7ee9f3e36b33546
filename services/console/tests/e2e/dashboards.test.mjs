// Dashboards on Home: charts of each kind, lists, texts and links.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN, Browser, canary, fill, Project } from './harness.mjs';

const READER = 'reader@console.example';
let project;
let browser;
let board;
before(async () => {
  project = await Project.create();
  await fill(project);
  const chart = async (name, body) => (await project.api('POST', '/charts', { name, entity: 'products', aggregates: [{ function: 'count' }], ...body })).id;
  const charts = [
    await chart(canary('All'), { kind: 'metric', aggregates: [{ function: 'count' }, { function: 'sum', field: 'price' }] }),
    await chart('By state', { kind: 'bar', group_by: [{ field: 'status' }] }),
    await chart('Released', { kind: 'line', group_by: [{ field: 'released', bucket: 'month' }] }),
    await chart('Released area', { kind: 'area', group_by: [{ field: 'released', bucket: 'month' }] }),
    await chart('Authors', { kind: 'pie', group_by: [{ field: 'author.name' }] }),
    await chart('Table', { kind: 'table', aggregates: [{ function: 'avg', field: 'price' }], group_by: [{ field: 'author.name' }] }),
  ];
  const roles = (await project.api('GET', '/roles')).items.filter((role) => role.name === 'Standard User').map((role) => role.id);
  board = await project.api('POST', '/dashboards', { name: canary('Board'), description: canary('All products') , role_ids: roles });
  const add = (body) => project.api('POST', `/dashboards/${board.id}/widgets`, body);
  for (const chart_id of charts) await add({ kind: 'chart', chart_id });
  await add({ kind: 'list', title: canary('Newest'), entity: 'products', fields: 'name,price', sort: '-price', limit: 3 });
  await add({ kind: 'text', title: 'Note', text: canary('Read this') });
  await add({ kind: 'link', title: 'Handbook', url: 'https://example.com/handbook' });
  await add({ kind: 'link', title: 'In the app', url: '/orders/open' });
  await project.api('POST', '/dashboards', { name: 'Empty one' });
  await project.api('PUT', '/dashboards/home', { scope: 'project', dashboard_id: board.id });
  const reader = await project.user(READER, ['svc_entities:read', 'svc_dashboards:read', 'products:read'], [{ entity: 'products', action: 'read', fields: ['name'] }]);
  await project.api('PUT', `/users/${reader.id}`, { role_ids: [...reader.role_ids, ...roles] });
  browser = await Browser.start(project);
});
after(async () => {
  await browser?.stop();
  await project?.remove();
});

const widget = (view, name) => view.page.getByRole('article', { name, exact: true });

test('each kind of chart is drawn, with its data as a table', async () => {
  const view = await browser.open({ email: ADMIN });
  const { page } = view;
  await widget(view, canary('All')).getByText('40', { exact: true }).waitFor();
  // The name and the data of a chart are read when its widget comes into view.
  for (const [at, name] of ['By state', 'Released', 'Released area', 'Authors'].entries()) {
    await page.getByRole('article').nth(at + 1).scrollIntoViewIfNeeded();
    await widget(view, name).getByRole('img', { name: new RegExp(`^${name}: `) }).waitFor();
    await widget(view, name).getByText('Data as a table').click();
    await widget(view, name).getByRole('table').waitFor();
  }
  assert.match(await widget(view, 'By state').getByRole('table').innerText(), /paid\s+26/);
  await page.getByRole('article').nth(5).scrollIntoViewIfNeeded();
  await widget(view, 'Table').getByRole('columnheader', { name: 'avg(price)' }).waitFor();
  await widget(view, canary('Newest')).scrollIntoViewIfNeeded();
  await view.axe('dashboard');
  assert.equal(await widget(view, 'Handbook').getByRole('link').getAttribute('href'), 'https://example.com/handbook');
  assert.equal(await widget(view, 'In the app').getByRole('link').count(), 0);
  await widget(view, canary('Newest')).getByRole('link', { name: 'Product 39' }).click();
  await page.getByRole('dialog', { name: 'Product 39' }).waitFor();
  await view.close();
});

test('a change of a record changes the chart, and another dashboard is chosen and made the first', async () => {
  const view = await browser.open({ email: ADMIN });
  const { page } = view;
  await widget(view, canary('All')).getByText('40', { exact: true }).waitFor();
  await page.waitForTimeout(2000);
  await project.api('POST', '/entities/products/items', { name: 'One more' });
  await widget(view, canary('All')).getByText('41', { exact: true }).waitFor();
  await page.getByLabel('Choose a dashboard').selectOption({ label: 'Empty one' });
  await page.getByText('The dashboard has no widgets yet.').waitFor();
  await page.getByRole('button', { name: 'Show first on Home' }).click();
  await page.getByText('Home shows this dashboard first now.').waitFor();
  await view.go('');
  await page.getByText('The dashboard has no widgets yet.').waitFor();
  await project.api('PUT', '/dashboards/home', { scope: 'user', dashboard_id: null });
  await view.close();
});

test('a user sees charts of readable fields, and the refusal of other charts in the words of the service', async () => {
  const view = await browser.open({ email: READER, expects: [403], width: 390, height: 844, scheme: 'dark' });
  const { page } = view;
  await page.getByText('The chart shows fields that the caller may not read.').first().waitFor();
  await view.axe('refused charts');
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 390, `${width}`);
  await view.close();
});
