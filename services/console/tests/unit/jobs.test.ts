import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canRetry, durationOf, groupJobs, isLike, type Job } from '../../src/api/jobs.ts';
import { changesOf, matchesEntry, restOf, targetOf, viewOf, type Entry } from '../../src/areas/audit/entries.ts';
import { findUses, readHosts } from '../../src/areas/secrets/secrets.ts';
import { showDuration } from '../../src/kit/format.ts';
import { cutText, jsonText, SHOWN_MAX } from '../../src/kit/jsonText.ts';
import { readSince } from '../../src/kit/since.ts';

const job = (id: number, workflow_id: number, step_key: string | null, code: string, status_code?: number): Job =>
  ({ id, workflow_id, status: 'failed', reason: null, error: { step_key, code, ...(status_code ? { status_code } : {}) } }) as Job;

test('jobs are like each other by workflow, step, code and status', () => {
  assert.ok(isLike(job(1, 5, 'call', 'status', 504), job(2, 5, 'call', 'status', 504)));
  assert.ok(!isLike(job(1, 5, 'call', 'status', 504), job(2, 5, 'call', 'status', 500)));
  assert.ok(!isLike(job(1, 5, 'call', 'timeout'), job(2, 6, 'call', 'timeout')));
  assert.ok(!isLike(job(1, 5, 'call', 'timeout'), job(2, 5, 'mail', 'timeout')));
  const groups = groupJobs([job(9, 5, 'call', 'timeout'), job(8, 6, 'call', 'timeout'), job(7, 5, 'call', 'timeout')]);
  assert.deepEqual(groups.map((group) => group.map((each) => each.id)), [[9, 7], [8]]);
});

test('a loop of events and a success are not retried', () => {
  const states = [['failed', null], ['cancelled', null], ['skipped', 'late'], ['skipped', 'loop_guard'], ['succeeded', null], ['running', null]] as const;
  assert.deepEqual(states.map(([status, reason]) => canRetry({ status, reason })), [true, true, true, false, false, false]);
});

test('a duration ends with the work or now', () => {
  const started_at = '2026-01-31T12:00:00.000Z';
  assert.equal(durationOf({ started_at, finished_at: '2026-01-31T12:00:01.500Z' }, 0), 1500);
  assert.equal(durationOf({ started_at, finished_at: null }, Date.parse(started_at) + 10), 10);
  assert.equal(durationOf({ started_at: null, finished_at: null }, 0), undefined);
  assert.deepEqual([0, 999, 1500, 61_000, 3_720_000].map(showDuration), ['0 ms', '999 ms', '1.5 s', '1 min 1 s', '1 h 2 min']);
});

test('a period of an address begins at a time', () => {
  const now = Date.parse('2026-01-31T12:00:30.000Z');
  assert.equal(readSince('24h', now), '2026-01-30T12:00:00.000Z');
  assert.equal(readSince('2026-01-01T00:00:00+01:00', now), '2025-12-31T23:00:00.000Z');
  assert.equal(readSince('soon', now), undefined);
  assert.equal(readSince(null, now), undefined);
});

test('a large value is cut, grows on request, and is never shown whole', () => {
  const text = jsonText(Array.from({ length: 100_000 }, (_, at) => ({ at })));
  assert.ok(cutText(text).length <= 4000);
  assert.ok(text.startsWith(`${cutText(text)}\n`));
  assert.ok(cutText(text, 1).length > cutText(text).length * 7);
  assert.ok(cutText(text, 9).length <= SHOWN_MAX);
  assert.equal(cutText('short'), 'short');
  assert.equal(cutText('x'.repeat(5000)).length, 4000);
});

const entry = (values: Partial<Entry>): Entry => ({ id: 1, at: '', actor_kind: 'user', actor_id: 7, action: 'roles.update', target: 'role', target_id: '3', detail: {}, request_id: null, ...values });

test('changes have the values that the log has', () => {
  const changed = entry({ detail: { changed: ['name', 'settings'], from: { name: 'a' }, to: { name: null }, name: 'x' } });
  assert.deepEqual(changesOf(changed), [{ name: 'name', before: 'a', after: null }, { name: 'settings', before: undefined, after: undefined }]);
  assert.deepEqual(restOf(changed), { name: 'x' });
  assert.deepEqual(changesOf(entry({})), []);
});

test('targets lead to views', () => {
  const entities = [{ id: 4, name: 'orders' }];
  assert.equal(viewOf(entry({}), entities), 'roles/3');
  assert.equal(viewOf(entry({ target: 'entity', target_id: '4' }), entities), 'data/orders');
  assert.equal(viewOf(entry({ target: 'record', target_id: '9', detail: { entity_id: 4 } }), entities), 'data/orders/9');
  assert.equal(viewOf(entry({ target: 'record', target_id: '9', detail: { entity_id: 5 } }), entities), undefined);
  assert.equal(viewOf(entry({ target: 'secret', target_id: null, detail: { name: 'KEY' } }), entities), 'secrets/KEY');
  assert.equal(viewOf(entry({ target: 'signing_key', target_id: null }), entities), undefined);
});

test('an entry matches filters as in the list of the service', () => {
  assert.equal(targetOf(entry({})), 'role/3');
  assert.ok(matchesEntry(entry({}), { target: 'role' }) && matchesEntry(entry({}), { target: 'role/3', actor: '7', kind: 'user', action: 'roles.update' }));
  const others = [{ target: 'role/4' }, { target: 'user' }, { actor: '8' }, { kind: 'api_key' }, { action: 'roles.create' }];
  assert.deepEqual(others.map((filters) => matchesEntry(entry({}), filters)), others.map(() => false));
});

test('uses of a secret are found by its whole name, in nested parameters', () => {
  const workflow = (id: number, text: string) => ({ id, name: 'w', enabled: true, steps: [{ key: 'call', params: { headers: { Authorization: text } } }, { key: 'none' }] });
  const workflows = [workflow(1, 'Bearer {{ $svc.secrets.SHOP_KEY }}'), workflow(2, '{{$svc.secrets.SHOP}}'), workflow(3, 'SHOP')];
  assert.deepEqual(findUses(workflows, 'SHOP').map((use) => [use.workflow.id, use.steps]), [[2, ['call']]]);
  assert.deepEqual(readHosts(' a.example\n\nb.example, c.example'), ['a.example', 'b.example', 'c.example']);
  assert.equal(readHosts(' \n'), null);
});
