// The definitions, the changes, the cron expressions and the references of workflows.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { actions, EVENTS, OPERATORS } from '../../src/areas/workflows/actions.ts';
import { compare, merge } from '../../src/areas/workflows/changes.ts';
import { nextTimes, parseCron } from '../../src/areas/workflows/cron.ts';
import {
  addStep, connect, duplicateStep, emptyDefinition, lastPlace, moveStep, placeBy, refuseLink, removeStep, renameStep, targetOf,
  type Definition, type Step,
} from '../../src/areas/workflows/definition.ts';
import { locate } from '../../src/areas/workflows/problems.ts';
import { pathsOf, suggestionsFor } from '../../src/areas/workflows/references.ts';
import { readAny, readFieldValue, splitTexts } from '../../src/areas/workflows/values.ts';
import { orderSteps, START, stepsBefore } from '../../src/kit/flow/graph.ts';
import { linePath, placeSteps } from '../../src/kit/flow/layout.ts';
import { findReference, insertText } from '../../src/kit/suggest.ts';

const catalog = (name: string) => readFileSync(fileURLToPath(new URL(`../../../../common/core/catalog/${name}.def`, import.meta.url)), 'utf8').replace(/\/\*[\s\S]*?\*\//, '');

test('the forms know the actions and the parameters of the service, and which are required, templates and secrets', () => {
  const known = actions.map((action) => [action.name, action.seconds, action.params.map((param) => [param.name, !!param.isRequired, !!param.hasTemplates, !!param.hasSecrets]).sort()]);
  const real: unknown[] = [];
  let params: unknown[] = [];
  for (const [, kind, head] of catalog('step').matchAll(/^(FIRST_STEP|STEP|PARAM)\((.*)$/gm)) {
    const parts = head!.split(',').map((part) => part.trim());
    if (kind === 'PARAM') params.push([parts[0]!.replaceAll('"', ''), /REQUIRED/.test(parts[1]!), /TEMPLATES/.test(parts[1]!), /SECRETS/.test(parts[1]!)]);
    else real.push([parts[1]!.replaceAll('"', ''), Number(parts[4]), (params = [])]);
  }
  for (const each of real as [string, number, unknown[]][]) each[2].sort();
  assert.deepEqual(known, real);
});

test('the forms know the events and the operators of the service', () => {
  assert.deepEqual(EVENTS.map((event) => event.name).toSorted(), [...catalog('event').matchAll(/^EVENT\(\w+, "(\w+)"/gm)].map((match) => match[1]!).toSorted());
  const takes: Record<string, string> = { TAKES_VALUE: 'value', TAKES_LIST: 'list', TAKES_PAIR: 'pair', TAKES_NONE: 'none' };
  const real = [...catalog('operator').matchAll(/^CONDITION_OPERATOR\(\w+, "(\w+)", (\w+)\)/gm)].map((match) => `${match[1]} ${takes[match[2]!]}`);
  assert.deepEqual(OPERATORS.map((each) => `${each.name} ${each.takes}`).toSorted(), real.toSorted());
});

// --- definitions ---

const step = (key: string, links: Partial<Step> = {}): Step => ({ key, action: 'RunScript', params: {}, ...links });
const chain = (): Definition => ({ ...emptyDefinition(), start_step: 'a', steps: [step('a', { next: 'b' }), step('b', { next: 'c', on_failure: 'd' }), step('c'), step('d')] });
const keys = (definition: Definition) => orderSteps(definition.steps, definition.start_step).reached.map((each) => each.key);

test('steps are added, moved and removed, and the links stay whole', () => {
  let made = addStep(emptyDefinition(), 'CreateData', { from: START, name: 'next' });
  assert.equal(made.key, 'create_data');
  assert.equal(made.definition.start_step, 'create_data');
  made = addStep(made.definition, 'Condition', lastPlace(made.definition));
  assert.deepEqual(keys(made.definition), ['create_data', 'condition']);
  const second = addStep(chain(), 'RunScript', { from: 'a', name: 'next' });
  assert.deepEqual(keys(second.definition), ['a', 'run_script', 'b', 'c', 'd']);
  assert.deepEqual(keys(removeStep(second.definition, 'run_script')), ['a', 'b', 'c', 'd']);
  const first = removeStep(chain(), 'a');
  assert.equal(first.start_step, 'b');
  const moved = moveStep(chain(), 'a', placeBy(chain(), 'a', 1)!);
  assert.deepEqual(keys(moved), ['b', 'a', 'c', 'd']);
  assert.deepEqual(keys(moveStep(moved, 'a', placeBy(moved, 'a', -1)!)), ['a', 'b', 'c', 'd']);
  assert.equal(placeBy(chain(), 'a', -1), undefined);
  assert.equal(placeBy(chain(), 'c', 1), undefined);
  assert.deepEqual(moveStep(chain(), 'a', { from: START, name: 'next' }), chain());
  const copy = duplicateStep(chain(), 'b');
  assert.equal(copy.key, 'b_2');
  assert.deepEqual(keys(copy.definition), ['a', 'b', 'b_2', 'c', 'd']);
});

test('a step that is put before a condition leads to the condition, and a condition continues with then', () => {
  const made = addStep(chain(), 'Condition', { from: 'a', name: 'next' });
  const condition = made.definition.steps.find((each) => each.key === 'condition')!;
  assert.equal(condition.then, 'b');
  assert.ok(!('next' in condition));
  const removed = removeStep(made.definition, 'condition');
  assert.equal(targetOf(removed, { from: 'a', name: 'next' }), 'b');
});

test('a link that leads back is refused', () => {
  assert.equal(refuseLink(chain(), 'c', 'a'), 'loop');
  assert.equal(refuseLink(chain(), 'a', 'a'), 'itself');
  assert.equal(refuseLink(chain(), START, 'c'), undefined);
  assert.deepEqual(connect(chain(), { from: 'c', name: 'next' }, 'a'), chain());
  assert.equal(targetOf(connect(chain(), { from: 'c', name: 'next' }, 'd'), { from: 'c', name: 'next' }), 'd');
  assert.deepEqual(stepsBefore(chain().steps, 'd').map((each) => each.key), ['a', 'b']);
});

test('a new key is a new key in links and references, and not in a longer key', () => {
  const definition = { ...chain(), steps: chain().steps.map((each) => (each.key === 'c' ? { ...each, params: { x: ['{{ $svc.steps.a.data[0] }} {{ $svc.steps.a_2.data }}'] } } : each)) };
  const renamed = renameStep(definition, 'a', 'first');
  assert.equal(renamed.start_step, 'first');
  assert.deepEqual(renamed.steps.find((each) => each.key === 'c')!.params, { x: ['{{ $svc.steps.first.data[0] }} {{ $svc.steps.a_2.data }}'] });
});

test('two versions are compared by step, and changes of two users are merged', () => {
  const base = chain();
  const mine = { ...base, name: 'Mine', steps: base.steps.map((each) => (each.key === 'a' ? { ...each, params: { script: '1' } } : each)) };
  const theirs = addStep(base, 'RunScript', { from: 'c', name: 'next' }).definition;
  assert.deepEqual(compare(base, mine).map((each) => [each.step, each.kind, each.members.map((member) => member.name)]), [[undefined, 'changed', ['name']], ['a', 'changed', ['params.script']]]);
  const { definition, both } = merge(base, mine, theirs);
  assert.deepEqual(both, []);
  assert.equal(definition.name, 'Mine');
  assert.deepEqual(definition.steps.find((each) => each.key === 'a')!.params, { script: '1' });
  assert.ok(definition.steps.some((each) => each.key === 'run_script'));
  const other = { ...base, steps: base.steps.map((each) => (each.key === 'a' ? { ...each, params: { script: '2' } } : each)) };
  assert.deepEqual(merge(base, mine, other).both, ['a']);
  assert.ok(!merge(base, removeStep(base, 'd'), base).definition.steps.some((each) => each.key === 'd'));
  assert.deepEqual(compare(base, { ...base, steps: base.steps.map((each) => ({ ...each, name: null })) }), []);
});

// --- the canvas ---

test('each step has a place of its own, and lines run in the direction of the flow', () => {
  const { places, links } = placeSteps(chain().steps, 'a', 'TB');
  assert.equal(places.size, 5);
  const rows = [...places.values()];
  for (const [at, place] of rows.entries()) {
    for (const other of rows.slice(at + 1)) assert.ok(Math.abs(place.x - other.x) >= 224 || Math.abs(place.y - other.y) >= 60);
  }
  assert.deepEqual(links.map((link) => `${link.from} ${link.name} ${link.to}`), [`${START} next a`, 'a next b', 'b next c', 'b on_failure d']);
  assert.ok(places.get('a')!.y < places.get('b')!.y);
  assert.equal(linePath([{ x: 0, y: 0 }, { x: 10, y: 4 }], 'LR'), 'M 0 0 C 5 0, 5 4, 10 4');
});

// --- cron ---

const times = (cron: string, zone: string, after: string, count = 3) => nextTimes(cron, zone, count, Date.parse(after)).map((time) => time.toISOString().slice(0, 16));

test('the next times follow the rules of the service', () => {
  assert.deepEqual(times('*/5 * * * *', 'UTC', '2026-11-29T07:03:10Z'), ['2026-11-29T07:05', '2026-11-29T07:10', '2026-11-29T07:15']);
  assert.deepEqual(times('0 8 * * mon-fri', 'Europe/Paris', '2026-11-27T08:00:00Z', 2), ['2026-11-30T07:00', '2026-12-01T07:00']);
  assert.deepEqual(times('0 0 13 * fri', 'UTC', '2026-11-01T00:00:00Z', 2), ['2026-11-06T00:00', '2026-11-13T00:00']);
  assert.deepEqual(times('0 0 29 2 *', 'UTC', '2026-01-01T00:00:00Z', 1), ['2028-02-29T00:00']);
  assert.deepEqual(times('0 0 * * fri-sun', 'UTC', '2026-11-29T00:00:00Z', 2), ['2026-12-04T00:00', '2026-12-05T00:00']);
});

test('a local time that the clock skips is due after the gap, and a repeated one once', () => {
  // Paris: 02:00 to 03:00 is skipped on 29 March 2026, and repeated on 25 October 2026.
  assert.deepEqual(times('30 2 * * *', 'Europe/Paris', '2026-03-28T12:00:00Z', 2), ['2026-03-29T01:00', '2026-03-30T00:30']);
  assert.deepEqual(times('30 2 * * *', 'Europe/Paris', '2026-10-24T12:00:00Z', 2), ['2026-10-25T00:30', '2026-10-26T01:30']);
  assert.deepEqual(times('0 * * * *', 'Europe/Paris', '2026-10-24T23:30:00Z', 3), ['2026-10-25T00:00', '2026-10-25T01:00', '2026-10-25T02:00']);
});

test('a wrong expression names its wrong field', () => {
  const wrong: [string, RegExp][] = [['* * * *', /5 fields, not 4/], ['60 * * * *', /minute: 60/], ['* 24 * * *', /hour: 24/], ['0 0 30 2 *', /no|none/], ['*/0 * * * *', /step/], ['5-1 * * * *', /ends before/], ['1,,2 * * * *', /empty/], ['0 0 * foo *', /month.*name/]];
  for (const [cron, message] of wrong) assert.throws(() => parseCron(cron), message, cron);
});

// --- references and values ---

test('references are found at the cursor and completed', () => {
  assert.deepEqual(findReference('Hello {{ $svc.tr', 'template'), { from: 9, hasBraces: true });
  assert.deepEqual(findReference('Hello $svc.tr', 'template'), { from: 6, hasBraces: false });
  assert.equal(findReference('Hello {{ a }} b', 'template'), undefined);
  assert.equal(insertText('$svc.x', 'template', true, ''), '$svc.x }}');
  assert.equal(insertText('$svc.x', 'template', true, ' }}'), '$svc.x');
  assert.equal(insertText('$svc.x', 'template', false, ''), '{{ $svc.x }}');
  assert.equal(insertText('$svc.x', 'reference', false, ''), '$svc.x');
});

test('a step is offered the trigger, earlier steps with their fields, and secrets only where they may be', () => {
  const entity = { id: 1, name: 'orders', label: null, fields: [{ name: 'total', type: 'float' }] } as never;
  const definition = { ...chain(), trigger: { kind: 'event' as const, event: 'EntityCreated', entity: 'orders' }, steps: chain().steps.map((each) => (each.key === 'a' ? { ...each, action: 'ReadData', params: { entity: 'orders' } } : each)) };
  const source = { definition, entities: [entity], last: undefined, sample: { 'odd name': { deep: 1 } }, secrets: ['KEY'] };
  const paths = suggestionsFor(source, 'c').map((each) => each.path);
  for (const path of ['$svc.trigger.data.total', '$svc.steps.a.data[0].total', '$svc.steps.b.data[0]', '$svc.trigger.data["odd name"].deep']) assert.ok(paths.includes(path), path);
  assert.ok(!paths.some((path) => path.startsWith('$svc.steps.d') || path.startsWith('$svc.steps.c')));
  assert.ok(!paths.includes('$svc.secrets.KEY'));
  assert.ok(suggestionsFor(source, 'c', true).some((each) => each.path === '$svc.secrets.KEY'));
  assert.deepEqual(pathsOf({ a: [{ b: 1 }] }, '$', 5).map((each) => each.path), ['$.a', '$.a[0]', '$.a[0].b']);
});

test('texts are read as the values that the parameter takes', () => {
  assert.equal(readFieldValue('12.50', 'varchar'), '12.50');
  assert.equal(readFieldValue('12', 'integer'), 12);
  assert.equal(readFieldValue('{{ $svc.trigger.id }}', 'integer'), '{{ $svc.trigger.id }}');
  assert.equal(readFieldValue('true', 'bool'), true);
  assert.deepEqual(readFieldValue('[1,2]', 'relation'), [1, 2]);
  assert.deepEqual([readAny('5'), readAny('five'), readAny('null'), readAny('{"a":1}'), readAny('{{ $svc.x }}'), readAny('{broken')], [5, 'five', null, { a: 1 }, '{{ $svc.x }}', '{broken']);
  assert.deepEqual(splitTexts('a@b.example, {{ $svc.trigger.data["x,y"] }} ,'), ['a@b.example', '{{ $svc.trigger.data["x,y"] }}']);
});

test('problems are given to their steps', () => {
  const steps = [{ key: 'a' }, { key: 'b' }];
  assert.deepEqual(locate({ field: 'steps[1] (b).params.entity', code: '', message: '' }, steps), { place: 'b', problem: { field: 'params.entity', code: '', message: '' } });
  assert.equal(locate({ field: 'steps[0]', code: '', message: '' }, steps).place, 'a');
  assert.deepEqual(locate({ field: 'trigger.cron', code: '', message: '' }, steps).place, START);
  assert.equal(locate({ field: 'name', code: '', message: '' }, steps).place, undefined);
});
