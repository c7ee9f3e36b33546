// Measures what a user waits for, in Chromium: the sign-in page, and the rows of an entity of ROWS records. GATEWAY_URL and
// OPERATOR_TOKEN name a running gateway. Durations depend on the machine, so this is no test.
import { ADMIN, Browser, GATEWAY, importLines, Project } from './harness.mjs';

const ROWS = Number(process.env.ROWS ?? 100_000);
const LOADS = 15;
const CLICKS = 60;
const SLOWDOWN = 4;
const BATCH = 20_000;

const quantile = (values, share) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))];
const row = (name, values) => console.log(`${name.padEnd(58)} median ${quantile(values, 0.5).toFixed(0)} ms, p95 ${quantile(values, 0.95).toFixed(0)} ms, ${values.length} times`);

/** Milliseconds from the begin of the navigation to a frame in which the sign-in form can be used. The cache of the browser is empty. */
async function loadSignIn(browser) {
  const view = await browser.open({ url: 'about:blank' });
  const session = await view.page.context().newCDPSession(view.page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN });
  await view.page.addInitScript(() => {
    const check = () => {
      const button = document.querySelector('#main button[type=submit], form button[type=submit]');
      if (button && !button.disabled) window.usable = performance.now();
      else requestAnimationFrame(check);
    };
    requestAnimationFrame(check);
  });
  await view.page.goto(browser.address(''));
  await view.page.waitForFunction(() => window.usable);
  const taken = await view.page.evaluate(() => window.usable);
  await view.page.context().close();
  return taken;
}

/** Milliseconds from a click on an entity in the bar to a frame with rows of this entity. */
async function openEntity(page, name) {
  await page.evaluate((name) => {
    const link = [...document.querySelectorAll('nav a')].find((each) => each.getAttribute('href').endsWith(`/data/${name}`));
    window.shown = undefined;
    link.addEventListener('click', () => {
      const begin = performance.now();
      const check = () => {
        const cell = document.querySelector('[role=row][aria-rowindex="2"] [role=gridcell]:nth-child(3)');
        if (cell?.textContent.includes(name)) window.shown = performance.now() - begin;
        else requestAnimationFrame(check);
      };
      requestAnimationFrame(check);
    }, { once: true });
  }, name);
  await page.locator(`nav a[href$="/data/${name}"]`).click();
  await page.waitForFunction(() => window.shown);
  return page.evaluate(() => window.shown);
}

process.env.CONSOLE_URL ??= GATEWAY;
const project = await Project.create();
for (const entity of ['chairs', 'tables']) {
  await project.api('POST', '/entities', { name: entity, fields: [{ name: 'name', type: 'varchar' }, { name: 'price', type: 'decimal' }, { name: 'stock', type: 'integer' }, { name: 'note', type: 'text' }] });
  for (let from = 0; from < ROWS; from += BATCH) {
    await importLines(project, entity, Array.from({ length: Math.min(BATCH, ROWS - from) }, (_, at) => ({ name: `${entity} ${from + at}`, price: '9.50', stock: at, note: 'A longer text '.repeat(8) })));
  }
  console.log(`${ROWS} records of ${entity}`);
}
const browser = await Browser.start(project);
const loads = [];
for (let round = 0; round < LOADS; round++) loads.push(await loadSignIn(browser));
row(`cold load to a usable sign-in page, ${SLOWDOWN} x slowdown`, loads);
const view = await browser.open({ email: ADMIN });
const clicks = [];
for (let round = 0; round < CLICKS; round++) {
  clicks.push(await openEntity(view.page, round % 2 ? 'tables' : 'chairs'));
  await view.page.waitForTimeout(300);
}
row(`click on an entity of ${ROWS} records to rows on the screen`, clicks);
console.log(`first click, which loads the area: ${clicks[0].toFixed(0)} ms`);
await browser.stop();
await project.remove();
