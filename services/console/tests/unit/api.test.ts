import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientText, curlText, filterObject, literal } from '../../src/api/describe.ts';
import { Drafts, pruneDrafts, type TextStore } from '../../src/api/drafts.ts';
import { canSort, filterBody, filterQuery, joinList, makeCondition, nextSort, operatorsOf, readCondition, readFilters } from '../../src/api/filters.ts';
import { Gateway, Problem, queryText } from '../../src/api/http.ts';
import { exactNumber, isSame, numberText, parseJson } from '../../src/api/json.ts';
import { canField, labelField, type Entity, type Field, type FieldType, type Me } from '../../src/api/model.ts';
import { backoffMs, EventReader } from '../../src/api/stream.ts';

const field = (name: string, type: FieldType, more: Partial<Field> = {}): Field => ({
  name, type, required: false, unique: false, indexed: false, default: null, options: {}, ...more,
});
const entity = (fields: Field[]): Entity => ({
  id: 1, name: 'products', label: null, row_level_security: true, public_read: false, searchable: true, history: false, fields,
});

test('numbers that a double cannot hold stay as they were written', () => {
  const text = '{"id":9007199254740993,"price":49.90,"count":3,"list":[1.0,2]}';
  const value = parseJson(text) as { id: never; price: never };
  assert.equal(JSON.stringify(value), text);
  assert.equal(numberText(value.id), '9007199254740993');
  assert.equal(numberText(value.price), '49.90');
  assert.equal(JSON.stringify(exactNumber('9007199254740993')), '9007199254740993');
  assert.equal(exactNumber('12'), 12);
  assert.ok(isSame(parseJson('49.90'), parseJson('49.90')) && !isSame(parseJson('49.90'), 49.9));
});

test('filters of an address are read and written in the form of the API', () => {
  const query = new URLSearchParams('filter[in_stock]=true&sort=-price&filter[price][gte]=10&filter[or][0][a]=1&filter[author.country]=BO');
  const conditions = readFilters(query);
  assert.deepEqual(conditions.map((each) => each.keys), [['in_stock'], ['price', 'gte'], ['or', '0', 'a'], ['author.country']]);
  assert.equal(queryText(filterQuery(conditions)), '?filter[in_stock]=true&filter[price][gte]=10&filter[or][0][a]=1&filter[author.country]=BO');
  assert.deepEqual(readCondition(conditions[1]!), { field: 'price', operator: 'gte', value: '10' });
  assert.equal(readCondition(conditions[2]!), undefined);
  assert.deepEqual(makeCondition('a', 'eq', '1').keys, ['a']);
  assert.deepEqual(filterBody(conditions), { in_stock: 'true', price: { gte: '10' }, or: { 0: { a: '1' } }, 'author.country': 'BO' });
  assert.equal(joinList(['a,b', 'c', 'd"e']), '"a,b",c,"d""e"');
});

test('operators follow the type of a field', () => {
  const names = (type: FieldType) => operatorsOf(field('a', type)).map((operator) => operator.name);
  assert.ok(names('varchar').includes('icontains') && names('varchar')[0] === 'icontains');
  assert.ok(names('integer').includes('between') && !names('integer').includes('contains'));
  assert.ok(!names('bool').includes('gt') && names('relation').includes('in'));
  assert.deepEqual(names('json'), ['null']);
  assert.deepEqual(names('secret'), []);
  assert.ok(!canSort(field('a', 'json')) && !canSort(field('a', 'relation', { options: { many: true } })) && canSort(field('a', 'date')));
});

test('a click on a column changes the order, and with Shift adds to it', () => {
  const next = (text: string, name: string, adds = false) => nextSort(new URLSearchParams(text ? { sort: text } : {}), name, adds);
  assert.equal(next('', 'a'), 'a');
  assert.equal(next('a', 'a'), '-a');
  assert.equal(next('-a', 'a'), undefined);
  assert.equal(next('-a', 'b'), 'b');
  assert.equal(next('-a', 'b', true), '-a,b');
  assert.equal(next('-a,b', 'b', true), '-a,-b');
});

test('a call is shown as curl and as client.ts', () => {
  const call = { method: 'GET', path: '/entities/products/items', query: [['filter[name][contains]', "O'Brien"], ['filter[price][gte]', '10'], ['sort', '-price,name'], ['limit', '50'], ['count', 'false']] } as const;
  assert.equal(curlText('http://h/org/shop', call), `curl 'http://h/org/shop/entities/products/items?filter%5Bname%5D%5Bcontains%5D=O%27Brien&filter%5Bprice%5D%5Bgte%5D=10&sort=-price,name&limit=50&count=false' \\\n  -H "Authorization: Bearer $TOKEN"`);
  assert.equal(clientText(call, (name) => name === 'name'), "await gw.db.products.list({\n  filter: { name: { contains: 'O\\'Brien' }, price: { gte: 10 } },\n  sort: ['-price', 'name'],\n  limit: 50,\n  count: false,\n});");
  assert.equal(clientText({ method: 'PUT', path: '/entities/products/items/12', body: { price: 3 } }), 'await gw.db.products.update(12, { price: 3 });');
  assert.equal(clientText({ method: 'GET', path: '/tasks', query: [['limit', '5']] }), "await gw.request('GET', '/tasks', { query: { limit: '5' } });");
  assert.deepEqual(filterObject([['filter[author.country]', 'BO'], ['filter[id][in]', '1,2']], (name) => name === 'country'), { author: { country: 'BO' }, id: { in: [1, 2] } });
  assert.equal(literal({ 'a-b': [1, 'x'], c: null }), "{ 'a-b': [1, 'x'], c: null }");
});

function memoryStore(): TextStore {
  const items = new Map<string, string>();
  return {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
    key: (at) => [...items.keys()][at] ?? null,
    get length() {
      return items.size;
    },
  };
}

test('a draft is of one user and one resource, and an empty one is removed', () => {
  const store = memoryStore();
  const drafts = new Drafts(store, 'shop', 8);
  drafts.write('products/12', '"3-a"', { name: 'Chair' });
  assert.deepEqual(drafts.read('products/12')?.values, { name: 'Chair' });
  assert.equal(drafts.read('products/12')?.version, '"3-a"');
  assert.equal(new Drafts(store, 'shop', 9).read('products/12'), undefined);
  assert.equal(new Drafts(store, 'other', 8).read('products/12'), undefined);
  drafts.write('products/12', '"3-a"', {});
  assert.equal(store.length, 0);
});

test('old and unreadable drafts are removed, and no other item', () => {
  const store = memoryStore();
  const drafts = new Drafts(store, 'shop', 8);
  drafts.write('a/1', '', { x: 1 }, new Date('2026-01-01'));
  drafts.write('a/2', '', { x: 1 }, new Date('2026-02-20'));
  store.setItem('groundwork.draft:broken', '{');
  store.setItem('groundwork.theme', 'dark');
  pruneDrafts(store, new Date('2026-03-01').getTime());
  assert.equal(drafts.read('a/1'), undefined);
  assert.ok(drafts.read('a/2'));
  assert.equal(store.length, 2);
});

test('field rules and permissions decide about a field', () => {
  const me: Me = { id: 1, email: '', permissions: ['products:read', 'products:update'], is_admin: false, api_access: true, field_access: [{ entity: 'products', action: 'update', fields: ['name'] }] };
  assert.ok(canField(me, 'products', field('name', 'varchar'), 'update'));
  assert.ok(!canField(me, 'products', field('price', 'float'), 'update'));
  assert.ok(!canField(me, 'products', field('name', 'varchar'), 'create'));
  assert.ok(!canField({ ...me, api_access: false }, 'products', field('name', 'varchar'), 'update'));
  assert.ok(!canField({ ...me, field_access: [] }, 'products', field('id', 'integer', { isSystem: true }), 'update'));
});

test('a record is named by its name, its title, its first text or its id', () => {
  assert.equal(labelField(entity([field('sku', 'varchar'), field('name', 'varchar')])).name, 'name');
  assert.equal(labelField(entity([field('price', 'float'), field('sku', 'varchar')])).name, 'sku');
  assert.equal(labelField(entity([field('price', 'float')])).name, 'id');
});

test('events are read from chunks that end anywhere', () => {
  const text = 'id: 5\nevent: created\ndata: {"entity":"a",\ndata: "id":1}\n\n:\n\nid: 6\nevent: hello\ndata: {}\n\n';
  for (let size = 1; size < text.length; size++) {
    const reader = new EventReader();
    const events = [];
    for (let at = 0; at < text.length; at += size) events.push(...reader.read(text.slice(at, at + size)));
    assert.deepEqual(events, [{ kind: 'created', data: { entity: 'a', id: 1 }, id: '5' }, { kind: 'hello', data: {}, id: '6' }]);
    assert.equal(reader.lastId, '6');
  }
});

test('the pause before a reconnect grows to half a minute', () => {
  assert.equal(backoffMs(0, 1), 500);
  assert.equal(backoffMs(3, 1), 4000);
  assert.equal(backoffMs(20, 1), 30_000);
  assert.equal(backoffMs(20, 0), 15_000);
});

async function callWith(answers: (Response | Error)[], method: 'GET' | 'PUT', isDown = false): Promise<{ calls: number; result: unknown }> {
  let calls = 0;
  const before = globalThis.fetch;
  globalThis.fetch = () => {
    const answer = answers[calls++];
    return answer instanceof Response ? Promise.resolve(answer) : Promise.reject(answer ?? new Error('no answer left'));
  };
  const tokens = { access_token: 'old', refresh_token: 'r', expires_at: Date.now(), user: { id: 1 } as never };
  const session = { get: () => tokens, set: () => undefined };
  const gateway = new Gateway('http://h', { isDown: () => isDown, report: () => undefined }, { session });
  try {
    return { result: (await gateway.call({ method, path: '/x' }, { ifMatch: method === 'PUT' ? '"1"' : undefined })).data, calls };
  } catch (error) {
    return { result: error, calls };
  } finally {
    globalThis.fetch = before;
  }
}

const problem = (status: number, code: string) => new Response(JSON.stringify({ code, detail: code, request_id: 'r1' }), { status, headers: { 'Retry-After': '0' } });

test('a read is sent again after a failure, and a conditional write is not', async () => {
  assert.deepEqual(await callWith([problem(503, 'timeout_x'), new TypeError('reset'), new Response('{"a":1}')], 'GET'), { result: { a: 1 }, calls: 3 });
  const write = await callWith([problem(503, 'busy'), new Response('{}')], 'PUT');
  assert.equal(write.calls, 1);
  assert.ok(Problem.is(write.result, 'busy') && (write.result as Problem).requestId === 'r1');
});

test('without a connection nothing is written', async () => {
  const write = await callWith([], 'PUT', true);
  assert.ok(Problem.is(write.result, 'network') && write.calls === 0);
});
