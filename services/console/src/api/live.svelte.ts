// Live changes: one stream per tab for all views. A view names the entities, or the kind of work, that it shows.
import { isAborted, pause, Problem, type Query } from './http.ts';
import { refresh } from './query.ts';
import type { Session } from './session.svelte.ts';
import { backoffMs, EventReader, type StreamEvent } from './stream.ts';

export type Change =
  | { kind: 'created' | 'updated'; entity: string; id: number; record: Record<string, unknown> }
  | { kind: 'deleted'; entity: string; id: number }
  | { kind: 'reset' };

export interface Task {
  id: number;
  kind: string;
  status: 'queued' | 'running' | 'succeeded' | 'partial' | 'failed' | 'cancelled';
  done: number;
  failed: number;
  errors: { row: number; code: string; detail: string }[];
  created_at: string;
}

/** The state of a job after a change. */
export interface JobChange {
  id: number;
  workflow_id: number;
  status: string;
  run: number;
  attempt: number;
}

interface WorkListener {
  entity?: undefined;
  onTask?: (task: Task) => void;
  onJob?: (job: JobChange) => void;
  onAudit?: (entry: { id: number }) => void;
  /** The stream has begun, or begins again: changes before this moment are not reported. */
  onBegin?: () => void;
}
type Listener = { entity: string; onChange: (change: Change) => void } | WorkListener;

/** Kinds of work that a stream reports: the parameter, the event, the member of a listener. */
const WORK = [['tasks', 'task', 'onTask'], ['jobs', 'job', 'onJob'], ['audit', 'audit', 'onAudit']] as const;

const ENTITIES_MAX = 20;
const SETTLE_MS = 50;
const HIDDEN_MS = 5 * 60_000;

export class Live {
  isOpen = $state(false);
  readonly #session: Session;
  readonly #listeners = new Set<Listener>();
  /** Outlives the connections of the same entities, because each continues after the last event of the one before. */
  #reader = new EventReader();
  /** The stream of these entities has not begun: a view may have read its data before a change that no stream reports. */
  #isNew = true;
  #entities: string[] = [];
  #abort: AbortController | undefined;
  #wanted = '';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hideTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(session: Session) {
    this.#session = session;
    document.addEventListener('visibilitychange', () => this.#onVisibility());
  }

  /** Returns the function that ends the subscription. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    this.#settle();
    return () => {
      this.#listeners.delete(listener);
      this.#settle();
    };
  }

  /** A change of view ends some subscriptions and begins others: the stream is opened for the result. */
  #settle(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#connect(), SETTLE_MS);
  }

  #onVisibility(): void {
    clearTimeout(this.#hideTimer);
    if (document.hidden) this.#hideTimer = setTimeout(() => this.#close(), HIDDEN_MS);
    else if (!this.#abort) this.#connect();
  }

  #query(): Query {
    const entities = this.#wantedEntities();
    const work = WORK.filter(([, , member]) => this.#workers().some((each) => each[member]));
    return [
      ...(entities.length > 0 ? [['entities', entities.join(',')] as const] : []),
      ...work.map(([parameter]) => [parameter, 'true'] as const),
    ];
  }

  #workers(): WorkListener[] {
    return [...this.#listeners].filter((each) => each.entity === undefined);
  }

  #wantedEntities(): string[] {
    const names = [...this.#listeners].map((each) => each.entity).filter((name) => name !== undefined);
    return [...new Set(names)].sort().slice(0, ENTITIES_MAX);
  }

  #connect(): void {
    const query = this.#query();
    const wanted = JSON.stringify(query);
    if (this.#abort && wanted === this.#wanted) return;
    this.#close();
    this.#wanted = wanted;
    this.#beginEntities();
    if (query.length === 0 || this.#session.state !== 'in') return;
    this.#abort = new AbortController();
    void this.#run(query, this.#abort.signal);
  }

  /** A stream of other entities cannot continue after the last event of the one before. */
  #beginEntities(): void {
    const before = this.#entities;
    this.#entities = this.#wantedEntities();
    if (before.join() === this.#entities.join()) return;
    this.#reader = new EventReader();
    this.#isNew = true;
  }

  #close(): void {
    this.#abort?.abort();
    this.#abort = undefined;
    this.isOpen = false;
  }

  async #run(query: Query, signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        await this.#read(query, signal, () => (failures = 0));
      } catch (error) {
        if (isAborted(error) || signal.aborted) return;
        // The caller may not listen: an open view has its data and can be refreshed by hand.
        if (Problem.is(error) && error.status >= 400 && error.status < 500 && error.status !== 429) return this.#close();
      }
      this.isOpen = false;
      await pause(backoffMs(failures), signal).catch(() => undefined);
    }
  }

  async #read(query: Query, signal: AbortSignal, onOpen: () => void): Promise<void> {
    const position: Query = this.#reader.lastId === undefined ? [] : [['last_event_id', this.#reader.lastId]];
    this.#reader.begin();
    await this.#session.gateway.get('/realtime', [...query, ...position], {
      signal,
      read: async (answer) => {
        this.isOpen = true;
        onOpen();
        const chunks = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
        for (;;) {
          const { done, value } = await chunks.read();
          if (done || signal.aborted) return;
          for (const event of this.#reader.read(value)) this.#handle(event);
        }
      },
    });
  }

  #handle(event: StreamEvent): void {
    const member = WORK.find(([, kind]) => kind === event.kind)?.[2];
    if (member) return this.#workers().forEach((each) => each[member]?.(event.data as never));
    if (event.kind === 'hello' || event.kind === 'reset') this.#workers().forEach((each) => each.onBegin?.());
    if (event.kind === 'hello') {
      if (this.#isNew) this.#deliver({ kind: 'reset' });
      this.#isNew = false;
    } else if (event.kind === 'closed' || event.kind === 'end') {
      void refresh(this.#session.project, ['me']);
    } else if (event.kind === 'reset') {
      void refresh(this.#session.project, ['me']);
      this.#deliver({ kind: 'reset' });
    } else if (event.kind === 'created' || event.kind === 'updated' || event.kind === 'deleted') {
      this.#deliver({ kind: event.kind, ...(event.data as object) } as Change);
    }
  }

  #deliver(change: Change): void {
    for (const each of this.#listeners) {
      if (each.entity !== undefined && (change.kind === 'reset' || change.entity === each.entity)) each.onChange(change);
    }
  }
}

const streams = new Map<string, Live>();

export function liveOf(session: Session): Live {
  let live = streams.get(session.project);
  if (!live) streams.set(session.project, (live = new Live(session)));
  return live;
}
