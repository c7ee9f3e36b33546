// Short messages about work that has ended.
import { Problem } from '../api/http.ts';

export interface Toast {
  id: number;
  kind: 'ok' | 'error';
  text: string;
  requestId?: string | undefined;
  action?: { label: string; run: () => void } | undefined;
}

export const UNDO_MS = 10_000;
const OK_MS = 5000;

class Toasts {
  list = $state.raw<Toast[]>([]);
  #timers = new Map<number, ReturnType<typeof setTimeout>>();
  #last = 0;

  show(toast: Omit<Toast, 'id'>, ms = toast.action ? UNDO_MS : OK_MS): number {
    const id = ++this.#last;
    this.list = [...this.list.slice(-3), { ...toast, id }];
    // A failure stays until it is closed: a reader may be looking elsewhere.
    if (toast.kind === 'ok') this.#timers.set(id, setTimeout(() => this.close(id), ms));
    return id;
  }

  showProblem(error: unknown): void {
    const isProblem = error instanceof Problem;
    const fields = isProblem ? error.errors.map((each) => `${each.field} ${each.message}`).join('; ') : '';
    const text = error instanceof Error ? error.message : String(error);
    this.show({ kind: 'error', text: fields ? `${text}: ${fields}` : text, requestId: isProblem ? error.requestId : undefined });
  }

  close(id: number): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
    this.list = this.list.filter((each) => each.id !== id);
  }
}

export const toasts = new Toasts();
