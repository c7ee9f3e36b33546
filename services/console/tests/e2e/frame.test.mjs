// The frame: sign-in, sessions over tabs, the bar, the palette, keys, missing pages, offline, operator.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN, Browser, canary, fill, Project } from './harness.mjs';

let project;
let browser;
before(async () => {
  project = await Project.create();
  await fill(project);
  browser = await Browser.start(project);
});
after(async () => {
  await browser?.stop();
  await project?.remove();
});

test('a wrong password is refused in the words of the service, and the form can be used again', async () => {
  const view = await browser.open({ expects: [401] });
  const { page } = view;
  await view.axe('sign-in');
  await page.getByLabel('E-mail address').fill(ADMIN);
  await page.getByLabel('Password').fill('wrong wrong wrong');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('invalid_credentials').waitFor();
  await view.axe('refused sign-in');
  await view.signIn(ADMIN);
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  await view.axe('home');
  await view.close();
});

test('a session survives a reload, is shared with a new tab, and ends in all of them', async () => {
  const view = await browser.open({ email: ADMIN });
  await view.page.reload();
  await view.page.getByRole('heading', { name: 'Home' }).waitFor();
  const stored = await view.page.evaluate(() => ({ session: Object.keys(sessionStorage), local: Object.keys(localStorage) }));
  assert.deepEqual(stored.session, [`groundwork.session:${project.id}`]);
  assert.ok(!stored.local.some((key) => key.startsWith('groundwork.session')));
  const second = await view.page.context().newPage();
  await second.goto(browser.address('data/products'));
  await second.getByRole('grid').waitFor();
  await second.getByRole('button', { name: ADMIN }).click();
  await second.getByRole('menuitem', { name: 'Sign out', exact: true }).click();
  await view.page.getByLabel('Password').waitFor();
  assert.deepEqual(await view.page.evaluate(() => Object.keys(sessionStorage)), []);
  await view.close();
});

test('a session that stays is in localStorage, and one refresh serves all tabs', async () => {
  const view = await browser.open();
  const { page } = view;
  await page.getByLabel('Stay signed in').check();
  await view.signIn(ADMIN);
  assert.ok(await page.evaluate((key) => localStorage.getItem(key), `groundwork.session:${project.id}`));
  const others = await Promise.all([1, 2, 3].map(() => page.context().newPage()));
  let refreshes = 0;
  page.context().on('request', (request) => (refreshes += request.url().endsWith('/auth/v1/refresh') ? 1 : 0));
  await Promise.all(others.map((other) => other.goto(browser.address(''))));
  for (const other of others) await other.getByRole('heading', { name: 'Home' }).waitFor();
  assert.ok(refreshes <= 3, `${refreshes}`);
  await view.close();
});

test('an access token that has expired is renewed without a word', async () => {
  const view = await browser.open({ email: ADMIN, expects: [401] });
  await project.api('PUT', '/', { settings: { access_token_seconds: 60 } });
  let refused = 0;
  await view.page.route('**/entities/products/items?**', async (route) => {
    if (refused++ > 0) return route.continue();
    await route.fulfill({ status: 401, contentType: 'application/problem+json', body: JSON.stringify({ code: 'token_expired', detail: 'Token has expired' }) });
  });
  await view.page.getByRole('link', { name: 'products' }).first().click();
  await view.grid().waitFor();
  assert.ok(refused >= 2);
  await project.api('PUT', '/', { settings: { access_token_seconds: 3600 } });
  await view.close();
});

test('the palette finds entities, records and actions, and a record by its id', async () => {
  const view = await browser.open({ email: ADMIN });
  const { page } = view;
  await page.keyboard.press('Control+k');
  const field = page.getByRole('combobox', { name: 'Search or do…' });
  await page.keyboard.type('prod');
  await page.getByRole('option', { name: 'products', exact: true }).waitFor();
  await view.axe('palette');
  await page.keyboard.press('Enter');
  await view.grid().waitFor();
  await page.keyboard.press('Control+k');
  await field.fill('#7');
  await page.getByRole('option', { name: 'products/7' }).click();
  await page.getByRole('dialog', { name: 'Product 6' }).waitFor();
  await page.keyboard.press('Control+k');
  await field.fill('>dark');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  await page.keyboard.press('Control+k');
  await field.fill('closed');
  await page.keyboard.press('Escape');
  await field.waitFor({ state: 'detached' });
  await view.close();
});

test('the palette finds records by their words', async () => {
  const view = await browser.open({ email: ADMIN });
  const { page } = view;
  for (let tries = 0; tries < 30; tries++) {
    const { items } = await project.api('GET', '/search?q=Bo', undefined, [200, 400]);
    if (items?.some((item) => item.entity === 'authors')) break;
    await page.waitForTimeout(500);
  }
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search or do…' }).fill('Bo');
  await page.getByRole('option', { name: /authors\/2/ }).click();
  await page.getByRole('dialog', { name: canary('Bo') }).waitFor();
  await view.close();
});

test('chords go to areas, and the sheet of keys lists them', async () => {
  const view = await browser.open({ email: ADMIN });
  const { page } = view;
  await page.keyboard.press('g');
  await page.keyboard.press('d');
  await page.getByRole('link', { name: 'products' }).first().click();
  await view.grid().waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('h');
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('d');
  await view.grid().waitFor();
  assert.match(page.url(), /data\/products$/);
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'All keys' }).getByText('New record').waitFor();
  await view.axe('keys');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: ADMIN }).click();
  await page.getByRole('menuitemcheckbox', { name: 'Single keys' }).click();
  await page.keyboard.press('c');
  await page.waitForTimeout(300);
  assert.match(page.url(), /data\/products$/);
  await view.close();
});

test('an unknown address and an unknown entity have a page', async () => {
  const view = await browser.open({ email: ADMIN, path: 'nothing/here' });
  await view.page.getByRole('heading', { name: 'There is no such page' }).waitFor();
  await view.axe('missing page');
  await view.go('data/nothing');
  await view.page.getByRole('heading', { name: 'There is no such page' }).waitFor();
  await view.go('data/products/999999');
  await view.page.getByRole('alert').getByText('There is no such record.').waitFor();
  view.expects.push(404);
  view.faults.length = 0;
  await view.close();
});

test('an unknown project is refused at the sign-in, and the chooser leads to a project', async () => {
  const view = await browser.open({ path: '/', expects: [404] });
  const { page } = view;
  await view.axe('chooser');
  await page.getByLabel('Project id').fill('not-there');
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByLabel('E-mail address').fill(ADMIN);
  await page.getByLabel('Password').fill('whatever it is');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').getByText('No project has this id.').waitFor();
  await page.getByRole('link', { name: 'Another project' }).click();
  await page.getByLabel('Project id').fill(project.id);
  await page.getByRole('button', { name: 'Open' }).click();
  await view.signIn(ADMIN);
  await view.close();
});

test('the operator lists projects, and the token is stored nowhere', async () => {
  const view = await browser.open({ path: '/operator', expects: [401] });
  const { page } = view;
  await page.getByLabel('Operator token').fill('not the token of the operator');
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Operator token').fill(process.env.OPERATOR_TOKEN);
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByRole('link', { name: project.id }).waitFor();
  await view.axe('operator');
  const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href]));
  assert.ok(!stored.includes(process.env.OPERATOR_TOKEN));
  await view.close();
});

test('without a connection saved data stays, and changes are refused', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/products' });
  const { page } = view;
  await view.cell(0, 2).waitFor();
  await page.context().setOffline(true);
  await page.getByRole('status').getByText('No connection.').waitFor();
  await view.axe('offline');
  assert.ok(await view.cell(0, 2).innerText());
  await view.cell(1, 2).dblclick();
  await page.keyboard.type('Other name');
  await page.keyboard.press('Enter');
  await page.getByText('There is no connection: nothing was changed.').or(page.getByText('The service has not answered.')).first().waitFor();
  await page.context().setOffline(false);
  await page.getByText('No connection.').waitFor({ state: 'detached' });
  view.faults = view.faults.filter((fault) => !fault.includes('ERR_INTERNET_DISCONNECTED'));
  await view.close();
});

test('a tab that is older than the files of the server offers to reload', async () => {
  const view = await browser.open({ email: ADMIN, expects: [404] });
  const { page } = view;
  await page.route('**/console/assets/**', (route) => (/data-/.test(route.request().url()) ? route.fulfill({ status: 404 }) : route.continue()));
  await page.getByRole('link', { name: 'products' }).first().click();
  await page.getByText('The console has a new version.').waitFor();
  await page.unroute('**/console/assets/**');
  await page.getByRole('button', { name: 'Reload' }).click();
  await view.grid().waitFor();
  await view.close();
});

test('on a phone the bar is a drawer', async () => {
  const view = await browser.open({ email: ADMIN, width: 390, height: 844 });
  const { page } = view;
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  await view.axe('home on a phone');
  await page.getByRole('button', { name: 'Open the menu' }).click();
  await page.getByRole('navigation', { name: 'Menu' }).getByRole('link', { name: 'products' }).click();
  await page.getByRole('list', { name: 'Records of products' }).waitFor();
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 390, `${width}`);
  await view.close();
});
