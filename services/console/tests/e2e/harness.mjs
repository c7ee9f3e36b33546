// Helpers of all end-to-end tests: a project with hostile data, a browser, and checks that hold on every page.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { serve } from './server.mjs';

const need = (name) => process.env[name] ?? assert.fail(`${name} is not set`);
export const GATEWAY = process.env.GATEWAY_URL ?? 'http://127.0.0.1:8080';
const TOKEN = need('OPERATOR_TOKEN');
const OUT = process.env.CONSOLE_OUT ?? fileURLToPath(new URL('../../../../build/console', import.meta.url));
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
export const PASSWORD = 'correct horse battery staple';
// The shell is Chromium without the windows of a browser, which take more time of a processor than the page.
const CHROMIUM = process.env.CHROMIUM ?? ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path));
// Root runs Chromium without its sandbox. Chromium's own connections to its maker would slow a start in a closed network.
const CHROMIUM_OPTIONS = ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'];
export const ADMIN = 'admin@console.example';
export const WAIT_MS = Number(process.env.WAIT_MS ?? 30_000);

/** Texts that do harm where a page takes them for more than text. */
export const CANARY = '<img src=x onerror="window.canary=1">{{7*7}}\u202Ejavascript:window.canary=2';
export const canary = (text) => `${text} ${CANARY}`;

// --- the API ---

export async function call(base, token, method, path, body, expected = [200, 201, 202, 204], tries = 10) {
  const isForm = body instanceof FormData;
  const response = await fetch(base + path, {
    method,
    headers: { ...(token ? { Authorization: `Bearer ${token}` } : {}), ...(body && !isForm ? { 'Content-Type': 'application/json' } : {}) },
    body: isForm ? body : body && JSON.stringify(body),
  });
  // A busy machine has no free connection to the database for a while.
  if (response.status === 503 && tries > 0) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    return call(base, token, method, path, body, expected, tries - 1);
  }
  const text = await response.text();
  assert.ok(expected.includes(response.status), `${method} ${path}: ${response.status} ${text}`);
  return text ? JSON.parse(text) : undefined;
}

export class Project {
  constructor(id) {
    this.id = id;
    this.base = `${GATEWAY}/org/${id}`;
  }

  static async create() {
    const project = new Project(`console-${Date.now().toString(36)}`);
    await call(GATEWAY, TOKEN, 'POST', '/org', { project_id: project.id, name: canary('Console'), admin: { email: ADMIN, password: PASSWORD } });
    project.token = await project.signIn(ADMIN);
    // Tests sign in more often than a person does.
    await project.api('PUT', '/', { settings: { rate_sign_in_account: 10_000, rate_sign_in_address: 10_000 } });
    return project;
  }

  async signIn(email) {
    return (await call(this.base, undefined, 'POST', '/auth/v1/token', { email, password: PASSWORD })).access_token;
  }

  api(method, path, body, expected) {
    return call(this.base, this.token, method, path, body, expected);
  }

  async user(email, permissions, field_access = []) {
    const role = await this.api('POST', '/roles', { name: `<b>${email}</b>`, description: canary('Role'), api_access: true, permissions, field_access });
    return this.api('POST', '/users', { email, password: PASSWORD, role_ids: [role.id] });
  }

  remove() {
    return call(GATEWAY, TOKEN, 'DELETE', `/org/${this.id}?confirm=${this.id}`);
  }
}

export async function importLines(project, entity, lines) {
  const form = new FormData();
  form.set('file', new File([lines.map((line) => JSON.stringify(line)).join('\n')], 'rows.jsonl'));
  const { task_id } = await project.api('POST', `/entities/${entity}/items/import?format=jsonl`, form);
  const task = await project.api('GET', `/tasks/${task_id}`);
  assert.equal(task.failed, 0, JSON.stringify(task.errors.slice(0, 3)));
}

/** A model with every type of field, and records whose texts are canaries. */
export async function fill(project) {
  await project.api('POST', '/enums', { name: 'status', values: ['open', 'paid', canary('odd')] });
  await project.api('POST', '/entities', { name: 'authors', label: canary('Authors'), fields: [{ name: 'name', type: 'varchar', required: true, searchable: true, options: { max_length: 250 } }] });
  await project.api('POST', '/entities', { name: 'tags', fields: [{ name: 'label', type: 'varchar' }] });
  await project.api('POST', '/entities', {
    name: 'products', history: true,
    fields: [
      { name: 'name', type: 'varchar', required: true, options: { max_length: 250 } },
      { name: 'sku', type: 'varchar', unique: true },
      { name: 'price', type: 'decimal', options: { min: 0 } },
      { name: 'stock', type: 'integer' },
      { name: 'in_stock', type: 'bool' },
      { name: 'status', type: 'enum', options: { enum: 'status' } },
      { name: 'released', type: 'date' },
      { name: 'seen', type: 'datetime' },
      { name: 'author', type: 'relation', options: { entity: 'authors', on_delete: 'set_null' } },
      { name: 'tags', type: 'relation', options: { entity: 'tags', many: true } },
      { name: 'image', type: 'file' },
      { name: 'meta', type: 'json' },
      { name: 'token', type: 'secret' },
      { name: 'note', type: 'text' },
    ],
  });
  await importLines(project, 'authors', ['Ana', 'Bo', 'Cy'].map((name) => ({ name: canary(name) })));
  await importLines(project, 'tags', [{ label: canary('red') }, { label: 'blue' }]);
  await importLines(project, 'products', Array.from({ length: 40 }, (_, at) => ({
    name: at % 10 === 0 ? canary(`Product ${at}`) : `Product ${at}`, sku: `S-${String(at).padStart(3, '0')}`, price: `${at}.90`, stock: at, in_stock: at % 2 === 0,
    status: at % 3 === 0 ? 'open' : 'paid', released: '2026-01-31', seen: '2026-01-31T12:00:00.000Z', author: (at % 3) + 1, tags: [1], meta: { note: CANARY },
    note: CANARY.repeat(10),
  })));
}

/** Asks again and again until the check's answer is true, and returns the answer. */
export async function until(check, message) {
  for (const end = Date.now() + WAIT_MS; Date.now() < end; ) {
    const found = await check();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  assert.fail(message);
}

// --- the browser ---

export class Browser {
  static async start(project) {
    const own = new Browser();
    own.project = project;
    own.server = process.env.CONSOLE_URL ? undefined : serve(GATEWAY, OUT);
    if (own.server) await new Promise((resolve) => own.server.listen(0, '127.0.0.1', resolve));
    own.origin = process.env.CONSOLE_URL ?? `http://127.0.0.1:${own.server.address().port}`;
    own.browser = await chromium.launch({ executablePath: CHROMIUM, args: CHROMIUM_OPTIONS });
    return own;
  }

  async stop() {
    await this.browser.close();
    this.server?.closeAllConnections();
    this.server?.close();
  }

  /** A page in a context of its own, signed in as a user; without a user it shows the sign-in. */
  async open({ email, path = '', url = this.address(path), width = 1440, height = 900, scheme = 'light', expects = [], ...options } = {}) {
    const context = await this.browser.newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: 'reduce', hasTouch: width < 640, ...options });
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: this.origin });
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    page.setDefaultNavigationTimeout(4 * WAIT_MS);
    const view = new View(this, page, expects);
    await view.watch();
    await page.goto(url);
    if (email) await view.signIn(email);
    return view;
  }

  address(path) {
    return `${this.origin}/console/${path.startsWith('/') ? path.slice(1) : `${this.project.id}${path ? `/${path}` : ''}`}`;
  }
}

/** A page with the checks that always hold: no error, no violation of the policy, no foreign request, no unknown call. */
export class View {
  constructor(owner, page, expects) {
    this.owner = owner;
    this.page = page;
    this.expects = expects;
    this.faults = [];
    this.calls = [];
    this.partners = [];
  }

  async watch() {
    const { page } = this;
    await page.exposeFunction('reportViolation', (text) => this.faults.push(`policy: ${text}`));
    await page.addInitScript(() => {
      addEventListener('securitypolicyviolation', (event) => window.reportViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
    });
    page.on('console', (message) => {
      if (message.type() !== 'error' && message.type() !== 'warning') return;
      const status = /status of (\d+)/.exec(message.text())?.[1];
      if (!status || !this.expects.includes(Number(status))) this.faults.push(`console: ${message.text()} ${message.location().url}`);
    });
    page.on('pageerror', (error) => this.faults.push(`page: ${error.stack}`));
    page.on('request', (request) => this.checkRequest(request));
  }

  checkRequest(request) {
    const url = new URL(request.url());
    if (url.protocol === 'blob:' || url.protocol === 'data:') return;
    if (this.partners.includes(url.origin)) return;
    if (url.origin !== this.owner.origin) return void this.faults.push(`foreign request: ${request.url()}`);
    const path = new RegExp(`^/org/${this.owner.project.id}(/.*)$`).exec(url.pathname)?.[1];
    if (!path || path.startsWith('/auth/ui')) return;
    this.calls.push({ method: request.method(), path, query: url.searchParams });
  }

  async signIn(email) {
    const { page } = this;
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('#main').locator('h1, [role=dialog]').first().waitFor();
  }

  async go(path) {
    await this.page.goto(this.owner.address(path));
  }

  /** Opens another view as a link of the page does, without loading the page again. */
  async follow(path) {
    await this.page.evaluate((href) => {
      const link = Object.assign(document.createElement('a'), { href });
      document.querySelector('#main').append(link);
      link.click();
      link.remove();
    }, this.owner.address(path));
  }

  grid() {
    return this.page.getByRole('grid');
  }

  cell(row, column) {
    return this.page.locator(`[role=row][aria-rowindex="${row + 2}"] [role=gridcell]`).nth(column);
  }

  async axe(name) {
    await this.page.evaluate(AXE);
    const found = await this.page.evaluate(() => window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }));
    const texts = found.violations.map((each) => `${each.id}: ${each.nodes.slice(0, 3).map((node) => `${node.target.join(' ')} ${node.failureSummary}`).join('; ')}`);
    assert.deepEqual(texts, [], `axe on ${name}`);
  }

  /** Ends the page and reports all faults of it. */
  async close() {
    assert.equal(await this.page.evaluate(() => window.canary), undefined, 'a canary has run');
    await this.page.context().close();
    assert.deepEqual([...new Set(this.faults)], []);
    checkCalls(await documents(this.owner.project), this.calls);
  }
}

// --- the tasks ---

/** Counts the steps of a task: a click, a chord, a typed value, a drawn line or a dropped file is one step. */
export class Steps {
  count = 0;

  constructor(page) {
    this.page = page;
  }

  async chord(keys) {
    this.count++;
    for (const key of keys.split(' ')) await this.page.keyboard.press(key);
  }

  async click(locator) {
    this.count++;
    await locator.click();
  }

  /** Types into the field of the locator, or where the focus is. */
  async type(text, locator) {
    this.count++;
    if (!locator) return this.page.keyboard.type(text);
    await locator.fill(text);
    await locator.dispatchEvent('change');
  }

  async drop(locator, name, text) {
    this.count++;
    const dataTransfer = await this.page.evaluateHandle(([name, text]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([text], name));
      return transfer;
    }, [name, text]);
    for (const event of ['dragover', 'drop']) await locator.dispatchEvent(event, { dataTransfer });
  }

  /** A step of another kind. */
  async take(work) {
    this.count++;
    await work();
  }

  atMost(limit) {
    assert.ok(this.count <= limit, `${this.count} steps`);
  }
}

// --- the documents of the API ---

const known = new Map();

async function documents(project) {
  if (!known.has(project.id)) known.set(project.id, project.api('GET', '/docs'));
  return known.get(project.id);
}

function operations(document) {
  return Object.entries(document.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => ({
    method: method.toUpperCase(),
    form: new RegExp(`^${path.replace(/\{[^}]+\}/g, '[^/]+')}$`),
    parameters: [...(operation.parameters ?? []), ...(methods.parameters ?? [])].map((each) => (each.$ref ? each.$ref.split('/').pop() : each.name)),
  })));
}

/** Each call of the console is a call of the documents, with parameters that the documents name. */
function checkCalls({ module_documentation, data_model_documentation }, calls) {
  const all = [module_documentation.platform, data_model_documentation].flatMap(operations);
  const unknown = new Set();
  for (const { method, path, query } of calls) {
    const found = all.filter((operation) => operation.method === method && operation.form.test(path));
    const names = [...new Set([...query.keys()].map((name) => name.replace(/\[.*/, '')))];
    const fits = found.some((operation) => names.every((name) => operation.parameters.some((each) => each === name || each.startsWith(`${name}[`))));
    if (!fits) unknown.add(`${method} ${path} ${names.join(',')}`);
  }
  assert.deepEqual([...unknown], [], 'calls that the documents do not name');
}
