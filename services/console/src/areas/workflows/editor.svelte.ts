// The state of the editor: the stored workflow, the definition that the reader changes, undo, the draft, the save.
import { Drafts, type Draft } from '../../api/drafts.ts';
import { Problem, type Call, type FieldProblem } from '../../api/http.ts';
import { isSame } from '../../api/json.ts';
import type { Me } from '../../api/model.ts';
import { refresh } from '../../api/query.ts';
import type { Session } from '../../api/session.svelte.ts';
import { compare, merge, type Change } from './changes.ts';
import { definitionOf, emptyDefinition, type Definition, type Workflow } from './definition.ts';
import { locate, type Located } from './problems.ts';

const UNDO_MAX = 200;
const TYPING_MS = 1500;
const DRAFT_MS = 300;

export interface Conflict {
  stored: Workflow;
  etag: string | undefined;
  theirs: Change[];
  merged: Definition;
  both: string[];
}

export const workflowPath = (id: number): string => `/workflows/${id}`;

export class Editor {
  readonly id: number | undefined;
  stored = $state.raw<Workflow>();
  etag: string | undefined;
  definition = $state.raw<Definition>(emptyDefinition());
  error = $state.raw<unknown>();
  problems = $state.raw<readonly Located[]>([]);
  conflict = $state.raw<Conflict>();
  draft = $state.raw<Draft>();
  isSaving = $state(false);
  #past = $state.raw<Definition[]>([]);
  #future = $state.raw<Definition[]>([]);
  #mark = '';
  #markedAt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #session: Session;
  readonly #drafts: Drafts;

  constructor(session: Session, me: Me, id: number | undefined) {
    this.#session = session;
    this.id = id;
    this.#drafts = new Drafts(localStorage, session.project, me.id);
    if (id === undefined) this.#restoreDraft();
  }

  readonly base = $derived<Definition>(this.stored ? definitionOf(this.stored) : emptyDefinition());
  readonly isDirty = $derived(!isSame(this.definition, this.base));
  readonly canUndo = $derived(this.#past.length > 0);
  readonly canRedo = $derived(this.#future.length > 0);
  isReady = $derived.by(() => this.stored !== undefined || this.id === undefined);
  /** The number of problems of each step. */
  readonly counts = $derived.by(() => {
    const counts: Record<string, number> = {};
    for (const { place } of this.problems) if (place !== undefined) counts[place] = (counts[place] ?? 0) + 1;
    return counts;
  });

  get #resource(): string {
    return `workflows/${this.id ?? 'new'}`;
  }

  problemsOf(place: string | undefined): FieldProblem[] {
    return this.problems.filter((each) => each.place === place).map((each) => each.problem);
  }

  async read(signal?: AbortSignal): Promise<void> {
    if (this.id === undefined) return;
    try {
      const { data, etag } = await this.#session.gateway.call<Workflow>({ method: 'GET', path: workflowPath(this.id) }, { signal });
      const wasDirty = this.stored !== undefined && this.isDirty;
      this.error = undefined;
      if (wasDirty) return;
      this.#accept(data, etag);
      this.#restoreDraft();
    } catch (error) {
      if (!signal?.aborted) this.error = error;
    }
  }

  /** Changes with the same mark that follow each other quickly, such as letters of a text, are undone together. */
  change(definition: Definition, mark = ''): void {
    if (definition === this.definition || isSame(definition, this.definition)) return;
    const now = Date.now();
    const isTyping = mark !== '' && mark === this.#mark && now - this.#markedAt < TYPING_MS;
    if (!isTyping) this.#past = [...this.#past.slice(-UNDO_MAX), this.definition];
    this.#mark = mark;
    this.#markedAt = now;
    this.#future = [];
    this.#set(definition);
  }

  undo(): void {
    const before = this.#past.at(-1);
    if (!before) return;
    this.#past = this.#past.slice(0, -1);
    this.#future = [...this.#future, this.definition];
    this.#mark = '';
    this.#set(before);
  }

  redo(): void {
    const next = this.#future.at(-1);
    if (!next) return;
    this.#future = this.#future.slice(0, -1);
    this.#past = [...this.#past, this.definition];
    this.#mark = '';
    this.#set(next);
  }

  /** Returns to the stored workflow. The changes can be had again with undo. */
  discard(): void {
    this.draft = undefined;
    this.problems = [];
    this.error = undefined;
    this.conflict = undefined;
    this.change(this.base);
  }

  call(): Call {
    if (this.id === undefined) return { method: 'POST', path: '/workflows', body: this.definition };
    const changed = Object.entries(this.definition).filter(([name, value]) => !isSame(value, this.base[name as keyof Definition]));
    return { method: 'PUT', path: workflowPath(this.id), body: Object.fromEntries(changed) };
  }

  /** Returns the stored workflow, or undefined when the save was refused. */
  async save(): Promise<Workflow | undefined> {
    if (this.isSaving) return undefined;
    this.isSaving = true;
    this.error = undefined;
    this.problems = [];
    const sent = this.definition;
    try {
      const { data, etag } = await this.#session.gateway.call<Workflow>(this.call(), { ifMatch: this.etag });
      this.#finishDraft();
      this.stored = data;
      this.etag = etag;
      // A change that was made during the save stays.
      if (this.definition === sent) this.definition = definitionOf(data);
      else this.#keepDraft();
      void refresh(this.#session.project, ['workflows']);
      return data;
    } catch (error) {
      if (Problem.is(error, 'precondition_failed')) await this.#compare();
      else this.#show(error);
      return undefined;
    } finally {
      this.isSaving = false;
    }
  }

  /** Continues after a conflict with the version of the service as the base. */
  resolve(definition: Definition): void {
    const conflict = this.conflict;
    if (!conflict) return;
    this.conflict = undefined;
    this.stored = conflict.stored;
    this.etag = conflict.etag;
    this.change(definition);
  }

  flush(): void {
    clearTimeout(this.#timer);
    if (this.#timer !== undefined) this.#writeDraft();
  }

  #accept(data: Workflow, etag: string | undefined): void {
    this.stored = data;
    this.etag = etag;
    this.definition = definitionOf(data);
  }

  async #compare(): Promise<void> {
    try {
      const { data, etag } = await this.#session.gateway.call<Workflow>({ method: 'GET', path: workflowPath(this.id!) });
      this.#putConflict(this.base, data, etag);
    } catch (error) {
      this.#show(error);
    }
  }

  #show(error: unknown): void {
    this.error = error;
    if (error instanceof Problem) this.problems = error.errors.map((each) => locate(each, this.definition.steps));
  }

  #set(definition: Definition): void {
    this.definition = definition;
    this.#keepDraft();
  }

  #keepDraft(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#writeDraft(), DRAFT_MS);
  }

  #writeDraft(): void {
    this.#timer = undefined;
    this.#drafts.write(this.#resource, this.etag ?? '', this.isDirty ? { definition: this.definition, base: this.base } : {});
  }

  #finishDraft(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#drafts.remove(this.#resource);
    this.draft = undefined;
  }

  #restoreDraft(): void {
    const draft = this.#drafts.read(this.#resource);
    const definition = draft?.values.definition as Definition | undefined;
    if (!draft || !definition?.steps || isSame(definition, this.base)) return;
    this.draft = draft;
    this.#past = [this.base];
    this.definition = definition;
    // The workflow was saved since the draft was begun: both users' changes are compared before the next save.
    if (this.stored && draft.version !== this.etag) this.#putConflict((draft.values.base as Definition | undefined) ?? this.base, this.stored, this.etag);
  }

  #putConflict(base: Definition, stored: Workflow, etag: string | undefined): void {
    const { definition, both } = merge(base, this.definition, definitionOf(stored));
    this.conflict = { stored, etag, theirs: compare(base, definitionOf(stored)), merged: definition, both };
  }
}
