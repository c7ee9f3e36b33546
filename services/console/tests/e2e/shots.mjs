// Draws each view, light and dark, at three widths, into build/shots: npm run shots -- NAME... draws the views whose names begin with
// NAME. GATEWAY_URL and OPERATOR_TOKEN name a running gateway.
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ADMIN, Browser, fill, GATEWAY, Project } from './harness.mjs';

const OUT = process.env.SHOTS_OUT ?? fileURLToPath(new URL('../../../../build/shots', import.meta.url));
const WIDTHS = { narrow: [390, 844], wide: [1440, 900], large: [2200, 1300] };
const SCHEMES = ['light', 'dark'];

/** Views by name: the address below the project (a path with / stands below /console), and the action before the picture. */
const VIEWS = {
  'sign-in': { path: '', isSignedOut: true },
  chooser: { path: '/', isSignedOut: true },
  home: { path: '' },
  palette: { path: '', then: (page) => page.keyboard.press('Control+k') },
  records: { path: 'data/products' },
  record: { path: 'data/products/2' },
  'record-rights': { path: 'data/products/2?tab=rights' },
  'record-history': { path: 'data/products/2?tab=history' },
  import: { path: 'data/products/import' },
  model: { path: 'model' },
  entity: { path: 'model/products' },
  users: { path: 'users' },
  user: { path: 'users/2' },
  roles: { path: 'roles' },
  role: { path: 'roles/3' },
  groups: { path: 'groups' },
  group: { path: 'groups/1' },
  keys: { path: 'keys' },
  explain: { path: 'explain?path=/entities/products/items/2&user=2' },
  profile: { path: 'profile' },
  workflows: { path: 'workflows' },
  workflow: { path: 'workflows/1' },
  'workflow-run': { path: 'workflows/1?run=1' },
  'workflow-step': { path: 'workflows/1', then: (page) => page.locator('[data-step="call"]').click() },
  jobs: { path: 'jobs' },
  job: { path: 'jobs/1' },
  secrets: { path: 'secrets' },
  secret: { path: 'secrets/SHOP_KEY' },
  search: { path: 'search' },
  'search-try': { path: 'search/try?q=product' },
  audit: { path: 'audit' },
  docs: { path: 'docs' },
  operation: { path: 'docs/create_products' },
  settings: { path: 'settings' },
  'settings-keys': { path: 'settings/keys' },
  'settings-danger': { path: 'settings/danger' },
  refused: { path: 'settings', email: 'ana@example.com' },
  unknown: { path: 'nothing-here' },
  'page-sign-in': { url: (project) => `${project.base}/auth/ui/`, isSignedOut: true },
  'page-recovery': { url: (project) => `${project.base}/auth/ui/?view=recover`, isSignedOut: true },
};

/** Adds people, a workflow with failed jobs, secrets, charts and a chart's board to the project. */
async function furnish(project) {
  await project.user('ana@example.com', ['svc_entities:read', 'products:read', 'products:update'], [{ entity: 'products', action: 'read', fields: ['name', 'price', 'stock'] }]);
  await project.api('POST', '/users', { email: 'bo@example.com', send_invite: false, password: 'correct horse battery staple' });
  await project.api('POST', '/groups', { name: 'Warehouse', description: 'Counts the stock' });
  await project.api('POST', '/api-keys', { name: 'Shop', permissions: ['products:read'] });
  await project.api('POST', '/secrets', { name: 'SHOP_KEY', value: 'hidden', allowed_hosts: ['api.example.com'] });
  const workflow = await project.api('POST', '/workflows', {
    name: 'Tell the shop', trigger: { kind: 'event', event: 'EntityCreated', entity: 'products' },
    steps: [
      { key: 'big', action: 'Condition', params: { field: '$svc.trigger.data.stock', op: 'gt', value: 10 }, then: 'call', else: 'log' },
      { key: 'call', name: 'Call the shop', action: 'CallAnApi', params: { url: 'http://127.0.0.1:1/none', method: 'POST', headers: { Authorization: '{{ $svc.secrets.SHOP_KEY }}' } }, on_failure: 'log' },
      { key: 'log', action: 'CreateData', params: { entity: 'tags', values: { label: '{{ $svc.trigger.data.name }}' } } },
    ],
  });
  const nightly = await project.api('POST', '/workflows', {
    name: 'Nightly report', trigger: { kind: 'timed', cron: '0 2 * * *', timezone: 'Europe/Paris' },
    steps: [{ key: 'send', action: 'CallAnApi', params: { url: 'http://127.0.0.1:1/none', method: 'GET' } }],
  });
  for (let at = 0; at < 2; at++) await project.api('POST', `/workflows/${nightly.id}/trigger`, {});
  for (const stock of [20, 1, 30]) await project.api('POST', `/workflows/${workflow.id}/trigger`, { name: 'Chair', stock });
  const chart = async (name, body) => (await project.api('POST', '/charts', { name, entity: 'products', aggregates: [{ function: 'count' }], ...body })).id;
  const charts = [
    await chart('Stock', { kind: 'metric', aggregates: [{ function: 'sum', field: 'stock' }] }),
    await chart('By state', { kind: 'bar', group_by: [{ field: 'status' }] }),
    await chart('Authors', { kind: 'pie', group_by: [{ field: 'author.name' }] }),
  ];
  const board = await project.api('POST', '/dashboards', { name: 'Shop' });
  for (const chart_id of charts) await project.api('POST', `/dashboards/${board.id}/widgets`, { kind: 'chart', chart_id });
  await project.api('PUT', '/dashboards/home', { scope: 'project', dashboard_id: board.id });
  await project.api('PUT', '/entities/products/items/2', { name: 'A chair' });
}

/** Draws one view in a page that is open. */
async function draw(view, file, { path, url, then }) {
  const { page, owner } = view;
  await page.goto(url ? url(owner.project) : owner.address(path));
  await page.locator('h1').first().waitFor();
  await page.locator('.skeleton').first().waitFor({ state: 'detached' });
  await then?.(page);
  await page.waitForTimeout(400);
  await page.screenshot({ path: `${OUT}/${file}.png` });
}

/** Draws views with one theme and width. One page shows all views of the administrator. */
async function drawAll(browser, names, scheme, width) {
  const [pixels, height] = WIDTHS[width];
  const open = (email) => browser.open({ email, scheme, width: pixels, height });
  const own = await open(ADMIN);
  for (const name of names) {
    const { email, isSignedOut } = VIEWS[name];
    const view = email || isSignedOut ? await open(email) : own;
    const before = view.faults.length;
    await draw(view, `${name}-${scheme}-${width}`, VIEWS[name]).catch((error) => view.faults.push(error.message));
    for (const fault of view.faults.slice(before)) console.log(`  ${name}, ${scheme}, ${width}: ${fault}`);
    if (view !== own) await view.page.context().close();
  }
  await own.page.context().close();
}

const names = Object.keys(VIEWS).filter((name) => process.argv.length < 3 || process.argv.slice(2).some((each) => name.startsWith(each)));
mkdirSync(OUT, { recursive: true });
const project = await Project.create();
await fill(project);
await furnish(project);
process.env.CONSOLE_URL ??= GATEWAY;
const browser = await Browser.start(project);
for (const scheme of SCHEMES) {
  for (const width of Object.keys(WIDTHS)) {
    console.log(`${scheme}, ${width}: ${names.length} views`);
    await drawAll(browser, names, scheme, width);
  }
}
await browser.stop();
await project.remove();
console.log(`The pictures are in ${OUT}.`);
