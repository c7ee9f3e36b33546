import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findOperations, limitsText, membersOf, missingRight, needsOf, readDocs, requiredOf, sampleOf, typeText, type Document } from '../../src/api/docs.ts';
import { filterQueryOf } from '../../src/api/filters.ts';
import { queryText } from '../../src/api/http.ts';
import { parseJson } from '../../src/api/json.ts';
import type { Entity, Me } from '../../src/api/model.ts';
import { readParts, readProse } from '../../src/areas/docs/prose.ts';
import { cellOf, linkOf } from '../../src/areas/home/widgets.ts';
import { canIndex, facetNames, isSearchable, readSnippet, readWords, searchQuery } from '../../src/areas/search/search.ts';
import { durationText } from '../../src/areas/settings/durations.ts';
import { bodyOf, inputKind, readLines, readNumber, rowsOf, withChange, type Project } from '../../src/areas/settings/settings.ts';
import { arcPath, areaPath, cellText, changeOf, linePath, plotOf, scaleOf, slicesOf, type ChartColumn, type ChartData } from '../../src/kit/chart/chart.ts';

const group = (name: string, bucket: ChartColumn['bucket'] = null): ChartColumn => ({ name, role: 'group', type: 'varchar', bucket });
const value = (name: string): ChartColumn => ({ name, role: 'value', type: 'decimal', bucket: null });
const data = (columns: ChartColumn[], rows: unknown[][], more: Partial<ChartData> = {}): ChartData => ({
  kind: 'bar', columns, rows, has_next_page: false, period: null, previous_period: null, previous: null, as_of: '2026-01-01T00:00:00Z', ...more,
});

test('a chart of one group has a series for each value, and the period before by its order', () => {
  const rows = parseJson('[["2026-01-01", 49.90, 2], ["2026-02-01", null, 3]]') as unknown[][];
  const plot = plotOf(data([group('day', 'month'), value('sum(total)'), value('count')], rows, { previous: [['2025-11-01', 1, 4], ['2025-12-01', 5, 6]] }));
  assert.deepEqual(plot.labels, ['Jan 2026', 'Feb 2026']);
  assert.deepEqual(plot.series.map((each) => each.values), [[49.9, null], [2, 3], [1, 5], [4, 6]]);
  assert.deepEqual(plot.series.map((each) => each.isPrevious ?? false), [false, false, true, true]);
});

test('the period before of other groups is found by their value', () => {
  const plot = plotOf(data([group('city'), value('count')], [['Lima', 3], ['Cairo', 2]], { previous: [['Cairo', 9]] }));
  assert.deepEqual(plot.series[1]!.values, [null, 9]);
});

test('a second group names the series, and more than eight are only in the table', () => {
  const rows = Array.from({ length: 20 }, (_, at) => [`c${at % 2}`, `s${Math.floor(at / 2)}`, at]);
  const plot = plotOf(data([group('city'), group('state'), value('count')], rows));
  assert.deepEqual(plot.labels, ['c0', 'c1']);
  assert.equal(plot.series.length, 8);
  assert.equal(plot.hidden, 2);
  assert.deepEqual(plot.series[1], { name: 's1', values: [2, 3] });
});

test('an axis has round numbers, and begins at zero where the lengths of bars are compared', () => {
  const series = (values: number[]) => [{ name: 'n', values }];
  assert.deepEqual(scaleOf(series([3, 97]), true).ticks, [0, 50, 100]);
  assert.deepEqual(scaleOf(series([95, 105]), false).ticks, [95, 100, 105]);
  assert.ok(scaleOf(series([95, 105]), false).low > 50 && scaleOf(series([95, 105]), true).low === 0);
  assert.ok(scaleOf(series([-4, 8]), false).ticks.includes(0));
  assert.deepEqual(scaleOf(series([0]), true).low, 0);
  assert.ok(scaleOf([], true).high > 0);
});

test('a pie sums up small groups, and refuses values that it cannot show', () => {
  const plot = plotOf(data([group('city'), value('count')], Array.from({ length: 12 }, (_, at) => [`c${at}`, 12 - at])));
  const slices = slicesOf(plot, 'Others')!;
  assert.equal(slices.length, 8);
  assert.deepEqual(slices.at(-1), { name: 'Others', value: 15, isRest: true, share: 15 / 78, from: 63 / 78 });
  assert.ok(Math.abs(slices.reduce((sum, slice) => sum + slice.share, 0) - 1) < 1e-9);
  assert.equal(slicesOf(plotOf(data([group('c'), value('n')], [['a', -1], ['b', 2]])), 'Others'), undefined);
  assert.equal(slicesOf(plotOf(data([group('c'), value('n')], [['a', 0]])), 'Others'), undefined);
  assert.doesNotMatch(arcPath(0, 1, 10, 5), /NaN/);
});

test('a line is interrupted at gaps, and a value between gaps is a point', () => {
  const x = (at: number) => at;
  const y = (each: number) => each;
  assert.equal(linePath([1, 2, null, 4], x, y), 'M0.0 1.0L1.0 2.0M3.0 4.0h0');
  assert.equal(areaPath([1, null, 2, 3], x, y, 0), 'M0.0 0.0L0.0 1.0L0.0 0.0ZM2.0 0.0L2.0 2.0L3.0 3.0L3.0 0.0Z');
  assert.equal(changeOf(3, 2), 0.5);
  assert.equal(changeOf(3, 0), undefined);
});

test('spans of time are named by their unit', () => {
  assert.equal(cellText(group('d', 'quarter'), '2026-04-01'), 'Q2 2026');
  assert.equal(cellText(group('d', 'year'), '2026-01-01'), '2026');
  assert.equal(cellText(group('d', 'day'), null), '–');
  assert.equal(cellText(group('name'), '<b>'), '<b>');
});

// --- the documents ---

const document = {
  info: { title: 'Platform API', version: '1' },
  paths: {
    '/things/{id}': {
      get: { operationId: 'things_get', tags: ['Things'], summary: 'Get a thing', description: 'Text.\n\nNeeds the permission `svc_things:read` or `svc_all:read`, and `svc_exports:create`.', parameters: [{ $ref: '#/components/parameters/Id' }] },
      put: { operationId: 'things_put', tags: ['Things'], description: 'For administrators of the project.', requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } } } },
    },
    '/entities/{entity}/items': { post: { operationId: 'create_a', description: 'Needs the permission `{entity}:create`.' } },
    '/entities/a/items': { get: { operationId: 'list_a', description: 'Needs the permission `a:read` and a role with API access.' } },
    '/open': { get: { operationId: 'open', security: [] } },
  },
  components: {
    parameters: { Id: { name: 'id', in: 'path', required: true } },
    schemas: {
      Thing: { type: 'object', required: ['colour', 'inner'], properties: { colour: { type: 'string', enum: ['red', 'blue'] }, inner: { $ref: '#/components/schemas/Thing' }, n: { type: 'integer', minimum: 1, maximum: 9 }, at: { type: 'string', readOnly: true } } },
      Both: { allOf: [{ type: 'object', required: ['id'], properties: { id: { type: 'integer' } } }, { $ref: '#/components/schemas/Thing' }] },
      Problem: { properties: { code: { description: 'Codes:\n\n- `not_found` (404): Not found\n- `gone` (404): Gone\n- `locked` (423): Locked' } } },
    },
    responses: {},
  },
} as unknown as Document;
const docs = readDocs({ module_documentation: { platform: document }, data_model_documentation: { info: { title: 'M', version: '1' }, paths: {} } });
const operation = (id: string) => docs.operations.find((each) => each.id === id)!;
const me = (permissions: string[], more: Partial<Me> = {}): Me => ({ id: 1, email: 'a@b', permissions, field_access: [], is_admin: false, api_access: true, ...more });

test('operations are found by words of their path, text, parameters and members', () => {
  assert.deepEqual(findOperations(docs, 'thing get').map((each) => each.id), ['things_get']);
  assert.deepEqual(findOperations(docs, 'colour').map((each) => each.id), ['things_put']);
  assert.deepEqual(findOperations(docs, 'id thing').map((each) => each.id), ['things_get', 'things_put']);
  assert.equal(findOperations(docs, '  ').length, 5);
  assert.equal(findOperations(docs, 'no such').length, 0);
  assert.deepEqual(docs.codes.get(404), [{ code: 'not_found', title: 'Not found' }, { code: 'gone', title: 'Gone' }]);
});

test('the rights of an operation follow from its description', () => {
  assert.deepEqual(needsOf(operation('things_get'), me(['svc_all:read'])).needs, [
    { anyOf: ['svc_things:read', 'svc_all:read'], isHeld: true }, { anyOf: ['svc_exports:create'], isHeld: false },
  ]);
  const missing = (id: string, who: Me) => missingRight(needsOf(operation(id), who), who);
  assert.equal(missing('things_get', me(['svc_all:read'])), 'svc_exports:create');
  assert.equal(missing('things_put', me([])), 'is_admin');
  assert.equal(missing('things_put', me([], { is_admin: true })), undefined);
  assert.equal(missing('list_a', me(['a:read'], { api_access: false })), 'api_access');
  assert.equal(missing('list_a', me(['a:read'])), undefined);
  assert.equal(missing('create_a', me(['b:create'])), undefined);
  assert.equal(missing('create_a', me(['b:read', 'svc_users:create'])), '{entity}:create');
  assert.ok(needsOf(operation('open'), me([])).isPublic);
});

test('a schema that contains itself has members, a sample and words', () => {
  const thing = { $ref: '#/components/schemas/Thing' };
  const both = { $ref: '#/components/schemas/Both' };
  assert.deepEqual(Object.keys(membersOf(document, both)), ['id', 'colour', 'inner', 'n', 'at']);
  assert.deepEqual(requiredOf(document, both), ['id', 'colour', 'inner']);
  const sample = sampleOf(document, thing) as { colour: string; inner: { colour: string } };
  assert.equal(sample.inner.colour, 'red');
  assert.equal(typeText(document, { type: 'array', items: thing }), 'list of Thing');
  assert.equal(limitsText(membersOf(document, thing).n!), '1 to 9');
});

test('descriptions are paragraphs, lists and words in backticks', () => {
  assert.deepEqual(readParts('a `b` <c> `d'), [{ text: 'a ', isCode: false }, { text: 'b', isCode: true }, { text: ' <c> `d', isCode: false }]);
  assert.deepEqual(readProse('one\ntwo\n\n- x\n- y').map((block) => block.items?.length ?? block.parts[0]!.text), ['one two', 2]);
});

// --- search, settings, dashboards ---

const entity = (name: string, fields: object[], searchable = true) => ({ id: 1, name, label: null, searchable, fields: fields.map((each) => ({ options: {}, ...each })) }) as unknown as Entity;

test('a snippet becomes texts of which some are marked, and its escapes are read once', () => {
  assert.deepEqual(readSnippet('a &lt;b&gt; <mark>x &amp;lt; y</mark>&quot;&#39;'), [
    { text: 'a <b> ', isMarked: false }, { text: 'x &lt; y', isMarked: true }, { text: '"\'', isMarked: false },
  ]);
  assert.deepEqual(readSnippet('<mark>a</mark><mark>b</mark>').map((part) => part.text), ['a', 'b']);
});

test('the address of a search has the parameters that the service knows', () => {
  const text = (address: string) => queryText(searchQuery(new URLSearchParams(address)));
  assert.equal(text('q=a+b&e=x&sort=-n&public=true&filter[n][gte]=1&page=2'), '?q=a+b&e=x&filter[n][gte]=1&sort=-n&page=2&pageSize=20');
  assert.equal(text('q=a&e=x,y&sort=-n&facets=n'), '?q=a&e=x,y&facets=n&pageSize=20');
});

test('an entity is searchable with a searchable field that an index can contain', () => {
  const yes = { name: 'n', type: 'varchar', searchable: true };
  assert.ok(isSearchable(entity('a', [yes])));
  assert.ok(!isSearchable(entity('a', [yes], false)));
  assert.ok(!isSearchable(entity('a', [{ ...yes, searchable: false }, { name: 'f', type: 'file', searchable: true }])));
  assert.ok(!canIndex({ type: 'relation', options: { many: true } } as never));
  assert.deepEqual(facetNames([entity('a', [yes, { name: 't', type: 'text' }]), entity('b', [{ name: 'b', type: 'bool' }, yes])]), ['b', 'n']);
  assert.deepEqual(readWords('a, b\n c,,'), ['a', 'b', 'c']);
});

const project: Project = { project_id: 'p', name: 'Shop', allowed_origins: [], warnings: [], created_at: '', updated_at: '', settings: { rate_read: 0, sign_up: false, redirect_urls: ['https://a'], new_one: 'x' } };

test('only changed settings are sent, and null restores a default', () => {
  let changes = withChange(project, {}, 'name', 'Store');
  changes = withChange(project, changes, 'settings.rate_read', 5);
  changes = withChange(project, changes, 'settings.sign_up', null);
  changes = withChange(project, changes, 'settings.redirect_urls', ['https://a']);
  assert.deepEqual(bodyOf(changes), { name: 'Store', settings: { rate_read: 5, sign_up: null } });
  assert.deepEqual(bodyOf(withChange(project, changes, 'name', 'Shop')), { settings: { rate_read: 5, sign_up: null } });
  assert.deepEqual(rowsOf(project).map((row) => [row.name, row.group]), [['redirect_urls', 'signIn'], ['sign_up', 'external'], ['rate_read', 'limits'], ['new_one', 'other']]);
});

test('inputs follow the schema of a setting', () => {
  assert.equal(inputKind('x', { type: 'boolean' }, null), 'check');
  assert.equal(inputKind('oidc_client_secret', { type: 'string' }, null), 'secret');
  assert.equal(inputKind('new_one', undefined, ['a']), 'lines');
  assert.deepEqual([readNumber('12'), readNumber(' '), readNumber('1e3'), readNumber('99999999999999999999')], [12, null, '1e3', '99999999999999999999']);
  assert.deepEqual(readLines(' a \n\nb'), ['a', 'b']);
  assert.deepEqual([3600, 90, 2_592_000, 61].map(durationText), ['1 hour', '90 seconds', '30 days', '61 seconds']);
});

test('filters of widgets become parameters, and links are opened by browsers only with a known scheme', () => {
  const filter = parseJson('{"state":{"in":["open","a,b"]},"price":{"gte":49.90},"done":true,"or":[{"a":1},{"b":{"ne":2}}]}') as object;
  assert.equal(queryText(filterQueryOf(filter)), '?filter[state][in]=open,%22a,b%22&filter[price][gte]=49.90&filter[done]=true&filter[or][0][a]=1&filter[or][1][b][ne]=2');
  assert.equal(linkOf('https://a.example/b'), 'https://a.example/b');
  assert.equal(linkOf('javascript:alert(1)'), undefined);
  assert.equal(linkOf('/orders'), undefined);
  assert.equal(cellOf(parseJson('49.90'), undefined), '49.90');
});
