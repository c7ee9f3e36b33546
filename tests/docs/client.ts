// Works like an application, fully typed with the types that openapi-typescript generates from both documents:
// a wrong member or path in the documents is a compile error.
import createClient from 'openapi-fetch';
import type { paths as ModelPaths } from './generated/model.js';
import type { paths as PlatformPaths } from './generated/platform.js';

const [baseUrl = '', email = '', password = ''] = process.argv.slice(2);

function need<T>(what: string, answer: { data?: T; error?: unknown; response: Response }): T {
    if (answer.error !== undefined || answer.data === undefined)
        throw new Error(`${what}: ${answer.response.status} ${JSON.stringify(answer.error)}`);
    return answer.data;
}

function expect(what: string, right: boolean): void {
    if (!right)
        throw new Error(`unexpected: ${what}`);
}

const platform = createClient<PlatformPaths>({ baseUrl });
const session = need('sign in', await platform.POST('/auth/v1/token', { body: { email, password } }));
const headers = { Authorization: `Bearer ${session.access_token}` };
const me = need('me', await platform.GET('/users/me', { headers }));
expect('the account', me.email === email);

const model = createClient<ModelPaths>({ baseUrl, headers });
const author = need('author', await model.POST('/entities/authors/items', { body: { name: 'Octavia E. Butler' } }));
const book = need(
    'create',
    await model.POST('/entities/books/items', {
        body: { title: 'Kindred', author: author.id, price: 13.5, in_stock: true, published: '1979-06-01' },
    }),
);
expect('the id', Number.isInteger(book.id) && book.title === 'Kindred');

const path = { id: book.id };
const list = need(
    'list',
    await model.GET('/entities/books/items', {
        params: { query: { filter: { title: 'Kindred' }, sort: '-price', limit: 5 } },
    }),
);
expect('the list', list.total_items === 1 && list.items[0]?.id === book.id && !list.has_next_page);

const one = need('get', await model.GET('/entities/books/items/{id}', { params: { path } }));
expect('the record', one.price === 13.5 && one.published === '1979-06-01');
const changed = need('update', await model.PUT('/entities/books/items/{id}', { params: { path }, body: { price: 11 } }));
expect('the new price', changed.price === 11 && changed.title === 'Kindred');

const removed = await model.DELETE('/entities/books/items/{id}', { params: { path } });
expect('204', removed.response.status === 204);
const gone = await model.GET('/entities/books/items/{id}', { params: { path } });
expect('404 with a code', gone.response.status === 404 && gone.error?.code === 'not_found');
console.log('client: all right');
