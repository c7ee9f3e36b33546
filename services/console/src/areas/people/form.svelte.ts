// The state of a form: the version that the service has stored, the changes of the reader, and the problems of a save.
import { Drafts } from '../../api/drafts.ts';
import { Problem, type Call, type FieldProblem, type Method } from '../../api/http.ts';
import { isSame, parseJson } from '../../api/json.ts';
import type { Me } from '../../api/model.ts';
import type { Session } from '../../api/session.svelte.ts';

interface Source<T> {
  session: Session;
  me: Me;
  /** The path of the object. A new object has the path of its list and begins with `initial`. */
  path: string;
  initial?: T;
  /** Carries changes over to a version that another user has saved. */
  rebase?: (before: T, changes: Partial<T>, newer: T) => Partial<T>;
}

export class EditForm<T extends object> {
  stored = $state.raw<T>();
  changes = $state.raw<Partial<T>>({});
  error = $state.raw<unknown>();
  isSaving = $state(false);
  /** The time of the draft that the form has restored. */
  draftAt = $state<string>();
  /** Another user has saved a version since this form was opened. */
  isNewer = $state(false);
  #etag: string | undefined;
  #wrong = $state.raw<Record<string, string>>({});
  readonly #source: Source<T>;
  readonly #drafts: Drafts;

  constructor(source: Source<T>) {
    this.#source = source;
    this.#drafts = new Drafts(localStorage, source.session.project, source.me.id);
    if (source.initial) this.#accept(source.initial, undefined);
  }

  get isNew(): boolean {
    return this.#source.initial !== undefined;
  }

  get count(): number {
    return Object.keys(this.changes).length;
  }

  get isWrong(): boolean {
    return Object.keys(this.#wrong).length > 0;
  }

  isWrongAt(name: string): boolean {
    return name in this.#wrong;
  }

  /** Problems of fields: texts that are no value, and the refusals of the last save. */
  get errors(): FieldProblem[] {
    const wrong = Object.entries(this.#wrong).map(([field, message]) => ({ field, code: 'wrong', message }));
    return [...wrong, ...(this.error instanceof Problem ? this.error.errors : [])];
  }

  /** The values of the form. */
  get values(): T {
    return { ...this.stored!, ...this.changes };
  }

  async read(signal?: AbortSignal): Promise<void> {
    if (this.isNew) return;
    try {
      const { data, etag } = await this.#source.session.gateway.call<T>({ method: 'GET', path: this.#source.path }, { signal });
      this.error = undefined;
      this.#accept(data, etag);
    } catch (error) {
      if (!signal?.aborted) this.error = error;
    }
  }

  set(values: Partial<T>): void {
    const changes = { ...this.changes, ...values };
    const names = (Object.keys(changes) as (keyof T)[]).filter((name) => !isSame(changes[name], this.stored?.[name]));
    this.#wrong = Object.fromEntries(Object.entries(this.#wrong).filter(([name]) => !(name in values)));
    this.#setChanges(Object.fromEntries(names.map((name) => [name, changes[name]])) as Partial<T>);
  }

  /** Sets a member to the object that a text in JSON describes. */
  setJson(name: keyof T & string, text: string, problem: string): void {
    try {
      const value = text.trim() ? parseJson(text) : {};
      if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new SyntaxError();
      this.set({ [name]: value } as Partial<T>);
    } catch {
      this.#wrong = { ...this.#wrong, [name]: problem };
    }
  }

  discard(): void {
    this.draftAt = undefined;
    this.isNewer = false;
    this.error = undefined;
    this.#wrong = {};
    this.#setChanges({});
  }

  call(): Call {
    const method: Method = this.isNew ? 'POST' : 'PUT';
    return { method, path: this.#source.path, body: this.isNew ? this.values : this.changes };
  }

  /** Returns the stored object, or undefined when the save was refused. */
  async save(): Promise<T | undefined> {
    if (this.isSaving || this.isWrong) return undefined;
    this.isSaving = true;
    this.error = undefined;
    try {
      const { data, etag } = await this.#source.session.gateway.call<T>(this.call(), { ifMatch: this.#etag });
      this.#drafts.remove(this.#source.path);
      this.changes = {};
      this.draftAt = undefined;
      this.isNewer = false;
      // The answer of a change may have fewer members than the object that was read.
      if (!this.isNew) this.#accept({ ...this.stored, ...data }, etag);
      if (!etag) await this.read();
      return data;
    } catch (error) {
      if (!Problem.is(error, 'precondition_failed')) this.error = error;
      else {
        await this.read();
        this.isNewer = true;
      }
      return undefined;
    } finally {
      this.isSaving = false;
    }
  }

  #accept(stored: T, etag: string | undefined): void {
    const before = this.stored;
    this.stored = stored;
    this.#etag = etag;
    if (!before) this.#restore(stored);
    else this.set(this.#source.rebase?.(before, this.changes, stored) ?? this.changes);
  }

  #restore(stored: T): void {
    const draft = this.#drafts.read(this.#source.path);
    if (!draft) return;
    const { changes, before } = draft.values as { changes: Partial<T>; before: T };
    this.draftAt = draft.at;
    this.isNewer = draft.version !== (this.#etag ?? '');
    this.set(this.#source.rebase?.(before, changes, stored) ?? changes);
    if (this.count === 0) this.draftAt = undefined;
  }

  #setChanges(changes: Partial<T>): void {
    this.changes = changes;
    this.#drafts.write(this.#source.path, this.#etag ?? '', Object.keys(changes).length > 0 ? { changes, before: this.stored } : {});
  }
}
