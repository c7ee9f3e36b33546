// Rights of roles: the differences of two states, the users whom a change affects, field rules, and paths of requests. Devices of sessions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Rights, Role, User } from '../../src/areas/people/model.ts';
import { readPath, recordOf } from '../../src/areas/people/request.ts';
import { changesOf, countAffected, matrixRows, opensField, rebaseNames, rebaseRules, setField, setRule, unite } from '../../src/areas/people/rights.ts';
import { deviceOf } from '../../src/areas/people/sessions.ts';

const rights = (more: Partial<Rights>): Rights => ({ is_admin: false, api_access: true, permissions: [], field_access: [], ...more });
const role = (id: number, more: Partial<Rights>): Role => ({ id, name: `role ${id}`, description: null, is_default: false, ...rights(more) });
const user = (...role_ids: number[]) => ({ id: 1, role_ids }) as User;
const textsOf = (before: Rights, after: Rights) =>
  changesOf(before, after, () => ['name', 'price']).map((change) => `${change.isGain ? '+' : '-'}${change.kind} ${change.permission ?? ''} ${change.field ?? ''}`.trim());

test('permissions are rows of resources, entities first', () => {
  assert.deepEqual(matrixRows(['svc_users:read', 'orders:read', 'orders:update', 'orders:read']), [
    { resource: 'orders', isEntity: true, actions: ['read', 'update'] },
    { resource: 'svc_users', isEntity: false, actions: ['read'] },
  ]);
});

test('a field that is closed makes a rule of all other fields', () => {
  const all = ['name', 'price', 'note'];
  const closed = setField([], 'orders', 'read', all, 'price', false);
  assert.deepEqual(closed, [{ entity: 'orders', action: 'read', fields: ['name', 'note'] }]);
  assert.deepEqual(setField(closed, 'orders', 'read', all, 'price', true)[0]!.fields, all);
  assert.deepEqual(setRule(closed, 'orders', 'read', undefined), []);
});

test('the differences of two states are rights that are gained or lost', () => {
  const before = rights({ permissions: ['orders:read', 'svc_users:read'], field_access: [{ entity: 'orders', action: 'read', fields: ['name'] }] });
  const after = rights({ permissions: ['orders:read', 'orders:update'], field_access: [{ entity: 'orders', action: 'read', fields: ['price'] }] });
  assert.deepEqual(textsOf(before, after), ['-field orders:read name', '+field orders:read price', '+permission orders:update', '-permission svc_users:read']);
  assert.deepEqual(textsOf(before, { ...before, field_access: [] }), ['+field orders:read price', '+field orders:read *']);
  assert.deepEqual(textsOf(before, rights({ is_admin: true })), ['+admin']);
  assert.deepEqual(textsOf(before, { ...before, api_access: false }), ['-api_access']);
  assert.deepEqual(textsOf(before, before), []);
});

test('a change has no effect on users to whom another role gives the right', () => {
  const roles = [role(1, {}), role(2, { permissions: ['orders:read'] }), role(3, { is_admin: true }), role(4, { permissions: ['orders:read'], field_access: [{ entity: 'orders', action: 'read', fields: [] }] })];
  const holders = [user(1), user(1, 2), user(1, 3), user(1, 4)];
  const [gain] = changesOf(rights({}), rights({ permissions: ['orders:read'] }), () => []);
  assert.equal(countAffected(gain!, 1, holders, roles), 1);
  const field = changesOf(rights({ permissions: ['orders:read'], field_access: [{ entity: 'orders', action: 'read', fields: [] }] }), rights({ permissions: ['orders:read'] }), () => ['name'])[0]!;
  assert.equal(countAffected(field, 1, holders, roles), 2);
});

test('a field is open when one of several roles opens it', () => {
  const narrow = rights({ permissions: ['orders:read'], field_access: [{ entity: 'orders', action: 'read', fields: ['name'] }] });
  const other = rights({ permissions: ['orders:read'], field_access: [{ entity: 'orders', action: 'read', fields: ['price'] }] });
  assert.equal(opensField(unite([narrow, other]), 'orders', 'read', 'price'), true);
  assert.equal(opensField(unite([narrow, other]), 'orders', 'read', 'note'), false);
  assert.equal(opensField(unite([narrow, rights({ permissions: ['orders:read'] })]), 'orders', 'read', 'note'), true);
  assert.equal(opensField(unite([narrow, rights({})]), 'orders', 'read', 'price'), false);
});

test('changes are carried over to a version that another user has saved', () => {
  assert.deepEqual(rebaseNames(['a', 'b'], ['a', 'c'], ['a', 'b', 'd']), ['a', 'd', 'c']);
  const rule = (...fields: string[]) => [{ entity: 'orders', action: 'read' as const, fields }];
  assert.deepEqual(rebaseRules(rule('a'), rule('a'), rule('b')), rule('b'));
  assert.deepEqual(rebaseRules(rule('a'), rule('a', 'c'), rule('b')), rule('a', 'c'));
  assert.deepEqual(rebaseRules(rule('a'), [], rule('a')), []);
});

test('a request is a path, an address, or a record', () => {
  const entities = ['products'];
  assert.equal(readPath('products/12', entities), '/entities/products/items/12');
  assert.equal(readPath(' products ', entities), '/entities/products/items');
  assert.equal(readPath('https://x.example/org/shop/users/3?a=1', entities), '/users/3');
  assert.equal(readPath('https://x.example/console/shop/data/products/12', entities), '/entities/products/items/12');
  assert.equal(readPath('users', entities), '/users');
  assert.equal(readPath('', entities), '');
  assert.deepEqual(recordOf('/entities/products/items/12'), { entity: 'products', id: 12 });
  assert.deepEqual(recordOf('/entities/products/items'), { entity: 'products', id: undefined });
  assert.equal(recordOf('/users/1'), undefined);
});

test('the device of a session is named in words', () => {
  const mozilla = (system: string, rest: string) => `Mozilla/5.0 (${system}) ${rest}`;
  const chrome = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36';
  const mobile = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';
  const words: [agent: string | null, device: string][] = [
    [mozilla('X11; Linux x86_64; rv:128.0', 'Gecko/20100101 Firefox/128.0'), 'Firefox on Linux'],
    [mozilla('Windows NT 10.0; Win64; x64', chrome), 'Chrome on Windows'],
    [mozilla('Windows NT 10.0; Win64; x64', `${chrome} Edg/130.0.0.0`), 'Edge on Windows'],
    [mozilla('Windows NT 10.0; Win64; x64', `${chrome} OPR/115.0.0.0`), 'Opera on Windows'],
    [mozilla('X11; CrOS x86_64 14541.0.0', chrome), 'Chrome on ChromeOS'],
    [mozilla('Macintosh; Intel Mac OS X 10_15_7', `${mobile} Version/17.5 Safari/605.1.15`), 'Safari on macOS'],
    [mozilla('iPhone; CPU iPhone OS 17_5 like Mac OS X', `${mobile} Version/17.5 Mobile/15E148 Safari/604.1`), 'Safari on iPhone'],
    [mozilla('iPad; CPU OS 17_5 like Mac OS X', `${mobile} CriOS/130.0 Mobile/15E148 Safari/604.1`), 'Chrome on iPad'],
    [mozilla('iPhone; CPU iPhone OS 17_5 like Mac OS X', `${mobile} FxiOS/128.0 Mobile/15E148 Safari/605.1.15`), 'Firefox on iPhone'],
    [mozilla('Linux; Android 14; SM-S918B', 'AppleWebKit/537.36 SamsungBrowser/25.0 Chrome/121.0.0.0 Mobile Safari/537.36'), 'Samsung Internet on Android'],
    [mozilla('Linux; Android 10; K', chrome), 'Chrome on Android'],
    ['Shop/2.1 (iPhone; iOS 17.5)', 'Shop on iPhone'],
    ['curl/8.5.0', 'curl'],
    ['python-requests/2.31.0', 'python-requests'],
    ['node', 'node'],
    [mozilla('PlayStation 5', 'Gecko'), 'Unknown device'],
    [mozilla('Windows NT 10.0', ''), 'Windows'],
    ['(nothing)', 'Unknown device'],
    ['', 'Unknown device'],
    [null, 'Unknown device'],
  ];
  for (const [agent, device] of words) assert.equal(deviceOf(agent), device, agent ?? 'null');
});
