// Files of records: uploads into a field, pictures, downloads.
import type { Call } from '../../api/http.ts';
import type { Session } from '../../api/session.svelte.ts';
import { isAborted } from '../../api/http.ts';
import { saveBlob, sendForm, transfers } from '../../kit/transfers.svelte.ts';
import { toasts } from '../../kit/toasts.svelte.ts';
import { d } from './strings.en.ts';

export interface FileInfo {
  id: number;
  filename: string;
  mime_type: string;
  size: number;
}

export const fileCall = (id: number): Call => ({ method: 'GET', path: `/files/${id}` });

/** Uploads a file. With a target the file becomes the value of the record's field at once. */
export async function uploadFile(session: Session, file: File, target?: { entity: string; id: number; field: string }): Promise<FileInfo | undefined> {
  const abort = new AbortController();
  const transfer = transfers.add(d('upload', { file: file.name }), () => abort.abort());
  const form = new FormData();
  form.set('file', file);
  const query = target ? ([['entity', target.entity], ['entityId', String(target.id)], ['fieldName', target.field]] as const) : [];
  try {
    const info = await sendForm<FileInfo>(session, '/files', query, form, abort.signal, (share) => transfers.set(transfer, { share }));
    transfers.remove(transfer);
    return info;
  } catch (error) {
    if (isAborted(error)) transfers.remove(transfer);
    else transfers.set(transfer, { state: 'failed', error });
    return undefined;
  }
}

/** The bytes of a picture as an address of the page: an element cannot send the token of the session. */
export async function readPicture(session: Session, id: number, signal: AbortSignal): Promise<string> {
  const response = await session.gateway.get<Response>(`/files/${id}/get`, [['width', '160'], ['height', '120'], ['fit', 'inside'], ['format', 'webp']], { signal, isRaw: true });
  return URL.createObjectURL(await response.blob());
}

export async function downloadFile(session: Session, info: FileInfo): Promise<void> {
  try {
    const response = await session.gateway.get<Response>(`/files/${info.id}/get`, [], { isRaw: true });
    saveBlob(await response.blob(), info.filename);
  } catch (error) {
    toasts.showProblem(error);
  }
}
