// The rows of a grid, in pages. A page after a page that is known is read by its cursor, which costs the same at any
// depth. A page that was jumped to is read by its number. At most 50 pages are held.
import { isAborted, type Query } from '../../api/http.ts';
import type { Page } from '../../api/model.ts';
import { firstPage, PAGE_SIZE, type Row } from '../../api/records.ts';

const PAGES_MAX = 50;
const JUMP_MS = 80;

type State = { rows: Row[] } | { error: unknown } | { abort: AbortController };

export interface Source {
  /** Filter, sort and fields. */
  query: Query;
  read: (query: Query, signal: AbortSignal) => Promise<Page<Row>>;
  count: (signal: AbortSignal) => Promise<number>;
}

export class Pages {
  /** The number of rows; until they are counted, the rows that are known to exist. */
  total = $state(0);
  isCounted = $state(false);
  isFirstRead = $state(false);
  /** Why the first page could not be read. */
  error = $state.raw<unknown>();
  #version = $state(0);
  readonly #source: Source;
  /** In the order of their last use. */
  readonly #pages = new Map<number, State>();
  readonly #cursors = new Map<number, string>();
  readonly #places = new Map<number, number>();
  readonly #countAbort = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(source: Source) {
    this.#source = source;
    void this.#load(0);
  }

  get query(): Query {
    return this.#source.query;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#countAbort.abort();
    for (const state of this.#pages.values()) if ('abort' in state) state.abort.abort();
  }

  row(at: number): Row | undefined {
    void this.#version;
    const state = this.#pages.get(Math.floor(at / PAGE_SIZE));
    return state && 'rows' in state ? state.rows[at % PAGE_SIZE] : undefined;
  }

  /** Why the page of a row could not be read. */
  rowError(at: number): unknown {
    void this.#version;
    const state = this.#pages.get(Math.floor(at / PAGE_SIZE));
    return state && 'error' in state ? state.error : undefined;
  }

  find(id: number): { row: Row; at: number } | undefined {
    void this.#version;
    const at = this.#places.get(id);
    const row = at === undefined ? undefined : this.row(at);
    return row && at !== undefined ? { row, at } : undefined;
  }

  /** All rows that are held, in their order. */
  held(): Row[] {
    void this.#version;
    return [...this.#pages.entries()].sort((a, b) => a[0] - b[0]).flatMap(([, state]) => ('rows' in state ? state.rows : []));
  }

  /** Reads the pages of the rows from `first` to before `end`, and the next page. */
  show(first: number, end: number): void {
    const from = Math.floor(first / PAGE_SIZE);
    const to = Math.floor(Math.max(first, end - 1) / PAGE_SIZE);
    clearTimeout(this.#timer);
    for (const [page, state] of this.#pages) {
      const isFar = page < from - 1 || page > to + 1;
      if (isFar && 'abort' in state && page !== 0) {
        state.abort.abort();
        this.#pages.delete(page);
      }
    }
    const wanted = [];
    for (let page = from; page <= Math.min(to + 1, this.#lastPage()); page++) {
      const state = this.#pages.get(page);
      if (!state) wanted.push(page);
      else if ('rows' in state) {
        this.#pages.delete(page);
        this.#pages.set(page, state);
      }
    }
    const near = wanted.filter((page) => this.#isNear(page));
    near.forEach((page) => void this.#load(page));
    // A thumb that is dragged passes many pages: only the page where it rests is read.
    const far = wanted.filter((page) => !near.includes(page) && page <= to);
    if (far.length > 0) this.#timer = setTimeout(() => far.forEach((page) => void this.#load(page)), JUMP_MS);
  }

  retry(at: number): void {
    this.error = undefined;
    const page = Math.floor(at / PAGE_SIZE);
    this.#pages.delete(page);
    void this.#load(page);
  }

  /** Changes a row in place, as after a save or a live change. */
  update(id: number, values: Partial<Row>): void {
    const found = this.find(id);
    const state = found && this.#pages.get(Math.floor(found.at / PAGE_SIZE));
    if (!state || !('rows' in state)) return;
    state.rows[found.at % PAGE_SIZE] = { ...found.row, ...values };
    this.#version++;
  }

  #lastPage(): number {
    return Math.max(0, Math.floor((this.total - 1) / PAGE_SIZE));
  }

  #isNear(page: number): boolean {
    return page === 0 || this.#cursors.has(page);
  }

  async #load(page: number): Promise<void> {
    if (this.#pages.has(page)) return;
    const abort = new AbortController();
    this.#pages.set(page, { abort });
    try {
      this.#keep(page, await this.#source.read(this.#queryOf(page), abort.signal));
    } catch (error) {
      if (isAborted(error) || abort.signal.aborted) return;
      this.#pages.set(page, { error });
      if (page === 0) this.error = error;
    }
    this.#version++;
  }

  #queryOf(page: number): Query {
    const cursor = this.#cursors.get(page);
    if (page === 0) return firstPage(this.#source.query);
    const base: Query = [...this.#source.query, ['limit', String(PAGE_SIZE)], ['count', 'false']];
    return [...base, cursor ? (['cursor', cursor] as const) : (['page', String(page + 1)] as const)];
  }

  #keep(page: number, answer: Page<Row>): void {
    this.#pages.set(page, { rows: answer.items });
    answer.items.forEach((row, index) => this.#places.set(row.id, page * PAGE_SIZE + index));
    if (answer.next_cursor) this.#cursors.set(page + 1, answer.next_cursor);
    const known = page * PAGE_SIZE + answer.items.length;
    if (!answer.has_next_page && (answer.items.length > 0 || page === 0)) {
      this.total = known;
      this.isCounted = true;
    } else if (!this.isCounted) {
      // The list is one page longer than the known rows, so that the reader can scroll to the next page.
      this.total = Math.max(this.total, known + (answer.has_next_page ? PAGE_SIZE : 0));
    }
    if (page === 0 && !this.isFirstRead) {
      this.isFirstRead = true;
      this.error = undefined;
      if (answer.has_next_page) void this.#count();
    }
    this.#drop();
  }

  async #count(): Promise<void> {
    try {
      this.total = await this.#source.count(this.#countAbort.signal);
      this.isCounted = true;
    } catch {
      // The grid works without the number: it grows as pages are read.
    }
  }

  #drop(): void {
    for (const [page, state] of this.#pages) {
      if (this.#pages.size <= PAGES_MAX) return;
      if (!('rows' in state)) continue;
      this.#pages.delete(page);
      state.rows.forEach((row) => this.#places.delete(row.id));
    }
  }
}
