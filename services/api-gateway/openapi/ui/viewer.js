// Signs in, reads GET /docs and shows either document. The session lives in this page's memory alone:
// nothing is stored, and closing or reloading the page forgets it.
'use strict';

(() => {
    const base = location.origin + location.pathname.replace(/\/docs\/ui$/, '');
    const element = (id) => document.getElementById(id);
    let session = null; // {access_token, refresh_token, expires_at}
    let refreshing = null; // the one refresh under way
    let documents = [];
    let shown = 0;

    async function post(path, body, headers) {
        const response = await fetch(base + path, {
            method: 'POST',
            headers: { 'Content-Type': 'application/json', ...headers },
            body: body && JSON.stringify(body),
            credentials: 'omit',
        });
        const answer = response.status === 204 ? null : await response.json();
        if (!response.ok)
            throw new Error((answer && answer.detail) || `The service answered ${response.status}.`);
        return answer;
    }

    function keep(tokens) {
        session = {
            access_token: tokens.access_token,
            refresh_token: tokens.refresh_token,
            ends: Date.now() + tokens.expires_in * 1000,
        };
    }

    // A token that is about to end is exchanged before it is used.
    async function token() {
        if (!session)
            throw new Error('You are signed out.');
        if (session.ends - Date.now() < 30000) {
            refreshing = refreshing || post('/auth/v1/refresh', { refresh_token: session.refresh_token });
            try {
                keep(await refreshing);
            } catch (error) {
                leave('Your session has ended; sign in again.');
                throw error;
            } finally {
                refreshing = null;
            }
        }
        return session.access_token;
    }

    // Swagger UI's requests carry the session, and only those that go to this project.
    async function sign(request) {
        const url = new URL(request.url, location.href).href;
        if (url === base || url.startsWith(base + '/'))
            request.headers = { ...request.headers, Authorization: `Bearer ${await token()}` };
        request.credentials = 'omit';
        return request;
    }

    function show(index) {
        shown = index;
        [...element('documents').children].forEach((tab, i) => tab.setAttribute('aria-current', String(i === index)));
        element('viewer').replaceChildren(document.createElement('div'));
        window.SwaggerUIBundle({
            domNode: element('viewer').firstChild,
            spec: documents[index],
            requestInterceptor: sign,
            validatorUrl: null,
            tryItOutEnabled: true,
            docExpansion: 'none',
            filter: true,
            persistAuthorization: false,
            presets: [window.SwaggerUIBundle.presets.apis],
            layout: 'BaseLayout',
        });
    }

    function tab(title, index) {
        const button = document.createElement('button');
        button.type = 'button';
        button.textContent = title;
        button.addEventListener('click', () => show(index));
        return button;
    }

    async function load() {
        const response = await fetch(`${base}/docs`, {
            headers: { Authorization: `Bearer ${await token()}` },
            credentials: 'omit',
        });
        const answer = await response.json();
        if (!response.ok)
            throw new Error(answer.detail || `The service answered ${response.status}.`);
        documents = [answer.data_model_documentation, ...Object.values(answer.module_documentation)];
        // The button "Try it out" calls the server of this page, not an address from the documents.
        for (const entry of documents)
            entry.servers = [{ url: base }];
        element('documents').replaceChildren(...documents.map((entry, i) => tab(entry.info.title, i)));
        show(Math.min(shown, documents.length - 1));
    }

    function leave(reason) {
        session = null;
        documents = [];
        element('viewer').replaceChildren();
        element('bar').hidden = true;
        element('sign-in').hidden = false;
        element('problem').textContent = reason || '';
    }

    async function enter(event) {
        event.preventDefault();
        element('problem').textContent = '';
        const email = element('email').value;
        try {
            keep(await post('/auth/v1/token', { email, password: element('password').value }));
            element('password').value = '';
            await load();
            element('account').textContent = email;
            element('sign-in').hidden = true;
            element('bar').hidden = false;
        } catch (error) {
            leave(error.message);
        }
    }

    async function signOut() {
        const ending = session;
        leave('');
        if (ending)
            await post('/auth/v1/logout', null, { Authorization: `Bearer ${ending.access_token}` }).catch(() => {});
    }

    element('project').textContent = decodeURIComponent(base.slice(base.lastIndexOf('/') + 1));
    element('sign-in').addEventListener('submit', enter);
    element('reload').addEventListener('click', () => load().catch((error) => leave(error.message)));
    element('sign-out').addEventListener('click', signOut);
})();
