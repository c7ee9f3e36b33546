// The short set of `make test`: each view opens for an administrator, without an error, and a change reaches the service.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN, Browser, fill, Project } from './harness.mjs';

const DESK = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
// The address of each view below the project, and its title.
const VIEWS = {
  '': 'Home',
  model: 'Model',
  users: 'Users',
  roles: 'Roles',
  groups: 'Groups',
  keys: 'API keys',
  explain: 'Who can see?',
  profile: 'Your profile',
  workflows: 'Workflows',
  jobs: 'Jobs',
  secrets: 'Secrets',
  search: 'Search',
  audit: 'Audit log',
  docs: 'Documentation',
  settings: 'Settings',
};
async function openView(view, path, title) {
  await view.follow(path);
  await view.page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor();
}

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

test('a user signs in, edits a cell, and every view opens in the dark and fits on a phone', async () => {
  const view = await browser.open({ email: ADMIN, path: 'data/products' });
  const { page } = view;
  await view.cell(1, 2).dblclick();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('Edited');
  await page.keyboard.press('Enter');
  await page.getByRole('gridcell', { name: 'Edited', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Undo' }).waitFor();
  assert.equal((await project.api('GET', '/entities/products/items/2')).name, 'Edited');
  await page.emulateMedia({ colorScheme: 'dark' });
  for (const [path, title] of Object.entries(VIEWS)) {
    await openView(view, path, title);
    await view.axe(title);
    await page.setViewportSize(PHONE);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= PHONE.width, `${title}: ${width}`);
    await page.setViewportSize(DESK);
  }
  await view.close();
});
