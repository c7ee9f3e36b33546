import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Field, FieldType } from '../../src/api/model.ts';
import { cellText, readValue, valueText } from '../../src/areas/data/kinds.ts';
import { compareVersions, firstChoice, resolveDifferences } from '../../src/areas/data/merge.ts';
import { pasteSize, printCells, rangeOf, readCells } from '../../src/areas/data/tsv.ts';
import { localTime } from '../../src/kit/format.ts';
import { fillPath, matchPath } from '../../src/match.ts';
import { groupEntities } from '../../src/shell/groups.ts';

const field = (type: FieldType, more: Partial<Field> = {}): Field => ({ name: 'f', type, required: false, unique: false, indexed: false, default: null, options: {}, ...more });

const VALUES: [FieldType, unknown][] = [
  ['varchar', 'a\tb'], ['text', 'line\nline'], ['integer', -5], ['float', 1.5], ['decimal', '49.90'], ['bool', false], ['date', '2026-01-31'],
  ['datetime', '2026-01-31T12:00:00.123Z'], ['json', { a: [1] }], ['enum', 'open'], ['file', 7], ['relation', 12],
];

for (const [type, value] of VALUES) {
  test(`a ${type} is read back from the text of its copy`, () => {
    assert.deepEqual(readValue(field(type), valueText(field(type), value)), value);
  });
}

test('texts that are no values are refused', () => {
  const wrong: [FieldType, string][] = [['integer', '1.5'], ['float', 'x'], ['decimal', '1,5'], ['bool', 'maybe'], ['date', '31.1.2026'], ['datetime', 'soon'], ['json', '{'], ['uuid', '123e4567'], ['time', '9:30'], ['relation', '1,2']];
  for (const [type, text] of wrong) assert.throws(() => readValue(field(type), text), Error, type);
  assert.equal(readValue(field('varchar'), ''), null);
  assert.equal(readValue(field('varchar', { required: true }), ''), '');
  assert.deepEqual(readValue(field('relation', { options: { many: true } }), '3,4'), [3, 4]);
  assert.deepEqual(readValue(field('relation', { options: { many: true } }), ''), []);
});

test('long texts are cut in cells', () => {
  assert.equal(cellText(field('text'), 'x'.repeat(1000)).length, 201);
  assert.equal(cellText(field('varchar'), null), '');
  assert.equal(new Date(localTime('2026-01-31T12:00:00.123Z')).toISOString(), '2026-01-31T12:00:00.123Z');
});

test('cells go to the clipboard and back', () => {
  const cells = [['a', 'b\tc', ''], ['"q"', 'line\nline', 'x']];
  assert.deepEqual(readCells(printCells(cells)), cells);
  assert.deepEqual(readCells('a\tb\r\nc\td\r\n'), [['a', 'b'], ['c', 'd']]);
  assert.deepEqual(readCells('one'), [['one']]);
  assert.deepEqual(readCells('TV 55" OLED\tx'), [['TV 55" OLED', 'x']]);
});

test('pasted cells fill a range that they fit', () => {
  const range = rangeOf({ row: 5, col: 3 }, { row: 2, col: 3 });
  assert.deepEqual(range, { top: 2, left: 3, bottom: 5, right: 3 });
  assert.deepEqual(pasteSize(range, [['x']]), { rows: 4, cols: 1 });
  assert.deepEqual(pasteSize(range, [['x'], ['y'], ['z']]), { rows: 3, cols: 1 });
});

test('two users change a record', () => {
  const base = { a: 1, b: 1, c: 1, d: 1, e: 1 };
  const differences = compareVersions(base, { a: 2, b: 1, c: 3, d: 4, e: 1 }, { b: 2, c: 5, d: 4 }, Object.keys(base));
  assert.deepEqual(differences.map((each) => [each.name, each.isConflict]), [['a', false], ['b', false], ['c', true], ['d', false]]);
  assert.deepEqual(firstChoice(differences), { a: 'theirs', b: 'mine', d: 'mine' });
  assert.deepEqual(resolveDifferences(differences, { a: 'theirs', b: 'mine', c: 'mine', d: 'mine' }), { b: 2, c: 5 });
  assert.deepEqual(resolveDifferences(differences, { a: 'theirs', b: 'mine', c: 'theirs', d: 'mine' }), { b: 2 });
});

test('paths have parameters, some of them optional', () => {
  const pattern = '/:project/data/:entity?/:record?';
  assert.deepEqual(matchPath(pattern, '/shop/data'), { project: 'shop' });
  assert.deepEqual(matchPath(pattern, '/shop/data/products/12'), { project: 'shop', entity: 'products', record: '12' });
  assert.equal(matchPath(pattern, '/shop'), undefined);
  assert.equal(matchPath(pattern, '/shop/model'), undefined);
  assert.equal(matchPath(pattern, '/shop/data/a/1/x'), undefined);
  assert.equal(fillPath(pattern, { project: 'shop', entity: 'a b' }), '/shop/data/a%20b');
});

test('forty entities stay usable in the bar', () => {
  const make = (name: string, id: number) => ({ id, name, label: null, row_level_security: true, public_read: false, searchable: true, history: false, fields: [] });
  const names = [...Array.from({ length: 12 }, (_, at) => `shop_${at}`), ...Array.from({ length: 26 }, (_, at) => `${String.fromCharCode(97 + at)}x`), 'crm_a', 'crm_b'];
  const groups = groupEntities(names.map(make), ['zx', 'missing', 'shop_3'], '');
  assert.deepEqual(groups.map((group) => [group.kind, group.name, group.entities.length]), [['recent', '', 2], ['rest', '', 28], ['prefix', 'shop', 12]]);
  assert.deepEqual(groupEntities(names.map(make), [], 'SHOP_1').flatMap((group) => group.entities.map((each) => each.name)), ['shop_1', 'shop_10', 'shop_11']);
  assert.equal(groupEntities(names.slice(0, 3).map(make), ['shop_1'], '')[0]!.kind, 'rest');
});
