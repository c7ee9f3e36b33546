// The state of the form of a record: the record that was read, the changes, the problems of fields, the draft.
import { isSame } from '../../api/json.ts';
import { Problem, type Call } from '../../api/http.ts';
import { Drafts, type Draft } from '../../api/drafts.ts';
import { canField, type Entity, type Field, type Me } from '../../api/model.ts';
import { itemsPath, type Row } from '../../api/records.ts';
import type { Session } from '../../api/session.svelte.ts';
import { compareVersions, type Difference, type Values } from './merge.ts';
import { recordPath } from './writes.ts';

export class RecordForm {
  readonly id: number | undefined;
  record = $state.raw<Row>();
  etag: string | undefined;
  changes = $state.raw<Values>({});
  /** Problems by field: of the text that was typed, or of the last save. */
  problems = $state.raw<Record<string, string>>({});
  error = $state.raw<unknown>();
  isSaving = $state(false);
  draft = $state.raw<Draft>();
  /** Another user has changed the record since it was read. */
  conflict = $state.raw<{ differences: Difference[]; record: Row; etag: string | undefined }>();
  readonly #session: Session;
  readonly #entity: Entity;
  readonly #drafts: Drafts;
  /** The token of the lock that this form holds. */
  lockToken: string | undefined;

  constructor(session: Session, me: Me, entity: Entity, id: number | undefined) {
    this.#session = session;
    this.#entity = entity;
    this.id = id;
    this.#drafts = new Drafts(localStorage, session.project, me.id);
    if (id === undefined) {
      const values = entity.fields.filter((field) => field.default !== null).map((field) => [field.name, field.default]);
      this.record = { id: 0, ...Object.fromEntries(values) } as Row;
      this.#restoreDraft();
    }
  }

  get #resource(): string {
    return `${this.#entity.name}/${this.id ?? 'new'}`;
  }

  get count(): number {
    return Object.keys(this.changes).length;
  }

  value(name: string): unknown {
    return name in this.changes ? this.changes[name] : this.record?.[name];
  }

  async read(signal?: AbortSignal): Promise<void> {
    if (this.id === undefined) return;
    try {
      const answer = await this.#session.gateway.call<Row>({ method: 'GET', path: recordPath(this.#entity.name, this.id) }, { signal });
      this.accept(answer.data, answer.etag);
      this.error = undefined;
      if (!this.draft && this.count === 0) this.#restoreDraft();
    } catch (error) {
      if (!signal?.aborted) this.error = error;
    }
  }

  /** Takes a stored version of the record. Changes that the stored version already has are no changes. */
  accept(record: Row, etag: string | undefined): void {
    this.record = record;
    this.etag = etag;
    // A draft that was not offered yet is not touched.
    if (this.count > 0) this.#setChanges(Object.fromEntries(Object.entries(this.changes).filter(([name, value]) => !isSame(value, record[name]))));
  }

  set(field: Field, value: unknown, wrong: string | undefined): void {
    const { [field.name]: _, ...others } = this.problems;
    this.problems = wrong ? { ...others, [field.name]: wrong } : others;
    if (wrong) return;
    const { [field.name]: __, ...changes } = this.changes;
    const stays = value === undefined || (isSame(value, this.record?.[field.name]) && this.id !== undefined);
    this.#setChanges(stays ? changes : { ...changes, [field.name]: value });
  }

  discard(): void {
    this.draft = undefined;
    this.problems = {};
    this.error = undefined;
    this.conflict = undefined;
    this.#setChanges({});
  }

  /** The call that a save makes. */
  call(me: Me): Call {
    if (this.id !== undefined) return { method: 'PUT', path: recordPath(this.#entity.name, this.id), body: this.changes };
    const open = this.#entity.fields.filter((field) => canField(me, this.#entity.name, field, 'create'));
    const values = open.map((field) => [field.name, this.value(field.name)] as const).filter(([, value]) => value !== undefined && value !== null);
    return { method: 'POST', path: itemsPath(this.#entity.name), body: Object.fromEntries(values) };
  }

  /** Returns the stored record, or undefined when the save was refused. */
  async save(me: Me): Promise<Row | undefined> {
    if (this.isSaving || Object.keys(this.problems).length > 0) return undefined;
    this.isSaving = true;
    this.error = undefined;
    try {
      const { data, etag } = await this.#session.gateway.call<Row>(this.call(me), { ifMatch: this.etag, lockToken: this.lockToken });
      this.#drafts.remove(this.#resource);
      this.draft = undefined;
      this.changes = {};
      this.accept(data, etag);
      return data;
    } catch (error) {
      if (Problem.is(error, 'precondition_failed')) await this.#compare();
      else this.#show(error);
      return undefined;
    } finally {
      this.isSaving = false;
    }
  }

  /** Continues after a conflict with the stored version and the chosen changes. */
  resolve(changes: Values): void {
    const conflict = this.conflict;
    if (!conflict) return;
    this.conflict = undefined;
    this.changes = changes;
    this.accept(conflict.record, conflict.etag);
  }

  async #compare(): Promise<void> {
    const base = this.record!;
    try {
      const { data, etag } = await this.#session.gateway.call<Row>({ method: 'GET', path: recordPath(this.#entity.name, this.id!) });
      this.conflict = { differences: compareVersions(base, data, this.changes, this.#entity.fields.map((field) => field.name)), record: data, etag };
    } catch (error) {
      this.#show(error);
    }
  }

  #show(error: unknown): void {
    this.error = error;
    if (error instanceof Problem) this.problems = Object.fromEntries(error.errors.map((each) => [each.field, each.message]));
  }

  #restoreDraft(): void {
    const draft = this.#drafts.read(this.#resource);
    if (!draft) return;
    const names = this.#entity.fields.map((field) => field.name);
    const values = Object.fromEntries(Object.entries(draft.values).filter(([name, value]) => names.includes(name) && !isSame(value, this.record?.[name])));
    if (Object.keys(values).length === 0) return this.#drafts.remove(this.#resource);
    this.draft = draft;
    this.changes = values;
  }

  #setChanges(changes: Values): void {
    this.changes = changes;
    // A secret is never stored in the browser.
    const secrets = this.#entity.fields.filter((field) => field.type === 'secret').map((field) => field.name);
    const values = Object.fromEntries(Object.entries(changes).filter(([name]) => !secrets.includes(name)));
    this.#drafts.write(this.#resource, this.etag ?? '', values);
  }
}
