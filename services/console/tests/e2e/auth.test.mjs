// The page for a project's users: each way to sign in, each link of a mail, the way back to the application, refusals.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { Browser, call, canary, GATEWAY, PASSWORD, Project } from './harness.mjs';
import { startIssuer } from './issuer.mjs';

const MAIL = process.env.MAIL_URL;
const ISSUER_PORT = Number(process.env.ISSUER_PORT ?? 0);
const APP = 'https://app.example.com';
const BACK = `${APP}/signed-in?from=page`;
const NEW_PASSWORD = 'another horse battery';
const NAME = canary('Shop');
const noMail = MAIL ? false : 'MAIL_URL is not set';

let project;
let browser;
let count = 0;
before(async () => {
  process.env.CONSOLE_URL = GATEWAY; // this page comes from the gateway itself
  project = await Project.create();
  await project.api('PUT', '/', { name: NAME, settings: { redirect_urls: [BACK], accent_color: '#ffd000' } });
  browser = await Browser.start(project);
});
after(async () => {
  await browser?.stop();
  await project?.remove();
});

const pageUrl = (query = '') => `${project.base}/auth/ui/${query}`;
const newEmail = () => `user${++count}.${project.id}@people.example`;

async function newUser(body = { password: PASSWORD }) {
  const email = newEmail();
  return { email, ...(await project.api('POST', '/users', { email, ...body })) };
}

/** Opens the page. The application's page is an empty one, which no server sends. */
async function open(url = pageUrl(), options = {}) {
  const view = await browser.open({ url: 'about:blank', ...options });
  view.partners.push(APP, ...(ISSUER_PORT ? [`http://127.0.0.1:${ISSUER_PORT}`] : []));
  await view.page.route(`${APP}/**`, (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html><link rel="icon" href="data:,"><title>app</title>' }));
  await view.page.goto(url);
  return view;
}

/** The link of the newest mail to an address. */
async function linkTo(email, number = 1) {
  for (let tries = 0; tries < 300; tries++) {
    const mails = await (await fetch(`${MAIL}/mails?to=${encodeURIComponent(email)}`)).json();
    if (mails.length >= number) return (await (await fetch(`${MAIL}/mails/${mails[0].id}`)).json()).links[0];
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  assert.fail(`no mail to ${email}`);
}

const heading = (view, name) => view.page.getByRole('heading', { name }).waitFor();
const press = (view, name) => view.page.getByRole('button', { name }).click();

async function fillSignIn(view, email, password = PASSWORD) {
  await view.page.getByLabel('E-mail address').fill(email);
  await view.page.getByLabel('Password', { exact: true }).fill(password);
  await view.page.keyboard.press('Enter');
}

/** Waits for the application's page and gets the session that its address hands over. */
async function arrive(view, verifier, expected = [200]) {
  await view.page.waitForURL(`${APP}/**`);
  const address = new URL(view.page.url());
  assert.equal(address.searchParams.get('from'), 'page');
  const body = { code: address.searchParams.get('code'), state: address.searchParams.get('state'), code_verifier: verifier };
  return call(project.base, undefined, 'POST', '/auth/v1/google/callback', body, expected);
}

function pkce() {
  const verifier = randomBytes(32).toString('base64url');
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  return { verifier, query: `?${new URLSearchParams({ redirect_to: BACK, code_challenge: challenge })}` };
}

test('a password signs in, by keyboard, and a wrong one is refused in the words of the service', async () => {
  const { email } = await newUser();
  for (const options of [{}, { scheme: 'dark' }, { width: 390, height: 844 }]) {
    const view = await open(pageUrl(), { ...options, expects: [401] });
    await heading(view, `Sign in to ${NAME}`);
    assert.equal(await view.page.evaluate(() => document.activeElement.id), 'username');
    await view.axe(`sign-in ${JSON.stringify(options)}`);
    await fillSignIn(view, email, 'wrong wrong wrong');
    await view.page.getByRole('alert').getByText('The e-mail address or the password is wrong.').waitFor();
    await fillSignIn(view, email);
    await heading(view, 'You are signed in');
    await view.page.getByText(`Signed in as ${email}.`).waitFor();
    await view.axe('signed in');
    assert.ok((await view.page.evaluate(() => document.documentElement.scrollWidth)) <= (options.width ?? 1440));
    assert.deepEqual(await view.page.evaluate(() => [Object.keys(localStorage), Object.keys(sessionStorage), document.cookie]), [[], [], '']);
    await press(view, 'Sign out');
    await heading(view, 'You are signed out');
    await view.close();
  }
});

test('the page continues to the application, which redeems the code once, with its verifier', async () => {
  const { email } = await newUser();
  const { verifier, query } = pkce();
  const view = await open(pageUrl(query));
  await view.page.getByText('You continue to app.example.com.').waitFor();
  await fillSignIn(view, email);
  await view.page.waitForURL(`${APP}/**`);
  assert.ok(!view.page.url().includes('token'));
  assert.equal(await view.page.evaluate(() => document.referrer), '');
  const tokens = await arrive(view, verifier);
  assert.equal(tokens.user.email, email);
  await arrive(view, verifier, [400]);
  await call(project.base, tokens.access_token, 'GET', '/auth/v1/user');
  await view.page.goBack().catch(() => undefined); // the page with the form is not in the history
  assert.ok(!view.page.url().includes('/auth/ui/'));
  await view.close();
});

test('an address that the project does not list is refused before anything is typed', async () => {
  for (const bad of ['https://evil.example/', `${APP}.evil.example/signed-in?from=page`, 'javascript:window.canary=3', 'data:text/html,x', '//evil.example', BACK.replace('?', '#?')]) {
    const view = await open(pageUrl(`?redirect_to=${encodeURIComponent(bad)}`), { expects: [400] });
    await heading(view, 'This page cannot be used');
    await view.page.getByRole('alert').getByText("redirect_to must be one of the project's redirect_urls.").waitFor();
    assert.equal(await view.page.getByRole('textbox').count(), 0);
    await view.close();
  }
});

test('an invitation sets a password; its address does not stay in the bar, and its link works once', { skip: noMail }, async () => {
  const { email } = await newUser({ send_invite: true });
  const link = await linkTo(email);
  assert.ok(link.startsWith(`${pageUrl()}#type=invite&token=`), link);
  const view = await open(link, { expects: [400, 401] });
  await heading(view, 'Accept the invitation');
  assert.equal(view.page.url(), pageUrl());
  await view.page.reload();
  await view.axe('invitation');
  await view.page.getByLabel('New password').fill('short');
  await press(view, 'Save the password');
  assert.ok(!view.calls.some((each) => each.path === '/auth/v1/verify'), 'the browser has stopped the short password');
  await view.page.getByLabel('New password').fill(NEW_PASSWORD);
  await press(view, 'Show password');
  assert.equal(await view.page.getByLabel('New password').getAttribute('autocomplete'), 'new-password');
  await press(view, 'Save the password');
  await view.page.getByText(`Signed in as ${email}.`).waitFor();
  await view.page.goto('about:blank');
  await view.page.goto(link);
  await view.page.getByLabel('New password').fill(NEW_PASSWORD);
  await press(view, 'Save the password');
  await view.page.getByText('This link is unknown, was used or is too old.').waitFor();
  await view.axe('used link');
  await press(view, 'Send a new link');
  await view.page.getByLabel('E-mail address').fill(email);
  await press(view, 'Send the link');
  await heading(view, 'Look into your mailbox');
  assert.match(await linkTo(email, 2), /#type=recovery&token=/);
  await view.close();
});

test('a scanner that opens a link, and runs its scripts, does not use it up', { skip: noMail }, async () => {
  const { email } = await newUser();
  await call(project.base, undefined, 'POST', '/auth/v1/magic-link', { email });
  const link = await linkTo(email);
  const scanner = await open(link);
  await scanner.page.getByRole('button', { name: 'Sign in' }).waitFor();
  await scanner.close();
  const view = await open(link);
  await press(view, 'Sign in');
  await view.page.getByText(`Signed in as ${email}.`).waitFor();
  await view.close();
});

test('recovery asks for the address, says the same of unknown ones, and continues to the application', { skip: noMail }, async () => {
  const { email } = await newUser();
  const { verifier, query } = pkce();
  const view = await open(pageUrl(query));
  await press(view, 'Forgot the password?');
  await view.axe('recovery');
  const said = [];
  for (const each of ['nobody@people.example', email]) {
    await view.page.getByLabel('E-mail address').fill(each);
    await press(view, 'Send the link');
    await heading(view, 'Look into your mailbox');
    said.push((await view.page.locator('main').innerText()).replaceAll(each, 'X'));
    await view.axe('mail sent');
    if (each !== email) {
      await press(view, 'Back to sign-in');
      await press(view, 'Forgot the password?');
    }
  }
  assert.equal(said[0], said[1]);
  await view.page.goto(await linkTo(email));
  await view.page.getByLabel('New password').fill(NEW_PASSWORD);
  await press(view, 'Save the password');
  assert.equal((await arrive(view, verifier)).user.email, email);
  await view.close();
  await call(project.base, undefined, 'POST', '/auth/v1/token', { email, password: NEW_PASSWORD });
});

test('a magic link from the page signs in', { skip: noMail }, async () => {
  const { email } = await newUser();
  const view = await open();
  await press(view, 'Send a link by e-mail instead');
  await view.page.getByLabel('E-mail address').fill(email);
  await press(view, 'Send the link');
  await view.page.goto(await linkTo(email));
  await press(view, 'Sign in');
  await view.page.getByText(`Signed in as ${email}.`).waitFor();
  await view.close();
});

test('a confirmation confirms', { skip: noMail }, async () => {
  const user = await newUser();
  await project.api('PUT', `/users/${user.id}`, { status: 'unconfirmed' });
  await project.api('POST', `/users/${user.id}/send-confirmation`);
  const view = await open(await linkTo(user.email));
  await heading(view, 'Confirm your e-mail address');
  await view.axe('confirmation');
  await press(view, 'Confirm');
  await view.page.getByText(`Signed in as ${user.email}.`).waitFor();
  await view.close();
});

test('a change of address is asked for, and confirmed from both addresses', { skip: noMail }, async () => {
  const { email } = await newUser();
  const changed = newEmail();
  const view = await open();
  await fillSignIn(view, email);
  await press(view, 'Change e-mail address');
  await view.axe('change of address');
  view.expects.push(400);
  await view.page.getByLabel('New e-mail address').fill(changed);
  await view.page.getByLabel('Your password').fill('wrong wrong wrong');
  await press(view, 'Change e-mail address');
  await view.page.getByText('is not the current password').waitFor();
  assert.equal(await view.page.evaluate(() => document.activeElement.id), 'current-password');
  await view.page.getByLabel('Your password').fill(PASSWORD);
  await press(view, 'Change e-mail address');
  await view.page.getByText(`A mail is on its way to your address and to ${changed}.`).waitFor();
  for (const [address, text] of [[changed, 'This address has confirmed the change.'], [email, `The address of the account is now ${changed}.`]]) {
    await view.page.goto('about:blank');
    await view.page.goto(await linkTo(address));
    await press(view, 'Confirm');
    await view.page.getByText(text).waitFor();
  }
  await view.axe('changed address');
  await view.close();
});

test('the token of another project opens nothing here', { skip: noMail }, async () => {
  const other = await Project.create();
  try {
    const email = newEmail();
    await other.api('POST', '/users', { email, password: PASSWORD });
    await call(other.base, undefined, 'POST', '/auth/v1/magic-link', { email });
    const link = await linkTo(email);
    const view = await open(link.replace(other.base, project.base), { expects: [401] });
    await press(view, 'Sign in');
    await view.page.getByText('This link is unknown, was used or is too old.').waitFor();
    await view.close();
  } finally {
    await other.remove();
  }
});

test('a link of a mail works without an address that anyone put into it', { skip: noMail }, async () => {
  const { email } = await newUser();
  await call(project.base, undefined, 'POST', '/auth/v1/magic-link', { email, redirect_to: pageUrl(`?redirect_to=${encodeURIComponent('https://evil.example/')}`) });
  const view = await open(await linkTo(email), { expects: [400] });
  await press(view, 'Sign in');
  await view.page.getByText(`Signed in as ${email}.`).waitFor();
  assert.ok(view.page.url().startsWith(pageUrl()));
  await view.close();
});

test('the identity provider returns to the page, which continues; a refusal leads back to the form', { skip: ISSUER_PORT ? false : 'ISSUER_PORT is not set' }, async () => {
  const email = newEmail();
  const issuer = await startIssuer(ISSUER_PORT, email);
  try {
    await project.api('PUT', '/', { settings: { oidc_issuer: issuer.issuer, oidc_client_id: 'client', oidc_client_secret: 'secret', sign_up: true } });
    const { verifier, query } = pkce();
    const view = await open(pageUrl(query), { expects: [403] });
    issuer.refuses = true;
    await press(view, /^Sign in or sign up with 127/);
    await view.page.getByText('Access was not granted at the provider (access_denied)').waitFor();
    await view.axe('refused by the provider');
    issuer.refuses = false;
    await press(view, /^Sign in or sign up with 127/);
    assert.equal((await arrive(view, verifier)).user.email, email);
    await view.page.goto(pageUrl('?code=stolen&state=stolen'));
    await view.page.getByText('This sign-in was started in another tab or has ended. Start again.').waitFor();
    await view.close();
  } finally {
    await project.api('PUT', '/', { settings: { oidc_issuer: null } });
    issuer.closeAllConnections();
    issuer.close();
  }
});

test('no page may frame this page', async () => {
  const view = await browser.open({ url: 'about:blank' });
  const { page } = view;
  await page.route(`${APP}/**`, (route) => route.fulfill({ contentType: 'text/html', body: `<!doctype html><link rel="icon" href="data:,"><iframe src="${pageUrl()}"></iframe>` }));
  view.partners.push(APP);
  await page.goto(`${APP}/frame`);
  await page.waitForTimeout(1000);
  assert.equal(await page.frameLocator('iframe').getByRole('heading').count(), 0);
  await page.context().close();
});
