// Changes of records from the grid: one cell with a check of its old value, and many records in one call.
import { isSame } from '../../api/json.ts';
import { Problem, type Call } from '../../api/http.ts';
import type { Task } from '../../api/live.svelte.ts';
import { canEntity, type Me } from '../../api/model.ts';
import { itemsPath, type Row } from '../../api/records.ts';
import type { Session } from '../../api/session.svelte.ts';
import { d } from './strings.en.ts';

export interface RowChange {
  id: number;
  values: Record<string, unknown>;
}

export interface Outcome {
  done: number;
  refused: { id: number; message: string }[];
}

const TOGETHER = 4;
const DELETE_MAX = 1000;
const BULK_MS = 120_000;

export const recordPath = (entity: string, id: number) => `${itemsPath(entity)}/${id}`;

/**
 * Saves one value. A list has no ETags, so the record is read first: the save is refused when the value is no longer
 * the one that the reader saw.
 */
export async function saveCell(session: Session, entity: string, id: number, field: string, seen: unknown, value: unknown): Promise<{ record: Row; etag: string | undefined }> {
  const path = recordPath(entity, id);
  const stored = await session.gateway.call<Row>({ method: 'GET', path, query: [['fields', `id,${field}`]] });
  if (!isSame(stored.data[field], seen)) throw new Problem(412, 'precondition_failed', d('cellChanged'));
  return putRecord(session, { method: 'PUT', path, body: { [field]: value } }, stored.etag);
}

export async function putRecord(session: Session, call: Call, etag: string | undefined): Promise<{ record: Row; etag: string | undefined }> {
  const answer = await session.gateway.call<Row>(call, { ifMatch: etag });
  return { record: answer.data, etag: answer.etag };
}

/** The call that changes many records by their ids. */
export function bulkCall(entity: string, changes: readonly RowChange[]): Call {
  const lines = changes.map((change) => JSON.stringify({ id: change.id, ...change.values })).join('\n');
  const body = new FormData();
  body.set('file', new File([lines], 'changes.jsonl', { type: 'application/jsonl' }));
  return { method: 'POST', path: `${itemsPath(entity)}/import`, query: [['format', 'jsonl'], ['mode', 'upsert'], ['on_conflict', 'id']], body };
}

/** An import changes many records in one call. It needs the right to create; without the right each record is one call. */
export async function changeRows(session: Session, me: Me, entity: string, changes: readonly RowChange[]): Promise<Outcome> {
  if (changes.length > 1 && canEntity(me, entity, 'create')) return changeTogether(session, entity, changes);
  const outcome: Outcome = { done: 0, refused: [] };
  const waiting = [...changes];
  const work = async () => {
    for (let change = waiting.shift(); change; change = waiting.shift()) {
      try {
        await session.gateway.call({ method: 'PUT', path: recordPath(entity, change.id), body: change.values });
        outcome.done++;
      } catch (error) {
        outcome.refused.push({ id: change.id, message: problemText(error) });
      }
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, work));
  return outcome;
}

async function changeTogether(session: Session, entity: string, changes: readonly RowChange[]): Promise<Outcome> {
  const { data } = await session.gateway.call<{ task_id: number }>(bulkCall(entity, changes), { timeoutMs: BULK_MS });
  const task = await session.gateway.get<Task>(`/tasks/${data.task_id}`);
  return { done: task.done, refused: task.errors.map((each) => ({ id: changes[each.row - 1]?.id ?? 0, message: each.detail })) };
}

export function deleteCall(entity: string, ids: readonly number[]): Call {
  return { method: 'POST', path: `${itemsPath(entity)}/delete-many`, body: { ids } };
}

export async function deleteRows(session: Session, entity: string, ids: readonly number[]): Promise<{ deleted: number; missing: number[] }> {
  let deleted = 0;
  const missing: number[] = [];
  for (let at = 0; at < ids.length; at += DELETE_MAX) {
    const call = deleteCall(entity, ids.slice(at, at + DELETE_MAX));
    const { data } = await session.gateway.call<{ deleted: number; not_found: number[] }>(call, { timeoutMs: BULK_MS });
    deleted += data.deleted;
    missing.push(...data.not_found);
  }
  return { deleted, missing };
}

export function problemText(error: unknown): string {
  const fields = error instanceof Problem ? error.errors.map((each) => `${each.field} ${each.message}`).join('; ') : '';
  return fields || (error instanceof Error ? error.message : String(error));
}
