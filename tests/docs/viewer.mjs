// viewer.mjs BASE_URL EMAIL PASSWORD: uses GET /docs/ui like a person would, in a simulated browser.
import { JSDOM, VirtualConsole } from 'jsdom';

const [base, email, password] = process.argv.slice(2);
const troubles = [];
const quiet = new VirtualConsole();
quiet.on('jsdomError', (error) => troubles.push(String(error.detail?.stack ?? error.stack ?? error)));

const { window } = await JSDOM.fromURL(`${base}/docs/ui`, {
    runScripts: 'dangerously',
    resources: 'usable',
    pretendToBeVisual: true,
    virtualConsole: quiet,
    beforeParse(page) {
        page.fetch = (url, options) => fetch(new URL(url, page.location.href), options && { ...options, credentials: undefined });
        Object.assign(page, { Headers, Request, Response, structuredClone, TextEncoder, TextDecoder });
        page.matchMedia = () => ({ matches: false, addListener() {}, addEventListener() {} });
        page.scrollTo = () => {};
    },
});
const { document } = window;
const byId = (id) => document.getElementById(id);
const all = (selector) => [...document.querySelectorAll(selector)];

async function until(what, found) {
    for (let i = 0; i < 1200; i++) {
        if (found())
            return;
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`never: ${what}\n${troubles.join('\n').slice(0, 2000)}`);
}

function signIn(word) {
    byId('email').value = email;
    byId('password').value = word;
    byId('sign-in').dispatchEvent(new window.Event('submit', { cancelable: true, bubbles: true }));
}

await new Promise((resolve) => window.addEventListener('load', resolve));
signIn('not the password');
await until('a refusal', () => byId('problem').textContent !== '');
signIn(password);
await until('the data model', () => !byId('bar').hidden && all('.opblock-tag').some((tag) => tag.textContent.includes('books')));
all('#documents button')[1].click();
await until('the platform', () => all('.opblock-tag').some((tag) => tag.textContent.includes('Users')));
all('.opblock-tag').find((tag) => tag.textContent.includes('Users')).click();
const operation = '#operations-Users-users_me';
await until('its operations', () => all(operation).length);
all(`${operation} .opblock-summary-control`)[0].click();
await until('try it out', () => all(`${operation} .execute`).length);
all(`${operation} .execute`)[0].click();
const status = `${operation} .live-responses-table tbody .response-col_status`;
await until('an answer', () => all(status).length);
if (!all(status)[0].textContent.startsWith('200'))
    throw new Error(`try it out answered ${all(status)[0].textContent}`);
byId('sign-out').click();
await until('the form again', () => byId('bar').hidden && byId('viewer').textContent === '');
if (troubles.length)
    throw new Error(troubles.join('\n'));
console.log('viewer: all right');
process.exit(0);
