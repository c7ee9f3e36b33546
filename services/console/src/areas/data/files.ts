// Files of records: uploads into a field, pictures, downloads.
import type { Call } from '../../api/http.ts';
import type { Session } from '../../api/session.svelte.ts';
import { isAborted } from '../../api/http.ts';
import { saveBlob, transfers } from '../../kit/transfers.svelte.ts';
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
  try {
    const info = await session.gateway.client.files
      .upload(file, { signal: abort.signal, ...(target && { attach: target as never }) }) // the client's model has no entities
      .onProgress((sent, total) => transfers.set(transfer, { share: sent / total }));
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
  const query = [['width', '160'], ['height', '120'], ['fit', 'inside'], ['format', 'webp']] as const;
  return URL.createObjectURL(await session.gateway.get(`/files/${id}/get`, query, { signal, read: (answer) => answer.blob() }));
}

export async function downloadFile(session: Session, info: FileInfo): Promise<void> {
  try {
    saveBlob(await session.gateway.client.files.download(info.id), info.filename);
  } catch (error) {
    toasts.showProblem(error);
  }
}
