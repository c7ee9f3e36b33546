// The records of a grid: their pages, live changes, the selection, and changes of one cell or of many records.
import { SvelteMap, SvelteSet } from 'svelte/reactivity';
import { Problem, type Query } from '../../api/http.ts';
import { isSame } from '../../api/json.ts';
import type { Change } from '../../api/live.svelte.ts';
import { findField, type Entity, type Field, type Me, type Page } from '../../api/model.ts';
import { itemsPath, readList, type Row } from '../../api/records.ts';
import type { Session } from '../../api/session.svelte.ts';
import { toasts } from '../../kit/toasts.svelte.ts';
import { cellText } from './kinds.ts';
import { Pages } from './pages.svelte.ts';
import { d } from './strings.en.ts';
import { changeRows, deleteRows, putRecord, recordPath, saveCell, type RowChange } from './writes.ts';

const SELECTED_MAX = 10_000;
const ID_PAGE = 500;
const OWN_MS = 3000;
const FLASH_MS = 400;

export class RecordList {
  readonly path: string;
  round = $state(0);
  /** Records that were created since the list was read. They do not move what the reader sees. */
  news = $state(0);
  readonly gone = new SvelteSet<number>();
  readonly changed = new SvelteSet<number>();
  readonly selected = new SvelteSet<number>();
  readonly saving = new SvelteMap<string, true>();
  isSelecting = $state(false);
  /** Undoes the last change. */
  undo = $state.raw<() => void>();
  #pages = $state.raw<Pages>();
  #previous = $state.raw<Pages>();
  /** The list could not be read again, because the service did not answer: the rows that were read before stay. */
  isCut = $derived(Problem.is(this.#pages?.error, 'network') && this.#previous?.query === this.#pages?.query);
  /** The old list stays until the first page of the new one is there. */
  shown = $derived(this.#pages?.isFirstRead || (this.#pages?.error && !this.isCut) || !this.#previous ? this.#pages : this.#previous);
  isStale = $derived(this.shown !== this.#pages);
  #query: Query = [];
  /** When this page changed a record: the live change that follows is not news. */
  readonly #own = new Map<number, number>();
  readonly #session: Session;
  readonly #entity: Entity;
  readonly #me: () => Me;

  constructor(session: Session, entity: Entity, me: () => Me) {
    this.#session = session;
    this.#entity = entity;
    this.#me = me;
    this.path = itemsPath(entity.name);
  }

  // --- the list ---

  /** Reads a list and returns the function that ends it. */
  open(query: Query): () => void {
    const filters = query.filter(([name]) => name.startsWith('filter'));
    const pages = new Pages({
      query,
      read: (list, signal) => readList(this.#session, this.path, list, signal),
      count: async (signal) => (await this.#session.gateway.get<Page<Row>>(this.path, [...filters, ['fields', 'id'], ['limit', '1']], { signal })).total_items,
    });
    this.#query = query;
    this.#pages = pages;
    this.news = 0;
    this.gone.clear();
    return () => {
      pages.stop();
      if (!this.isCut) this.#previous = pages.isFirstRead ? pages : undefined;
    };
  }

  reload(): void {
    this.round++;
  }

  row(at: number): Row | undefined {
    return this.shown?.row(at);
  }

  // --- live changes ---

  take(change: Change): void {
    if (change.kind === 'reset') return this.reload();
    if (change.kind === 'deleted') this.gone.add(change.id);
    else if (this.shown?.find(change.id)) this.show(change.id, change.record as Row, this.#isOwn(change.id));
    else if (change.kind === 'created' && !this.#isOwn(change.id)) this.news++;
  }

  /** Shows the values of a changed record in its row. */
  show(id: number, record: Partial<Row>, isOwn: boolean): void {
    const before = this.shown?.find(id)?.row;
    if (!before) return;
    const values = Object.fromEntries(Object.keys(before).filter((name) => name in record).map((name) => {
      const old = before[name] as { id?: number } | null;
      // A list has the names of files, and a change has only their ids.
      const isSameFile = findField(this.#entity, name)?.type === 'file' && old?.id !== undefined && old.id === record[name];
      return [name, isSameFile ? old : record[name]];
    }));
    this.shown?.update(id, values);
    this.gone.delete(id);
    if (isOwn || Object.keys(values).every((name) => isSame(before[name], values[name]))) return;
    this.changed.add(id);
    setTimeout(() => this.changed.delete(id), FLASH_MS);
  }

  markOwn(id: number): void {
    this.#own.set(id, Date.now());
  }

  #isOwn(id: number): boolean {
    return Date.now() - (this.#own.get(id) ?? 0) < OWN_MS;
  }

  // --- selection ---

  toggle(id: number): void {
    if (!this.selected.delete(id)) this.selected.add(id);
  }

  /** Selects all records of the list, also those of pages that were not read. */
  async selectAll(): Promise<void> {
    if (this.selected.size > 0) return this.selected.clear();
    this.isSelecting = true;
    try {
      const list: Query = [...this.#query.filter(([name]) => name.startsWith('filter') || name === 'sort'), ['fields', 'id'], ['limit', String(ID_PAGE)], ['count', 'false']];
      let cursor: string | null | undefined = 'start';
      while (cursor && this.selected.size < SELECTED_MAX) {
        const page: Page<Row> = await this.#session.gateway.get<Page<Row>>(this.path, [...list, ['cursor', cursor]]);
        for (const row of page.items) this.selected.add(row.id);
        cursor = page.next_cursor;
      }
      if (cursor) toasts.show({ kind: 'ok', text: d('valuesCut') });
    } catch (error) {
      toasts.showProblem(error);
    } finally {
      this.isSelecting = false;
    }
  }

  async deleteSelected(): Promise<void> {
    try {
      const { deleted, missing } = await deleteRows(this.#session, this.#entity.name, [...this.selected]);
      const isWhole = missing.length === 0;
      toasts.show({ kind: isWhole ? 'ok' : 'error', text: isWhole ? d('deletedDone', { n: deleted }) : d('deletedSome', { n: deleted, missing: missing.length }) });
      this.selected.clear();
    } catch (error) {
      toasts.showProblem(error);
    }
    this.reload();
  }

  // --- changes ---

  /** Saves the value of a cell. The cell shows the value at once, and the old value again after a refusal. */
  async save(row: Row, field: Field, value: unknown): Promise<void> {
    const entity = this.#entity.name;
    const before = row[field.name];
    if (isSame(before, value)) return;
    const held = this.shown?.find(row.id)?.row[field.name];
    const key = `${row.id}/${field.name}`;
    this.undo = undefined;
    this.saving.set(key, true);
    this.markOwn(row.id);
    this.shown?.update(row.id, { [field.name]: value });
    try {
      const { record, etag } = await saveCell(this.#session, entity, row.id, field.name, before, value);
      this.markOwn(row.id);
      this.show(row.id, record, true);
      this.#offerUndo(`${field.name}: ${cellText(field, value) || d('noValue')}`, async () => {
        const restored = await putRecord(this.#session, { method: 'PUT', path: recordPath(entity, row.id), body: { [field.name]: before } }, etag);
        this.markOwn(row.id);
        this.show(row.id, restored.record, true);
      });
    } catch (error) {
      this.shown?.update(row.id, { [field.name]: held });
      toasts.showProblem(error);
    } finally {
      this.saving.delete(key);
    }
  }

  /** Changes many records. The rows that are held show the changes at once. */
  async changeMany(changes: RowChange[]): Promise<void> {
    const before = changes.map((change): RowChange => {
      const row = this.shown?.find(change.id)?.row;
      return { id: change.id, values: row ? Object.fromEntries(Object.keys(change.values).map((name) => [name, row[name]])) : {} };
    });
    const apply = (list: RowChange[]) => {
      for (const change of list) {
        this.markOwn(change.id);
        this.shown?.update(change.id, change.values);
      }
    };
    this.undo = undefined;
    apply(changes);
    try {
      const { done, refused } = await changeRows(this.#session, this.#me(), this.#entity.name, changes);
      const ids = new Set(refused.map((each) => each.id));
      apply(before.filter((change) => ids.has(change.id)));
      const first = refused[0];
      if (first) toasts.show({ kind: 'error', text: d('bulkFailed', { n: changes.length - done, first: `${this.#entity.name}/${first.id}: ${first.message}` }) });
      if (done === 0) return;
      // An old value is known only of rows that are held and of columns that are shown.
      const canUndo = before.every((change) => Object.keys(change.values).length > 0 && Object.values(change.values).every((value) => value !== undefined));
      const text = d('bulkDone', { n: done });
      if (!canUndo) return void toasts.show({ kind: 'ok', text });
      this.#offerUndo(text, async () => {
        await changeRows(this.#session, this.#me(), this.#entity.name, before);
        apply(before);
      });
    } catch (error) {
      apply(before);
      toasts.showProblem(error);
    }
  }

  #offerUndo(text: string, work: () => Promise<void>): void {
    const run = () => {
      this.undo = undefined;
      work().then(
        () => toasts.show({ kind: 'ok', text: d('undone') }),
        (error: unknown) => toasts.showProblem(error),
      );
    };
    this.undo = run;
    toasts.show({ kind: 'ok', text: `${d('saved')} – ${text}`, action: { label: d('undo'), run } });
  }
}
