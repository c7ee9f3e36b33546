// Uploads and downloads that continue while the reader uses other views. The frame shows them.
import { Problem, problemOf, queryText, type Query } from '../api/http.ts';
import type { Session } from '../api/session.svelte.ts';

export interface Transfer {
  id: number;
  title: string;
  /** From 0 to 1; undefined when the size is not known. */
  share: number | undefined;
  detail: string;
  /** Lines to open, such as refused rows. */
  notes?: string[];
  state: 'running' | 'done' | 'failed';
  error?: unknown;
  /** Continues a transfer that has failed. */
  resume?: (() => void) | undefined;
  cancel: () => void;
}

class Transfers {
  list = $state.raw<Transfer[]>([]);
  #last = 0;

  add(title: string, cancel: () => void): number {
    const id = ++this.#last;
    this.list = [...this.list, { id, title, share: undefined, detail: '', state: 'running', cancel }];
    return id;
  }

  set(id: number, values: Partial<Transfer>): void {
    this.list = this.list.map((each) => (each.id === id ? { ...each, ...values } : each));
  }

  remove(id: number): void {
    this.list = this.list.filter((each) => each.id !== id);
  }
}

export const transfers = new Transfers();

/** Sends a form. fetch() does not report the bytes that were sent, so this is an XMLHttpRequest. */
export async function sendForm<T>(session: Session, path: string, query: Query, form: FormData, signal: AbortSignal, onSent: (share: number) => void): Promise<T> {
  const token = await session.token();
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', session.base + path + queryText(query));
    if (token) request.setRequestHeader('Authorization', `Bearer ${token}`);
    request.upload.onprogress = (event) => event.lengthComputable && onSent(event.loaded / event.total);
    request.onerror = () => reject(new Problem(0, 'network', 'The connection was lost during the upload.'));
    request.onabort = () => reject(new DOMException('The upload was cancelled.', 'AbortError'));
    request.onload = () => {
      if (request.status < 300) return resolve(JSON.parse(request.responseText || 'null') as T);
      void problemOf(new Response(request.responseText, { status: request.status })).then(reject);
    };
    signal.addEventListener('abort', () => request.abort(), { once: true });
    request.send(form);
  });
}

/** Saves bytes as a file of the reader. */
export function saveBlob(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
