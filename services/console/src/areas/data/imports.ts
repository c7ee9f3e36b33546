// Imports: a file is sent once and written while it arrives. An import that was cut off continues after its last row.
import { isAborted, type Query } from '../../api/http.ts';
import { liveOf, type Task } from '../../api/live.svelte.ts';
import type { Page } from '../../api/model.ts';
import { itemsPath } from '../../api/records.ts';
import type { Session } from '../../api/session.svelte.ts';
import { sendForm, transfers } from '../../kit/transfers.svelte.ts';
import { d } from './strings.en.ts';

export interface PreviewColumn {
  column: string;
  field: string | null;
  type: string | null;
  guessed_type: string | null;
  filled: number;
  empty: number;
  examples: string[];
}

export interface Preview {
  rows: number;
  taken: number;
  refused: number;
  columns: PreviewColumn[];
  errors: { row: number; code: string; detail: string }[];
}

export type Format = 'csv' | 'json' | 'jsonl';

export interface Plan {
  format: Format;
  /** The unique field by which records are found; empty: each row creates a record. */
  key: string;
  decimal: string;
  dates: string;
  /** Field by column; empty: the column is not imported. */
  mapping: Record<string, string>;
}

const SAMPLE_BYTES = 1_000_000;
const CLOCK_MS = 60_000;
const RECENT = 5;

export function formatOf(name: string): Format {
  const ending = name.toLowerCase().split('.').pop();
  return ending === 'json' ? 'json' : ending === 'jsonl' || ending === 'ndjson' ? 'jsonl' : 'csv';
}

export function importQuery(plan: Plan): Query {
  return [
    ['format', plan.format],
    ...(plan.key ? ([['mode', 'upsert'], ['on_conflict', plan.key]] as const) : []),
    ...(plan.format === 'csv' ? ([['decimal', plan.decimal], ['dates', plan.dates]] as const) : []),
    ...Object.entries(plan.mapping).map(([column, field]) => [`mapping[${column}]`, field] as const),
  ];
}

function formOf(file: Blob, name: string): FormData {
  const form = new FormData();
  form.set('file', file, name);
  return form;
}

/** The first lines of a file. The preview reads 200 rows, so a large file need not be sent for it. */
async function firstLines(file: File, format: Format): Promise<Blob> {
  if (format === 'json' || file.size <= SAMPLE_BYTES) return file;
  const bytes = new Uint8Array(await file.slice(0, SAMPLE_BYTES).arrayBuffer());
  return new Blob([bytes.subarray(0, bytes.lastIndexOf(10) + 1)]);
}

export async function previewImport(session: Session, entity: string, file: File, plan: Plan, signal: AbortSignal): Promise<Preview> {
  const body = formOf(await firstLines(file, plan.format), file.name);
  const query: Query = [...importQuery(plan), ['dry_run', 'true']];
  return (await session.gateway.call<Preview>({ method: 'POST', path: `${itemsPath(entity)}/import`, query, body }, { signal })).data;
}

/** Imports a file while the reader uses other views. `resume` is the task of an import that was cut off. */
export async function runImport(session: Session, entity: string, file: File, plan: Plan, onEnd: () => void, resume?: number): Promise<void> {
  const abort = new AbortController();
  const id = transfers.add(d('importName', { file: file.name, entity }), () => abort.abort());
  const begun = Date.now() - CLOCK_MS;
  const stop = liveOf(session).listen({
    onTask: (task) => {
      if (task.kind === 'import' && task.status === 'running' && new Date(task.created_at).getTime() > begun) transfers.set(id, { detail: d('importDone', { n: task.done, failed: task.failed }) });
    },
  });
  const query: Query = [...importQuery(plan), ...(resume ? [['resume', String(resume)] as const] : [])];
  try {
    const { task_id } = await sendForm<{ task_id: number }>(session, `${itemsPath(entity)}/import`, query, formOf(file, file.name), abort.signal, (share) => transfers.set(id, { share }));
    const task = await session.gateway.get<Task>(`/tasks/${task_id}`);
    const notes = task.errors.map((each) => `${d('importRow', { row: each.row })}: ${each.detail}`);
    transfers.set(id, { state: task.status === 'failed' ? 'failed' : 'done', detail: d('importDone', { n: task.done, failed: task.failed }), notes });
  } catch (error) {
    if (isAborted(error)) return transfers.remove(id);
    const task = resume ?? (await findCutOff(session, begun));
    const again = () => {
      transfers.remove(id);
      void runImport(session, entity, file, plan, onEnd, task);
    };
    transfers.set(id, { state: 'failed', error, resume: task ? again : undefined });
  } finally {
    stop();
    onEnd();
  }
}

/** The caller's newest import that has not ended well, which is the import that was just cut off. */
async function findCutOff(session: Session, begun: number): Promise<number | undefined> {
  const page = await session.gateway.get<Page<Task>>('/tasks', [['limit', String(RECENT)], ['count', 'false']]).catch(() => undefined);
  return page?.items.find((task) => task.kind === 'import' && ['running', 'failed'].includes(task.status) && new Date(task.created_at).getTime() > begun)?.id;
}
