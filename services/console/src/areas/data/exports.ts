// Downloads of all records that match. The bytes go to a file of the reader as they arrive where the browser can do
// that, else they are held until the end.
import { isAborted, type Query } from '../../api/http.ts';
import { itemsPath } from '../../api/records.ts';
import type { Session } from '../../api/session.svelte.ts';
import { showBytes } from '../../kit/format.ts';
import { saveBlob, transfers } from '../../kit/transfers.svelte.ts';
import { d } from './strings.en.ts';

interface FilePicker {
  showSaveFilePicker?: (options: { suggestedName: string }) => Promise<{ createWritable: () => Promise<WritableStream<Uint8Array>> }>;
}

const TYPES = { csv: 'text/csv', jsonl: 'application/jsonl' };

export function exportQuery(list: Query, format: 'csv' | 'jsonl'): Query {
  return [...list.filter(([name]) => name !== 'expand'), ['format', format]];
}

export async function exportRecords(session: Session, entity: string, list: Query, format: 'csv' | 'jsonl'): Promise<void> {
  const name = `${entity}.${format}`;
  const abort = new AbortController();
  let file: WritableStream<Uint8Array> | undefined;
  try {
    file = await (window as FilePicker).showSaveFilePicker?.({ suggestedName: name }).then((handle) => handle.createWritable());
  } catch (error) {
    if (isAborted(error)) return;
  }
  const id = transfers.add(d('exportOf', { entity }), () => abort.abort());
  let bytes = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length;
      transfers.set(id, { detail: showBytes(bytes) });
      controller.enqueue(chunk);
    },
  });
  try {
    await session.gateway.get(`${itemsPath(entity)}/export`, exportQuery(list, format), {
      signal: abort.signal,
      read: async (answer) => {
        const counted = answer.body!.pipeThrough(counter, { signal: abort.signal });
        if (file) await counted.pipeTo(file, { signal: abort.signal });
        else saveBlob(new Blob([await new Response(counted).arrayBuffer()], { type: TYPES[format] }), name);
      },
    });
    transfers.set(id, { state: 'done', detail: `${name}, ${showBytes(bytes)}` });
  } catch (error) {
    await file?.abort().catch(() => undefined);
    if (isAborted(error)) return transfers.remove(id);
    transfers.set(id, { state: 'failed', error, resume: () => { transfers.remove(id); void exportRecords(session, entity, list, format); } });
  }
}
