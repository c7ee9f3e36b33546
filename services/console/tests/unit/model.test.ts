import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exactNumber } from '../../src/api/json.ts';
import type { Field } from '../../src/api/model.ts';
import { compareValues } from '../../src/areas/model/changes.ts';
import { findEntities, neighboursOf, relationName, relationsOf, wrapRanks } from '../../src/areas/model/graph.ts';
import { createBody, hintsAt, parseLine, printLine, specOf, splitLines, TYPES, tryLine, updateBody, WORDS, type Names } from '../../src/areas/model/lines.ts';

const names: Names = {
  entities: [{ name: 'authors' }, { name: 'tags' }],
  enums: [{ name: 'status', values: ['open', 'paid', 'on hold'] }],
  self: 'products',
};
const read = (line: string) => parseLine(line, names);

// A line for each type of field and for each option.
const LINES = [
  'name: varchar! 200 unique',
  'code: varchar',
  'sku: varchar 40 indexed searchable weight 5 public = "  x  "',
  'note: text = two words',
  'note: text 1000',
  'stock: integer min -5 max 10 = 0',
  'price: float! min 0 max 10 = 1',
  'total: decimal min 0.10 = 49.90',
  'in_stock: bool = false',
  'released: date! = 2026-01-31',
  'seen: datetime indexed = 2026-01-31T12:00:00Z',
  'opens: time = 09:30',
  'code: uuid unique = 123e4567-e89b-42d3-a456-426614174000',
  'meta: json = {"a":[1,null]}',
  'status: enum(status) = open',
  'state: enum(status)! = on hold',
  'image: file public',
  'token: secret!',
  'author -> authors',
  'author -> authors! cascade',
  'author -> authors unique set null',
  'parent -> products indexed',
  'tags ->> tags',
  'tags ->> tags! restrict searchable',
];

test('a line is printed as it was read', () => {
  for (const line of LINES) assert.equal(printLine(read(line)), line);
  const types = new Set(LINES.map((line) => read(line).type));
  assert.deepEqual([...types].sort(), Object.keys(TYPES).sort());
  for (const { word } of WORDS) assert.ok(word === 'required' || LINES.some((line) => line.includes(word)), word);
});

test('a field of the API becomes a line, and the line becomes the field', () => {
  for (const line of LINES) {
    const body = createBody(read(line));
    const field = { required: false, unique: false, indexed: false, searchable: false, public: false, default: null, options: {}, ...body } as unknown as Field;
    assert.deepEqual(specOf(field), read(line), line);
    assert.deepEqual(updateBody(specOf(field), read(line)), {}, line);
  }
});

test('other ways to write a line', () => {
  assert.deepEqual(read('  name :varchar( 200 ) required  unique'), read('name: varchar! 200 unique'));
  assert.deepEqual(read('author->authors set_null'), read('author -> authors set null'));
  assert.deepEqual(read('price: float ! min 0'), read('price: float! min 0'));
  assert.deepEqual(read('a: varchar = x = y').default, 'x = y');
  assert.deepEqual(splitLines('a: text,\r\n\n  b: bool;\n'), ['a: text', 'b: bool']);
});

test('the body of a new field has only the typed members', () => {
  assert.deepEqual(createBody(read('price: float! min 0 = 1')), { name: 'price', type: 'float', required: true, default: 1, options: { min: 0 } });
  assert.deepEqual(createBody(read('code: varchar')), { name: 'code', type: 'varchar' });
  assert.deepEqual(createBody(read('in_stock: bool = false')), { name: 'in_stock', type: 'bool', default: false });
  assert.deepEqual(createBody(read('author -> authors set null')), { name: 'author', type: 'relation', options: { entity: 'authors', on_delete: 'set_null' } });
  assert.deepEqual(createBody(read('tags ->> tags')), { name: 'tags', type: 'relation', options: { entity: 'tags', many: true } });
  assert.equal(JSON.stringify(createBody(read('total: decimal = 49.90'))), JSON.stringify({ name: 'total', type: 'decimal', default: exactNumber('49.90') }));
});

test('the body of a change has only the members that differ', () => {
  const change = (old: string, next: string) => updateBody(read(old), read(next));
  assert.deepEqual(change('a: varchar 40', 'b: varchar 40 unique'), { name: 'b', unique: true });
  assert.deepEqual(change('a: varchar 40', 'a: varchar'), { options: { max_length: 255 } });
  assert.deepEqual(change('a: float min 0 max 5 = 1', 'a: float max 6'), { default: null, options: { min: null, max: 6 } });
  assert.deepEqual(change('a: varchar 40', 'a: integer min 3'), { type: 'integer', options: { min: 3 } });
  assert.deepEqual(change('a: integer min 3', 'a: decimal'), { type: 'decimal', options: { min: null } });
  assert.deepEqual(change('a: text weight 2', 'a: text'), { options: { search_weight: null } });
  assert.deepEqual(change('a -> tags', 'a -> tags cascade'), { options: { on_delete: 'cascade' } });
  assert.deepEqual(change('a -> tags', 'a ->> tags'), { options: { many: true, on_delete: 'set_null' } });
});

test('the problem of a wrong line names the expected words', () => {
  const wrong: [string, RegExp][] = [
    ['', /a name/], ['Price: float', /a name/], ['price', /“:”.*“->”/], ['price float', /“:”/], ['price:', /varchar, text, integer/], ['price: number', /varchar, text/],
    ['a: relation', /a -> entity/], ['a -> nothing', /authors, tags/], ['a ->', /authors/], ['a: enum', /status/], ['a: enum(none)', /status/], ['a: enum(status', /“\)”/],
    ['a: bool unique', /unique.*searchable/], ['a: float 20', /min/], ['a: varchar 0', /length/], ['a: float min', /number after “min”/], ['a: float min x', /number after “min”/],
    ['a: text weight 1.5', /number after “weight”/], ['a: integer = 1.5', /whole number/], ['a: bool = yes', /true or false/], ['a: enum(status) = gone', /open, paid/],
    ['a: file = 1', /file.*no default/], ['a: date = 31.1.2026', /2026-01-31/], ['a: json = {', /JSON/], ['a: varchar = "x', /text/], ['a: text =', /text/],
    ['a ->> tags cascade', /restrict, set null/], ['a -> tags! set null', /cascade/], ['a: secret public', /!/], ['a: varchar min 3', /length/],
  ];
  for (const [line, form] of wrong) assert.match(tryLine(line, names).problem ?? 'none', form, line);
  assert.match(tryLine('a: enum(x)', { ...names, enums: [] }).problem!, /enum/);
  assert.equal(tryLine('a: enum(x)', { ...names, enums: undefined }).problem, undefined);
});

test('hints of types, enums, entities, words and values', () => {
  const hints = (text: string) => hintsAt(text, text.length, names).choices.map((each) => each.text.trim());
  assert.deepEqual(hints('pri'), []);
  assert.deepEqual(hints('price '), [':', '->', '->>']);
  assert.deepEqual(hints('price: de'), ['decimal']);
  assert.ok(hints('price: ').includes('enum(status)') && !hints('price: ').includes('relation'));
  assert.deepEqual(hints('status: enum('), ['status)']);
  assert.deepEqual(hints('author -> '), ['authors', 'tags', 'products']);
  assert.deepEqual(hints('author ->'), ['->>']);
  assert.deepEqual(hints('author -> au'), ['authors']);
  assert.deepEqual(hints('price: float! min 0 '), ['unique', 'indexed', 'max', 'searchable', 'weight', 'public', '=']);
  assert.deepEqual(hints('price: float m'), ['min', 'max']);
  assert.deepEqual(hints('author -> authors s'), ['set null', 'searchable']);
  assert.deepEqual(hints('status: enum(status) = o'), ['open', 'on hold']);
  assert.deepEqual(hints('ok: bool = '), ['true', 'false']);
  assert.deepEqual(hints('token: secret '), ['required']);
  assert.equal(hintsAt('author -> au', 12, names).from, 10);
});

test('relations connect entities that the caller sees', () => {
  const entity = (name: string, targets: string[]) => ({
    id: 1, name, label: null, row_level_security: false, public_read: false, searchable: true, history: false,
    fields: targets.map((target, at): Field => ({ name: `r${at}`, type: 'relation', required: false, unique: false, indexed: false, default: null, options: { entity: target } })),
  });
  const entities = [entity('lines', ['products', 'hidden']), entity('products', ['authors', 'products']), entity('authors', []), entity('notes', [])];
  const relations = relationsOf(entities);
  assert.deepEqual(relations.map((each) => each.id), ['lines.r0', 'products.r0', 'products.r1']);
  assert.deepEqual([...neighboursOf('products', relations)].sort(), ['authors', 'lines', 'products']);
  assert.deepEqual([...neighboursOf('notes', relations)], ['notes']);
  assert.equal(relationName(entities[0]!, 'categories', false), 'category');
  assert.equal(relationName(entities[0]!, 'boxes', false), 'box');
  assert.equal(relationName(entities[0]!, 'tags', true), 'tags');
  assert.equal(relationName(entities[1]!, 'products', false), 'parent');
  assert.equal(relationName({ ...entities[0]!, fields: [{ ...entities[0]!.fields[0]!, name: 'tag' }] }, 'tags', false), 'tag_2');
  assert.deepEqual(findEntities(entities, 'PRO').map((each) => each.name), ['products']);
});

test('a long rank of a drawing has several columns, and no two boxes overlap', () => {
  const boxes = Array.from({ length: 103 }, (_, at) => ({ name: `b${at}`, width: 220, height: 64, x: at < 100 ? 110 : 500, y: at * 96 }));
  const wrapped = wrapRanks(boxes);
  const width = Math.max(...wrapped.map((box) => box.x)) - Math.min(...wrapped.map((box) => box.x));
  const height = Math.max(...wrapped.map((box) => box.y)) - Math.min(...wrapped.map((box) => box.y));
  assert.ok(height < width && width < 3 * height, `${width} x ${height}`);
  for (const [at, a] of wrapped.entries()) {
    for (const b of wrapped.slice(at + 1)) assert.ok(Math.abs(a.x - b.x) >= 220 || Math.abs(a.y - b.y) >= 64, `${a.name} ${b.name}`);
  }
  assert.deepEqual(wrapRanks(boxes.slice(0, 5)), boxes.slice(0, 5));
});

test('changes of the values of an enum', () => {
  assert.deepEqual(compareValues(['a', 'b', 'c'], ['c', 'a', 'd']), { added: ['d'], removed: ['b'], isMoved: true });
  assert.deepEqual(compareValues(['a', 'b'], ['a', 'x', 'b']), { added: ['x'], removed: [], isMoved: false });
});
