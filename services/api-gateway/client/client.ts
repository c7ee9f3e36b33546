/*
 * The client. From here on the file is the same for every project; the lines above are made from the project's data model.
 *
 *   const gw = createClient('https://api.example.com/org/shop', { session: 'local' });
 *   await gw.auth.signIn({ email, password });
 *   const page = await gw.db.products.list({ filter: { price: { lt: 20 } }, sort: ['-price'], expand: ['author'] });
 *
 * The client needs fetch, streams and Web Crypto, and nothing else: browsers, workers, Node 18 and later, Deno and Bun have them.
 */

/* --- values of fields --- */

declare const brand: unique symbol;
/** A plain value is assignable to a branded type. The brand shows the types below which kind of field has the value. */
type Brand<T, N extends string> = T & { readonly [brand]?: N };
type BrandOf<V> = typeof brand extends keyof V ? (V extends { readonly [brand]?: infer N } ? Extract<N, string> : never) : never;

export type Id = number;
/** A time in UTC, '2026-01-31T12:00:00.000Z'. A time that is written may have any offset. */
export type DateTime = Brand<string, 'datetime'>;
/** A date, '2026-01-31'. */
export type DateOnly = Brand<string, 'date'>;
/** A time of day, '09:30:00'. */
export type TimeOfDay = Brand<string, 'time'>;
export type Uuid = Brand<string, 'uuid'>;
/** The id of a file. `expand` replaces it by a FileInfo. */
export type FileId = Brand<number, 'file'>;
/** A decimal is read as a number, which holds about 15 digits. Write it as text, such as '0.10', to keep up to 38 digits. */
export type Decimal = Brand<number, 'decimal'>;
/** A secret is written as text. A stored secret is read as '********', and a write of this text keeps the stored secret. */
export type Secret = Brand<string, 'secret'>;
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

export interface FileInfo {
  id: FileId;
  filename: string;
  /** The service detects the type from the bytes of the file. */
  mime_type: string;
  size: number;
  sha256: string;
  is_public: boolean;
  width: number | null;
  height: number | null;
  /** Seconds. */
  duration: number | null;
  created_at: DateTime;
}

/* --- the model --- */

interface Entity {
  fields: object;
  relations: Record<string, { to: string; many: boolean; null: boolean; hidden?: boolean }>;
  required: string;
  readonly: string;
  writeonly: string;
  unique: string;
}
/** `M extends Model<M>` holds for an interface that has an Entity for each name. */
type Model<M> = Record<keyof M, Entity>;

/** The members that the service sets. */
interface System {
  id: Id;
  created_at: DateTime;
  updated_at: DateTime;
  created_by: Id | null;
}

type Show<T> = { [P in keyof T]: T[P] };
type FieldName<M extends Model<M>, K extends keyof M> = keyof M[K]['fields'] & string;
type RelationName<M extends Model<M>, K extends keyof M> = keyof M[K]['relations'] & string;
/** The type of a stored field, with null when the field may be null. */
type Stored<M extends Model<M>, K extends keyof M, F> = M[K]['fields'][F & keyof M[K]['fields']];
type BrandOfField<M extends Model<M>, K extends keyof M, F> = BrandOf<NonNullable<Stored<M, K, F>>>;
type Relation<M extends Model<M>, K extends keyof M, R extends RelationName<M, K>> = M[K]['relations'][R];
type Target<M extends Model<M>, K extends keyof M, R extends RelationName<M, K>> = Relation<M, K, R>['to'] & keyof M;

/* Members that the caller may read, by kind. */
type ReadField<M extends Model<M>, K extends keyof M> = Exclude<FieldName<M, K>, M[K]['writeonly']>;
type ReadRelation<M extends Model<M>, K extends keyof M> = Exclude<RelationName<M, K>, M[K]['writeonly']>;
type Member<M extends Model<M>, K extends keyof M> = ReadField<M, K> | ReadRelation<M, K> | keyof System;
type FileField<M extends Model<M>, K extends keyof M> = {
  [F in ReadField<M, K>]: 'file' extends BrandOfField<M, K, F> ? F : never;
}[ReadField<M, K>];
/** Fields that filters and orders may name: all but json and secret fields. */
type ComparedField<M extends Model<M>, K extends keyof M> = {
  [F in ReadField<M, K>]: Json extends Stored<M, K, F> ? never : 'secret' extends BrandOfField<M, K, F> ? never : F;
}[ReadField<M, K>];
type NumberField<M extends Model<M>, K extends keyof M> = {
  [F in ComparedField<M, K>]: NonNullable<Stored<M, K, F>> extends number ? ('file' extends BrandOfField<M, K, F> ? never : F) : never;
}[ComparedField<M, K>];
type ToOne<M extends Model<M>, K extends keyof M> = {
  [R in ReadRelation<M, K>]: Relation<M, K, R> extends { many: true } ? never : R;
}[ReadRelation<M, K>];
/** Relations that can be followed. A relation to an entity that the caller may not read has `to: never`. */
type Followed<M extends Model<M>, K extends keyof M> = {
  [R in ReadRelation<M, K>]: [Relation<M, K, R>['to']] extends [never] ? never : R;
}[ReadRelation<M, K>];

/* --- records --- */

type Read<T> = 'secret' extends BrandOf<NonNullable<T>> ? '********' | Extract<T, null> : T;
type Write<T> =
  'decimal' extends BrandOf<NonNullable<T>>
    ? number | `${number}` | Extract<T, null>
    : 'secret' extends BrandOf<NonNullable<T>>
      ? string | Extract<T, null>
      : T;
/** The first steps of paths, and the rest of the paths that begin with R. */
type Head<X> = X extends `${infer H}.${string}` ? H : X;
type Rest<X, R extends string> = X extends `${R}.${infer T}` ? T : never;
type Wrap<Rel, V> = Rel extends { many: true } ? V[] : Rel extends { null: true } ? V | null : V;
/** `hidden`: the caller may not see each related record. Then null replaces it; in a relation to many records it is missing. */
type WrapRecord<Rel, V> = Rel extends { many: false; hidden: true } ? V | null : Wrap<Rel, V>;

/** A record. X: the paths of `expand`. An expanded relation has a record, any other relation an id. */
export type RecordOf<M extends Model<M>, K extends keyof M, X = never> = Show<
  System & {
    [F in ReadField<M, K>]: F extends Head<X> ? FileInfo | Extract<Stored<M, K, F>, null> : Read<Stored<M, K, F>>;
  } & {
    [R in ReadRelation<M, K>]: R extends Head<X>
      ? WrapRecord<Relation<M, K, R>, RecordOf<M, Target<M, K, R>, Rest<X, R>>>
      : Wrap<Relation<M, K, R>, Id>;
  }
>;

type Writable<M extends Model<M>, K extends keyof M> = {
  [F in Exclude<FieldName<M, K>, M[K]['readonly']>]: Write<Stored<M, K, F>>;
} & {
  [R in Exclude<RelationName<M, K>, M[K]['readonly']>]: Relation<M, K, R> extends { many: true }
    ? readonly Id[]
    : Wrap<Relation<M, K, R>, Id>;
};
/** The members of a new record. */
export type Create<M extends Model<M>, K extends keyof M> = Show<
  Pick<Writable<M, K>, M[K]['required'] & keyof Writable<M, K>> & Partial<Omit<Writable<M, K>, M[K]['required']>>
>;
/** Members that are left out keep their value; null clears a value. */
export type Update<M extends Model<M>, K extends keyof M> = Show<Partial<Writable<M, K>>>;

/* --- paths of expand and sort --- */

// Paths are checked step by step: a list of all paths grows with the number of relations to the power of the depth.
type Expandable<M extends Model<M>, K extends keyof M> = Followed<M, K> | FileField<M, K>;
type ExpandPath<M extends Model<M>, K extends keyof M> = Expandable<M, K> | `${Followed<M, K>}.${string}`;
type CheckExpand<M extends Model<M>, K extends keyof M, X> =
  X extends Expandable<M, K>
    ? X
    : X extends `${infer H}.${infer T}`
      ? H extends Followed<M, K>
        ? `${H}.${CheckExpand<M, Target<M, K, H>, T> & string}`
        : Expandable<M, K>
      : Expandable<M, K>;

type Sortable<M extends Model<M>, K extends keyof M> = ComparedField<M, K> | ToOne<M, K> | keyof System;
type SortPath<M extends Model<M>, K extends keyof M> = `${'' | '-'}${Sortable<M, K> | `${ToOne<M, K>}.${string}`}`;
type CheckSort<M extends Model<M>, K extends keyof M, S> =
  S extends Sortable<M, K>
    ? S
    : S extends `-${infer P}`
      ? `-${CheckSort<M, K, P> & string}`
      : S extends `${infer H}.${infer T}`
        ? H extends ToOne<M, K> & Followed<M, K>
          ? `${H}.${CheckSort<M, Target<M, K, H>, T> & string}`
          : Sortable<M, K>
        : Sortable<M, K>;

/* --- filters --- */

interface Equality<V> {
  readonly eq?: V;
  readonly ne?: V;
}
interface Membership<V> extends Equality<V> {
  readonly in?: readonly V[];
  readonly nin?: readonly V[];
}
interface Ordering<V> extends Membership<V> {
  readonly gt?: V;
  readonly gte?: V;
  readonly lt?: V;
  readonly lte?: V;
  readonly between?: readonly [V, V];
}
interface Matching {
  readonly contains?: string;
  readonly icontains?: string;
  readonly starts_with?: string;
  readonly ends_with?: string;
}
interface Nullness {
  readonly null?: boolean;
}
type Operators<V> = [BrandOf<V>] extends [never]
  ? [V] extends [boolean]
    ? Equality<V>
    : [V] extends [number]
      ? Ordering<V>
      : string extends V
        ? Ordering<V> & Matching
        : Membership<V>
  : BrandOf<V> extends 'file' | 'uuid'
    ? Membership<V>
    : Ordering<Write<V>>;
type Condition<T> = Write<NonNullable<T>> | (Operators<NonNullable<T>> & (null extends T ? Nullness : unknown));
type RelationCondition<Rel> = Id | (Membership<Id> & (Rel extends { many: false; null: false } ? unknown : Nullness));

/** D has an element for each relation that a path may still follow: the service follows four. */
type Conditions<M extends Model<M>, K extends keyof M, D extends 0[]> = {
  readonly [F in ComparedField<M, K>]?: Condition<Stored<M, K, F>>;
} & {
  readonly [F in keyof System]?: Condition<System[F]>;
} & {
  readonly [R in ReadRelation<M, K>]?:
    RelationCondition<Relation<M, K, R>> | (D extends [0, ...infer Less extends 0[]] ? Conditions<M, Target<M, K, R>, Less> : never);
};
/** All conditions hold. A value alone is compared with `eq`. Conditions on a relation's members apply to the related record. */
export type Filter<M extends Model<M>, K extends keyof M> = Conditions<M, K, [0, 0, 0, 0]> & {
  readonly or?: readonly Filter<M, K>[];
  readonly and?: readonly Filter<M, K>[];
};

/* --- reading --- */

export interface Abortable {
  signal?: AbortSignal | undefined;
}
export interface List<T> {
  items: T[];
  /** -1 when the records were not counted. */
  total_items: number;
  page: number;
  page_size: number;
  has_next_page: boolean;
  /** Only with `cursor`: the cursor of the next page; null after the last page. */
  next_cursor?: string | null;
}
/** A record with the members F; without F, with all members. */
type Chosen<M extends Model<M>, K extends keyof M, X, F> = [F] extends [never]
  ? RecordOf<M, K, X>
  : Pick<RecordOf<M, K, X>, (F | Head<X>) & keyof RecordOf<M, K, X>>;
interface ReadOptions<M extends Model<M>, K extends keyof M, X, F> extends Abortable {
  /** Members to return. */
  fields?: readonly F[];
  /** Relations and files to return as objects instead of ids, with dots for relations of related records. */
  expand?: readonly (X & CheckExpand<M, K, X>)[];
}
interface ListOptions<M extends Model<M>, K extends keyof M, X, F, S> extends ReadOptions<M, K, X, F> {
  filter?: Filter<M, K>;
  /** Up to five members or paths. A member after '-' sorts in descending order. */
  sort?: readonly (S & CheckSort<M, K, S>)[];
  /** Records per page, at most 500. */
  limit?: number;
}
interface PageOptions {
  page?: number;
  /** 'start', then the next_cursor of each answer: the pages of a list of any size take the same time. */
  cursor?: string;
  /** false: do not count the records. */
  count?: boolean;
}

interface AggregateOptions<M extends Model<M>, K extends keyof M, G, Sum, Avg, Min, Max> extends Abortable {
  filter?: Filter<M, K>;
  /** Up to three members. */
  group_by?: readonly G[];
  sum?: readonly Sum[];
  avg?: readonly Avg[];
  min?: readonly Min[];
  max?: readonly Max[];
  /** Groups to return, at most 1,000. */
  limit?: number;
}
type Metric<N extends string, F, V> = [F] extends [never] ? unknown : { [P in N]: V };
type Extremes<M extends Model<M>, K extends keyof M, F> = { [P in F & FieldName<M, K>]: Stored<M, K, P> | null };
type Group<M extends Model<M>, K extends keyof M, G, Sum extends string, Avg extends string, Min, Max> = Show<
  { count: number } & Pick<RecordOf<M, K>, G & keyof RecordOf<M, K>> &
    Metric<'sum', Sum, Record<Sum, number | null>> &
    Metric<'avg', Avg, Record<Avg, number | null>> &
    Metric<'min', Min, Extremes<M, K, Min>> &
    Metric<'max', Max, Extremes<M, K, Max>>
>;

/* --- live changes --- */

type ToMany<M extends Model<M>, K extends keyof M> = Exclude<ReadRelation<M, K>, ToOne<M, K>>;
/** A relation to many records is missing when the caller may not see each of them. */
export type LiveRecord<M extends Model<M>, K extends keyof M> = Show<Omit<RecordOf<M, K>, ToMany<M, K>> & { [R in ToMany<M, K>]?: Id[] }>;
export type Change<M extends Model<M>, K extends keyof M> =
  { kind: 'created' | 'updated'; record: LiveRecord<M, K> } | { kind: 'deleted'; id: Id };
export interface LiveOptions extends Abortable {
  /**
   * Read the records now: the changes before this call are not all known. The first call has the reason 'started'. Further calls follow
   * when the service cannot send all changes: after an hour without a connection, and when rights or the model have changed.
   */
  onReset?: (reason: string) => void;
  /** The caller may no longer listen, and the stream does not continue. Without onEnd the console shows the problem. */
  onEnd?: (problem: Problem) => void;
}

/* --- the records of an entity --- */

export interface WriteOptions extends Abortable {
  /** The write fails with `precondition_failed` when the record has changed since: an ETag, or a record from get, create or update. */
  ifMatch?: string | object;
  /** The token of the caller's lock on the record. */
  lock?: string;
}

export interface Items<M extends Model<M>, K extends keyof M> {
  list<const X extends ExpandPath<M, K> = never, const F extends Member<M, K> = never, const S extends SortPath<M, K> = never>(
    o?: ListOptions<M, K, X, F, S> & PageOptions,
  ): Promise<List<Chosen<M, K, X, F>>>;
  /** All records, page by page in constant memory. `limit`: records per page. */
  all<const X extends ExpandPath<M, K> = never, const F extends Member<M, K> = never, const S extends SortPath<M, K> = never>(
    o?: ListOptions<M, K, X, F, S>,
  ): AsyncIterable<Chosen<M, K, X, F>>;
  get<const X extends ExpandPath<M, K> = never, const F extends Member<M, K> = never>(
    id: Id,
    o?: ReadOptions<M, K, X, F>,
  ): Promise<Chosen<M, K, X, F>>;
  create(value: Create<M, K>, o?: Abortable): Promise<RecordOf<M, K>>;
  update(id: Id, value: Update<M, K>, o?: WriteOptions): Promise<RecordOf<M, K>>;
  delete(id: Id, o?: WriteOptions): Promise<void>;
  /** Up to 1,000 records: changes a record that has the same value of the unique member, else creates a record. */
  upsert<U extends M[K]['unique']>(
    items: readonly (Create<M, K> & { readonly [P in U]: unknown })[],
    o: { on_conflict: readonly [U]; atomic?: boolean } & Abortable,
  ): Promise<{ created: number; updated: number; failed: number; results: { index: number; id?: Id; error?: Json }[] }>;
  aggregate<
    const G extends Exclude<ComparedField<M, K> | ToOne<M, K>, 'count' | 'sum' | 'avg' | 'min' | 'max'> = never,
    const Sum extends NumberField<M, K> = never,
    const Avg extends NumberField<M, K> = never,
    const Min extends ComparedField<M, K> = never,
    const Max extends ComparedField<M, K> = never,
  >(
    o?: AggregateOptions<M, K, G, Sum, Avg, Min, Max>,
  ): Promise<{ items: Group<M, K, G, Sum, Avg, Min, Max>[]; has_next_page: boolean }>;
  /**
   * Calls `on` for each change of a record that matches. A record that begins to match is 'created', a record that no longer matches is
   * 'deleted'. The stream reconnects and continues after the last change. The returned function ends it.
   */
  live(filter: Filter<M, K>, on: (change: Change<M, K>) => void, o?: LiveOptions): () => void;
}
export type Db<M extends Model<M>> = { readonly [K in keyof M]: Items<M, K> };

/* --- problems --- */

export type ProblemCode =
  | 'validation_failed'
  | 'unique_violation'
  | 'foreign_key_violation'
  | 'precondition_failed'
  | 'conflict'
  | 'locked'
  | 'forbidden'
  | 'not_found'
  | 'rate_limited'
  | 'invalid_credentials'
  | 'email_not_confirmed'
  | 'user_suspended'
  | 'token_expired'
  | 'token_invalid'
  | 'unauthorized'
  | 'payload_too_large'
  | 'timeout'
  | 'dependency_unavailable'
  | 'internal'
  | 'network'
  | (string & {});

/** An answer that refuses a call, or the lack of an answer (status 0, code 'network' or 'timeout'). */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status: number;
  readonly code: ProblemCode;
  /** A sentence for developers, which may change. */
  readonly detail: string;
  readonly requestId: string | undefined;
  /** Seconds after which a repeated call may succeed. */
  readonly retryAfter: number | undefined;
  /** A problem for each member of the body that is not accepted. */
  readonly errors: readonly { field: string; code: ProblemCode; message: string }[];

  constructor(
    status: number,
    code: ProblemCode,
    detail: string,
    more: Partial<Pick<Problem, 'requestId' | 'retryAfter' | 'errors' | 'cause'>> = {},
  ) {
    super(detail, more);
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.requestId = more.requestId;
    this.retryAfter = more.retryAfter;
    this.errors = more.errors ?? [];
  }

  /** The message about a member of the body. */
  field(name: string): string | undefined {
    return this.errors.find(each => each.field === name)?.message;
  }

  /** Whether `e` is a Problem that has one of the codes; without codes, whether it is a Problem. */
  static is(e: unknown, ...codes: ProblemCode[]): e is Problem {
    return e instanceof Problem && (!codes.length || codes.includes(e.code));
  }
}

/* --- the client --- */

export interface User {
  id: Id;
  email: string;
  status: 'invited' | 'unconfirmed' | 'active' | 'suspended';
  role_ids: Id[];
  group_ids: Id[];
  metadata: { [name: string]: Json };
}
export interface Session {
  access_token: string;
  refresh_token: string;
  /** Seconds since 1970 by the clock of this machine. */
  expires_at: number;
  user: User;
}
export interface SessionStore {
  get(): Session | null | Promise<Session | null>;
  set(session: Session | null): void | Promise<void>;
}
export interface Options {
  /** Calls with an API key, instead of the session of a user. Never put a key into a page. */
  apiKey?: string;
  /** 'memory', the default, ends with the page. 'local' is localStorage: all tabs share the session, and each script of the origin can read it. */
  session?: SessionStore | 'local' | 'memory';
  fetch?: typeof fetch;
  /** The number of times that a failed call is repeated, if it may be: 2. */
  retries?: number;
  /** The time limit of one attempt of a call: 30,000; 0 for none. Uploads of one part, downloads and streams have no limit. */
  timeoutMs?: number;
  /** Receives each request before it is sent, and may add headers. */
  onRequest?: (request: Request) => void;
  /**
   * Warn in the console when the model has changed since this file was made. The default is true on a page of localhost, and in Node unless
   * NODE_ENV is production.
   */
  warnWhenOutdated?: boolean;
}

export interface Auth {
  readonly user: User | null;
  /** Resolves when `user` is known, which takes time if the store answers with a Promise. */
  readonly ready: Promise<void>;
  signIn(credentials: { email: string; password: string }): Promise<Session>;
  /** Leaves the page for the project's identity provider, which returns to redirect_to. There, call completeRedirect(). */
  signInWith(provider: 'google', o: { redirect_to: string; login_hint?: string }): Promise<never>;
  /** Completes a sign-in that this tab began, and removes its code from the address. null: the address has no such code. */
  completeRedirect(url?: string): Promise<Session | null>;
  /** Sends a link that signs in. The link opens the project's auth_page_url or redirect_to, with #type=…&token=… for verify(). */
  magicLink(email: string, o?: { redirect_to?: string }): Promise<void>;
  /** Sends a link that sets a new password. */
  recover(email: string, o?: { redirect_to?: string }): Promise<void>;
  /** Uses the token of a link from a mail, once, and signs in. */
  verify(
    link: { type: 'confirmation' | 'magic_link'; token: string } | { type: 'invite' | 'recovery'; token: string; password: string },
  ): Promise<Session>;
  /** Sends a link to the old and to the new address. The address changes when both links were used. */
  changeEmail(change: { email: string; password?: string; redirect_to?: string }): Promise<void>;
  confirmEmailChange(token: string): Promise<{ status: 'waiting' | 'changed'; email: string }>;
  /** Ends this session ('local', the default), the user's other sessions, or all of them. */
  signOut(scope?: 'local' | 'others' | 'global'): Promise<void>;
  /** Calls `f` after each change of the session, also of a change in another tab. The returned function ends the calls. */
  onChange(f: (session: Session | null, why: 'in' | 'out' | 'refreshed') => void): () => void;
}

type Attachment<M extends Model<M>> = { [K in keyof M & string]: { entity: K; id: Id; field: FileField<M, K> } }[keyof M & string];
interface Variant {
  width?: number;
  height?: number;
  format?: 'auto' | 'webp' | 'jpeg' | 'png' | 'avif';
}
/** An upload that has begun. `await` it for the file. */
export interface Upload extends PromiseLike<FileInfo> {
  /** Calls `f` before the first bytes, and whenever the service has confirmed more bytes. */
  onProgress(f: (sent: number, total: number) => void): this;
  /** Sends no further part after the current one. A file up to 1 MB is one part. */
  pause(): void;
  resume(): void;
  /** Ends the upload and removes its bytes from the service. */
  abort(): void;
  /** Continues the upload within a day, also after a reload. A file up to 1 MB has no token (''), a larger one from its first progress on. */
  readonly resumeToken: string;
}
export interface Files<M extends Model<M>> {
  /** `attach`: the file becomes the value of a record's field and replaces the previous file. */
  upload(
    file: Blob & { readonly name?: string },
    o?: { filename?: string; folder_id?: Id; is_public?: boolean; attach?: Attachment<M>; resumeToken?: string } & Abortable,
  ): Upload;
  /** The address of a public file, or of a variant of a public picture. */
  url(id: Id, o?: Variant): string;
  /** An address that reads a file without credentials, for an hour or for expires_in seconds. */
  link(id: Id, o?: Variant & { expires_in?: number } & Abortable): Promise<string>;
  download(id: Id, o?: Variant & Abortable): Promise<Blob>;
  delete(id: Id | readonly Id[], o?: Abortable): Promise<void>;
}

type Hit<M extends Model<M>, K extends keyof M> = {
  [E in K]: {
    entity: E;
    id: Id;
    score: number;
    /** The found parts of texts as HTML: escaped text, and <mark> around each word. */
    highlights: { field: string; snippet: string }[];
    record: RecordOf<M, E>;
  };
}[K];

export interface Job {
  id: Id;
  workflow_id: Id;
  status: 'queued' | 'running' | 'waiting' | 'succeeded' | 'failed' | 'cancelled' | 'skipped';
  error: { code: string; message?: string; step_key: string | null; status_code: number | null } | null;
  steps: { key: string; status: string; output: Json; error: Json }[];
}
export interface Task {
  id: Id;
  kind: string;
  status: 'queued' | 'running' | 'succeeded' | 'partial' | 'failed' | 'cancelled';
  total: number | null;
  done: number;
  failed: number;
  errors: { row: number; code: string; detail: string }[];
}

export interface Client<M extends Model<M> = Project> {
  readonly modelVersion: string;
  readonly db: Db<M>;
  readonly auth: Auth;
  readonly files: Files<M>;
  readonly workflows: {
    trigger(id: Id, data?: Json, o?: Abortable): Promise<{ job_id: Id }>;
    /** Starts the workflow that has this route. */
    route(name: string, data?: Json, o?: Abortable): Promise<void>;
    /** Waits until the job has ended. */
    wait(job: Id, o?: Abortable): Promise<Job>;
  };
  readonly payments: {
    /** A payment that the payer completes on this device with client_secret and the processor's library. */
    create(
      payment: {
        amount: number;
        currency: string;
        description?: string;
        customer_email?: string;
        subscriber_id?: Id;
        metadata?: { [name: string]: string };
      },
      o?: { idempotencyKey?: string } & Abortable,
    ): Promise<{ id: Id; status: string; amount: number; currency: string; client_secret: string }>;
    /** Whether the caller has a subscription that gives access. */
    entitlement(o?: Abortable): Promise<{ has_access: boolean; status: string; expires_at: DateTime | null; plan_id: Id | null }>;
  };
  /** Searches the records of the entities `e`, or of all, with tolerance of typos. */
  search<K extends keyof M & string = keyof M & string>(
    q: string,
    o?: { e?: K | readonly K[]; page?: number } & Abortable,
  ): Promise<List<Hit<M, K>>>;
  /** Waits until an import has ended. */
  task(id: Id, onProgress?: (task: Task) => void, o?: Abortable): Promise<Task>;
  /**
   * Any other call: a path below the base URL. The answer is JSON, a Blob of another type, or undefined when it has no content; `read` gets
   * the answer in another form, such as a stream. The time limit of the call, timeoutMs, includes `read`.
   */
  request<T = unknown>(
    method: string,
    path: string,
    o?: {
      query?: object;
      body?: unknown;
      headers?: Record<string, string>;
      idempotencyKey?: string;
      timeoutMs?: number;
      read?: (answer: Response) => T | Promise<T>;
    } & Abortable,
  ): Promise<T>;
}

/* --- how the client works --- */

interface KeyValues {
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
  removeItem(name: string): void;
}
/** The parts of the host that only some runtimes have. */
const host = globalThis as unknown as {
  location?: { href: string; hostname: string; assign(url: string): void };
  history?: { state: unknown; replaceState(state: unknown, title: string, url: string): void };
  localStorage?: KeyValues;
  sessionStorage?: KeyValues;
  navigator?: { locks?: { request<T>(name: string, run: () => Promise<T>): Promise<T> } };
  BroadcastChannel?: new (name: string) => { postMessage(message: string): void; onmessage: (() => void) | null };
  process?: { env?: { NODE_ENV?: string } };
};

const REFRESH_EARLY_MS = 15_000;
const STREAM_SILENCE_MS = 45_000; // a live stream has a beat every 15 s
const STREAM_WAIT_MS = 500; // before the first reconnection; doubles up to STREAM_WAIT_MAX_MS
const STREAM_WAIT_MAX_MS = 30_000;
const STREAM_ENTITIES = 20;
const PART_BYTES = 1 << 20; // a larger file is sent in parts, which take about a second each
const PART_BYTES_MIN = 1 << 16;
const PART_BYTES_MAX = 1 << 23;
const PART_FAILURES = 5; // without a part in between
const RETRY_MS = 200; // doubles; a Retry-After above RETRY_MAX_MS is left to the application
const RETRY_MAX_MS = 30_000;
const POLL_MS = 250; // grows up to POLL_MAX_MS
const POLL_MAX_MS = 2000;

const OPERATORS = /^(eq|ne|gte?|lte?|n?in|i?contains|starts_with|ends_with|between|null)$/;
const MOVES_MONEY = /^\/integrations\/svcpay\/(payments|subscriptions$|balances\/\d+\/adjust$|offers\/me\/redeem$)/;
/** Parameters that a provider adds to redirect_to. */
const REDIRECT_PARAMETERS = ['code', 'state', 'iss', 'error', 'error_description', 'scope', 'authuser', 'prompt', 'hd', 'session_state'];
const ETAG: unique symbol = Symbol('etag');

/** The ETag of a record from get, create or update. */
export function etagOf(record: object): string | undefined {
  return (record as { [ETAG]?: string })[ETAG];
}

const base64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));
const base64url = (bytes: Uint8Array): string => base64(bytes).replace(/[+/=]/g, each => ({ '+': '-', '/': '_' })[each] ?? '');
const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>;
const randomText = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)));

function isDevelopment(): boolean {
  if (host.location) return /^(localhost|127\.0\.0\.1|\[::1\])$/.test(host.location.hostname);
  return !!host.process && host.process.env?.NODE_ENV !== 'production';
}

const lastSegment = (path: string | null): string => path?.replace(/.*\//, '') ?? '';

/** Calls a function of the application, whose errors must not stop the client. */
function notify<A extends unknown[]>(f: ((...values: A) => void) | undefined, ...values: A): void {
  try {
    f?.(...values);
  } catch (error) {
    setTimeout(() => {
      throw error;
    });
  }
}

/** A signal that follows `signal`, and aborts after `ms` (0: never). end() releases it. Node 18 has no AbortSignal.any. */
function followed(
  signal: AbortSignal | undefined,
  ms: number,
): { signal: AbortSignal; abort: (reason?: unknown) => void; end: () => void } {
  const controller = new AbortController();
  const abort = (reason?: unknown): void => controller.abort(reason);
  const follow = (): void => abort(signal?.reason);
  const timer = ms ? setTimeout(abort, ms) : undefined;
  if (signal?.aborted) follow();
  signal?.addEventListener('abort', follow);
  const end = (): void => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', follow);
  };
  return { signal: controller.signal, abort, end };
}

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  const limit = followed(signal, ms || 1);
  await new Promise<void>(resolve => (limit.signal.aborted ? resolve() : limit.signal.addEventListener('abort', () => resolve())));
  limit.end();
  signal?.throwIfAborted();
}

/* Queries. */

/** A value of a list, whose values are separated by commas. */
function listed(value: unknown): string {
  const text = String(value);
  return /^[^\s",]+$/.test(text) ? text : `"${text.replaceAll('"', '""')}"`;
}

const isEmpty = (value: unknown): boolean => value == null || (typeof value === 'object' && !Object.keys(value).length);

/** Adds filter[a][gte]=1, filter[b.c]=x and filter[or][0][d]=2. A missing value throws: without its condition, more records would match. */
function addFilter(query: URLSearchParams, filter: object, prefix: string, path = ''): void {
  for (const [name, value] of Object.entries(filter)) {
    const at = `${prefix}[${path}${name}]`;
    if (isEmpty(value) || (Array.isArray(value) && value.some(isEmpty))) throw new TypeError(`${at} has no value`);
    if (Array.isArray(value)) value.forEach((group, i) => addFilter(query, group, `${at}[${i}]`));
    else if (typeof value !== 'object') query.append(at, String(value));
    else
      for (const [key, operand] of Object.entries(value)) {
        if (!OPERATORS.test(key)) addFilter(query, { [key]: operand }, prefix, `${path}${name}.`);
        else if (isEmpty(operand)) throw new TypeError(`${at}[${key}] has no value`);
        else query.append(`${at}[${key}]`, Array.isArray(operand) ? operand.map(listed).join() : String(operand));
      }
  }
}

function toQuery(values: object): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value && typeof value === 'object' && !Array.isArray(value)) addFilter(query, value, name);
    else if (!isEmpty(value)) query.append(name, String(value));
  }
  return String(query) && `?${query}`;
}

/* Answers. */

/** The problem that a failed answer reports, for an application that makes a call without the client. */
export async function problemOf(answer: Response): Promise<Problem> {
  const later = answer.headers.get('retry-after');
  const body: any = (await answer.json().catch(() => null)) ?? {};
  const seconds = later === null ? undefined : +later >= 0 ? +later : Math.max(0, (Date.parse(later) - Date.now()) / 1000);
  // A proxy may answer in place of the service, in another form.
  return new Problem(
    answer.status,
    body.code ?? `http_${answer.status}`,
    body.detail ?? body.title ?? `The answer has the status ${answer.status}.`,
    {
      requestId: body.request_id ?? answer.headers.get('x-request-id') ?? undefined,
      retryAfter: Number.isNaN(seconds) ? undefined : seconds,
      errors: body.errors,
    },
  );
}

/** Whether the same call may succeed soon. */
function isTemporary(e: unknown): boolean {
  return Problem.is(e) && (e.code === 'network' || e.code === 'idempotency_in_progress' || e.status === 429 || e.status === 503);
}

async function readAnswer(answer: Response): Promise<unknown> {
  const type = answer.headers.get('content-type');
  if (answer.status === 204 || !type) return undefined;
  if (!/\bjson\b/.test(type)) return answer.blob();
  const value: unknown = await answer.json();
  const etag = answer.headers.get('etag')?.replace(/^W\//, ''); // a proxy that compresses weakens it
  if (etag && value && typeof value === 'object') Object.defineProperty(value, ETAG, { value: etag });
  return value;
}

/** Calls `on` for each server-sent event. Returns at the end of the stream, and when it is silent for too long. */
async function readEvents(answer: Response, on: (id: string | undefined, kind: string | undefined, data: any) => void): Promise<void> {
  const reader = answer.body!.getReader();
  const decoder = new TextDecoder();
  for (let text = ''; ;) {
    const timer = setTimeout(() => void reader.cancel().catch(() => {}), STREAM_SILENCE_MS);
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return;
    const events = (text + decoder.decode(value, { stream: true })).split('\n\n');
    text = events.pop()!;
    for (const event of events) {
      const line = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'm').exec(event)?.[1];
      on(line('id'), line('event'), JSON.parse(line('data') ?? 'null'));
    }
  }
}

/* Sessions. */

function memoryStore(): SessionStore {
  let kept: Session | null = null;
  return { get: () => kept, set: session => void (kept = session) };
}

function localStore(name: string): SessionStore {
  let storage: KeyValues | undefined;
  try {
    storage = host.localStorage; // throws where the user has blocked it
  } catch {}
  if (!storage) return memoryStore();
  const local = storage;
  const get = (): Session | null => {
    try {
      return JSON.parse(local.getItem(name) ?? 'null');
    } catch {
      return null;
    }
  };
  return { get, set: session => (session ? local.setItem(name, JSON.stringify(session)) : local.removeItem(name)) };
}

interface Call<T> {
  query?: object;
  body?: unknown;
  headers?: Record<string, string>;
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
  /** Without credentials. */
  isPublic?: boolean;
  timeoutMs?: number;
  retries?: number;
  read?: (answer: Response) => T | Promise<T>;
}
type Send = <T = any>(method: string, path: string, call?: Call<T>) => Promise<T>;

export function createClient<M extends Model<M> = Project>(baseUrl: string, options: Options = {}): Client<M> {
  const base = baseUrl.replace(/\/+$/, '');
  const storeName = `groundwork:${base}`;
  const { apiKey, retries = 2, timeoutMs = 30_000 } = options;
  const isShared = options.session !== undefined && options.session !== 'memory';
  const store = typeof options.session === 'object' ? options.session : options.session === 'local' ? localStore(storeName) : memoryStore();

  /* The session. */

  const watchers = new Set<Parameters<Auth['onChange']>[0]>();
  let session: Session | null = null;
  let refreshing: Promise<void> | undefined;

  /** Takes over a session that another tab or the service has made. */
  function adopt(next: Session | null): void {
    const before = session;
    session = next;
    if (before?.access_token === next?.access_token) return;
    const why = !next ? 'out' : before?.user.id === next.user.id ? 'refreshed' : 'in';
    if (before && why !== 'refreshed')
      for (const stream of [...streams]) endStream(stream, new Problem(0, 'unauthorized', 'The session has ended.'));
    for (const watcher of [...watchers]) notify(watcher, next, why);
  }
  async function save(next: Session | null): Promise<void> {
    adopt(next);
    await store.set(next);
    tabs?.postMessage('session');
  }
  // The message has no token: the other tabs read the store.
  const tabs = isShared && host.location && host.BroadcastChannel ? new host.BroadcastChannel(storeName) : undefined;
  if (tabs) tabs.onmessage = async () => adopt(await store.get());

  const stored = store.get();
  const ready = (async () => adopt(await stored))();
  ready.catch(() => {}); // the calls that await it fail
  if (!(stored instanceof Promise)) session = stored;

  async function signInAt(path: string, body: object): Promise<Session> {
    const next = await tokensFrom(path, body);
    await ready.catch(() => {}); // a store that answers later must not replace the new session
    await save(next);
    return next;
  }
  async function tokensFrom(path: string, body: object): Promise<Session> {
    const { access_token, refresh_token, expires_in, user } = await send('POST', path, { body, isPublic: true });
    return { access_token, refresh_token, expires_at: Math.floor(Date.now() / 1000) + expires_in, user };
  }
  const leftMs = ({ expires_at }: Session): number => expires_at * 1000 - Date.now();
  /** One refresh at a time, in this tab and in all tabs. A tab that had to wait finds the new session in the store. */
  function refresh(old: Session): Promise<void> {
    const run = async (): Promise<void> => {
      const current = await store.get();
      const isOld = current?.refresh_token === old.refresh_token;
      if (!isOld) adopt(current);
      if (!current || (!isOld && leftMs(current) >= REFRESH_EARLY_MS)) return;
      // A sign-out or another sign-in may replace the session until the service has answered.
      const isCurrent = (): boolean => session?.refresh_token === current.refresh_token;
      try {
        const next = await tokensFrom('/auth/v1/refresh', { refresh_token: current.refresh_token });
        if (isCurrent()) await save(next);
      } catch (e) {
        if (Problem.is(e) && (e.status === 401 || e.status === 403) && isCurrent()) await save(null);
        throw e;
      }
    };
    const locks = isShared ? host.navigator?.locks : undefined;
    return (refreshing ??= (locks ? locks.request(storeName, run) : run()).finally(() => (refreshing = undefined)));
  }
  /** The session for a call, refreshed shortly before its end. */
  async function freshSession(): Promise<Session | null> {
    await ready;
    const left = session ? leftMs(session) : Infinity;
    if (session && left < REFRESH_EARLY_MS)
      await refresh(session).catch(e => {
        if (left <= 0 || !isTemporary(e)) throw e;
      });
    return session;
  }

  /* Calls. */

  async function attempt<T>(method: string, path: string, call: Call<T>): Promise<T> {
    const body = call.body;
    const isRaw = body instanceof Blob || body instanceof FormData;
    const most = call.timeoutMs ?? timeoutMs;
    const limit = followed(call.signal, most);
    let isSent = false;
    try {
      const request = new Request(base + path + toQuery(call.query ?? {}), {
        method,
        headers: { ...(body !== undefined && !isRaw && { 'content-type': 'application/json' }), ...call.headers },
        body: body === undefined ? null : isRaw ? body : JSON.stringify(body),
        signal: limit.signal,
      });
      options.onRequest?.(request);
      isSent = true;
      const answer = await (options.fetch ?? fetch)(request);
      if (!answer.ok) throw await problemOf(answer);
      return (await (call.read ?? readAnswer)(answer)) as T;
    } catch (cause) {
      call.signal?.throwIfAborted();
      if (limit.signal.aborted) throw new Problem(0, 'timeout', `The service has not answered within ${most} ms.`);
      throw !isSent || Problem.is(cause) ? cause : new Problem(0, 'network', 'The service has not answered.', { cause });
    } finally {
      limit.end();
    }
  }

  const send: Send = async <T>(method: string, path: string, call: Call<T> = {}): Promise<T> => {
    const key = call.idempotencyKey ?? (method === 'POST' && MOVES_MONEY.test(path) ? randomText() : undefined);
    const headers = { ...(key && { 'idempotency-key': key }), ...call.headers };
    const isConditional = Object.keys(headers).some(name => name.toLowerCase() === 'if-match');
    const isRepeatable = !!key || /^(GET|HEAD)$/.test(method) || (/^(PUT|DELETE)$/.test(method) && !isConditional);
    const most = isRepeatable ? (call.retries ?? retries) : 0;
    let isRefreshed = false;
    for (let failures = 0; ;) {
      call.signal?.throwIfAborted();
      const current = call.isPublic || apiKey ? null : await freshSession();
      const credentials: Record<string, string> = current
        ? { authorization: `Bearer ${current.access_token}` }
        : apiKey && !call.isPublic
          ? { 'x-api-key': apiKey }
          : {};
      try {
        const value = await attempt(method, path, { ...call, headers: { ...credentials, ...headers } });
        if (!isEmpty(credentials)) checkModel();
        return value;
      } catch (e) {
        if (!Problem.is(e)) throw e;
        // 'token_invalid': the session has ended elsewhere; the refresh then fails and signs out.
        if (current && !isRefreshed && (e.code === 'token_expired' || e.code === 'token_invalid')) {
          isRefreshed = true;
          if (session?.access_token === current.access_token) await refresh(current);
          continue;
        }
        if (failures && method === 'DELETE' && e.status === 404) return undefined as T; // an earlier attempt has deleted it
        const wait = e.retryAfter === undefined ? RETRY_MS * 2 ** failures * (1 + Math.random()) : e.retryAfter * 1000;
        if (failures++ >= most || !isTemporary(e) || wait > RETRY_MAX_MS) throw e;
        await sleep(wait, call.signal);
      }
    }
  };
  /** A GET whose options, except the signal, are parameters. */
  const get = <T = any>(path: string, o: object = {}): Promise<T> => {
    const { signal, ...query } = o as Abortable;
    return send('GET', path, { signal, query });
  };
  /** Repeats a GET until `isOver`. */
  async function poll<T>(path: string, isOver: (value: T) => boolean, signal: AbortSignal | undefined): Promise<T> {
    for (let wait = POLL_MS; ; wait = Math.min(wait * 1.5, POLL_MAX_MS)) {
      const value = await get<T>(path, { signal });
      if (isOver(value)) return value;
      await sleep(wait, signal);
    }
  }

  let isToCheck = options.warnWhenOutdated ?? isDevelopment();
  /** Compares the model version of this file with the project's, once. A refusal is ignored: the caller may not read the documentation. */
  function checkModel(): void {
    if (!isToCheck) return;
    isToCheck = false;
    send('HEAD', '/docs/client.ts', { retries: 0, read: answer => /"([^"-]+)-/.exec(answer.headers.get('etag') ?? '')?.[1] }).then(
      version => {
        if (version && version !== modelVersion)
          console.warn(
            `Groundwork: the client was made from version ${modelVersion} of the data model, and the project has version ${version}. ` +
              `Fetch it again: scripts/client --url ${base} FILE, or GET ${base}/docs/client.ts.`,
          );
      },
      () => {},
    );
  }

  /* Records. */

  const ifMatch = ({ ifMatch: match, lock }: WriteOptions): Record<string, string> => {
    const etag = typeof match === 'object' ? etagOf(match) : match;
    if (match && !etag) throw new TypeError('ifMatch has no ETag: use a record from get, create or update');
    return { ...(etag && { 'if-match': etag }), ...(lock && { 'x-lock-token': lock }) };
  };
  function itemsOf(entity: string): object {
    const path = `/entities/${entity}/items`;
    return {
      list: (o?: object) => get(path, o),
      async *all(o?: object) {
        for (let cursor = 'start'; cursor;) {
          const page = await get(path, { limit: 200, ...o, cursor });
          yield* page.items;
          cursor = page.next_cursor;
        }
      },
      get: (id: Id, o?: object) => get(`${path}/${id}`, o),
      create: (body: object, { signal }: Abortable = {}) => send('POST', path, { body, signal }),
      update: async (id: Id, body: object, o: WriteOptions = {}) =>
        send('PUT', `${path}/${id}`, { body, headers: ifMatch(o), signal: o.signal }),
      delete: async (id: Id, o: WriteOptions = {}) => send('DELETE', `${path}/${id}`, { headers: ifMatch(o), signal: o.signal }),
      upsert: (items: object[], { signal, ...o }: Abortable) =>
        send('POST', `${path}/bulk`, { body: { ...o, items, mode: 'upsert' }, signal }),
      aggregate: (o?: object) => get(`${path}/aggregate`, { count: '*', ...o }),
      live: (filter: object, on: Listener['on'], o: LiveOptions = {}) => listen(entity, filter, on, o),
    };
  }

  /* Live changes. */

  interface Listener {
    entity: string;
    on: (change: any) => void;
    o: LiveOptions;
    stop: () => void;
  }
  interface Stream {
    query: string;
    entities: Set<string>;
    listeners: Set<Listener>;
    isStarted: boolean;
    isOpen: boolean;
    controller: AbortController;
  }
  const streams = new Set<Stream>();

  /**
   * Listeners with the same filter share a stream when they begin at the same time, or when the stream has their entity already. A stream
   * keeps its entities: when they change, the service resets all listeners of the stream.
   */
  function listen(entity: string, filter: object, on: Listener['on'], o: LiveOptions): () => void {
    const query = toQuery({ filter });
    const canJoin = (each: Stream): boolean =>
      each.query === query && (each.entities.has(entity) || (!each.isStarted && each.entities.size < STREAM_ENTITIES));
    let stream = [...streams].find(canJoin) as Stream;
    if (!stream) {
      stream = { query, entities: new Set(), listeners: new Set(), isStarted: false, isOpen: false, controller: new AbortController() };
      streams.add(stream);
      setTimeout(() => void follow(stream, filter));
    }
    const stop = (): void => {
      o.signal?.removeEventListener('abort', stop);
      stream.listeners.delete(listener);
      if (stream.listeners.size) return;
      streams.delete(stream);
      stream.controller.abort();
    };
    const listener: Listener = { entity, on, o, stop };
    stream.entities.add(entity);
    stream.listeners.add(listener);
    o.signal?.addEventListener('abort', stop);
    if (o.signal?.aborted) stop();
    if (stream.isOpen) queueMicrotask(() => stream.listeners.has(listener) && notify(o.onReset, 'started'));
    return stop;
  }
  function endListener(listener: Listener, problem: Problem): void {
    listener.stop();
    notify(listener.o.onEnd ?? (p => console.error(p)), problem);
  }
  function endStream(stream: Stream, problem: Problem): void {
    for (const listener of [...stream.listeners]) endListener(listener, problem);
  }
  async function follow(stream: Stream, filter: object): Promise<void> {
    const { signal } = stream.controller;
    let last = '';
    let wait = STREAM_WAIT_MS;
    stream.isStarted = true;
    const onEvent = (id: string | undefined, kind: string | undefined, data: any): void => {
      last = id ?? last;
      if (kind === 'end' && data.code !== 'token_expired') endStream(stream, new Problem(0, data.code, 'The caller may no longer listen.'));
      for (const listener of [...stream.listeners].filter(each => !data?.entity || each.entity === data.entity)) {
        if (kind === 'hello' && !stream.isOpen) notify(listener.o.onReset, 'started');
        if (kind === 'reset') notify(listener.o.onReset, data.reason);
        if (kind === 'closed') endListener(listener, new Problem(0, data.code, `The caller may no longer read ${data.entity}.`));
        if (kind === 'created' || kind === 'updated') notify(listener.on, { kind, record: data.record });
        if (kind === 'deleted') notify(listener.on, { kind, id: data.id });
      }
      if (kind !== 'hello') return;
      stream.isOpen = true;
      wait = STREAM_WAIT_MS;
    };
    while (!signal.aborted) {
      try {
        await send('GET', '/realtime', {
          query: { entities: [...stream.entities], filter },
          headers: last ? { 'last-event-id': last } : {},
          signal,
          timeoutMs: 0,
          retries: 0,
          read: answer => readEvents(answer, onEvent),
        });
      } catch (e) {
        if (!signal.aborted && Problem.is(e)) {
          if (e.status >= 400 && e.status < 500 && e.status !== 408 && e.status !== 429) endStream(stream, e);
          wait = Math.max(wait, (e.retryAfter ?? 0) * 1000);
        }
      }
      await sleep(Math.min(wait * (1 + Math.random()), STREAM_WAIT_MAX_MS), signal).catch(() => {});
      wait = Math.min(wait * 2, STREAM_WAIT_MAX_MS);
    }
  }

  /* Files. */

  function upload(file: Blob & { readonly name?: string }, o: Parameters<Files<M>['upload']>[1] = {}): Upload {
    const { folder_id, is_public, attach } = o;
    const filename = o.filename ?? (file.name || 'file');
    const total = file.size;
    const { signal, abort, end } = followed(o.signal, 0);
    const tus = { 'tus-resumable': '1.0.0' };
    const progress: ((sent: number, total: number) => void)[] = [];
    let token = o.resumeToken ?? '';
    let isPaused = false;
    let wake = (): void => {};
    signal.addEventListener('abort', () => wake());

    const report = (sent: number): void => progress.forEach(each => notify(each, sent, total));

    async function sendWhole(): Promise<FileInfo> {
      const body = new FormData();
      body.append('file', file, filename);
      const query = { folder_id, is_public, entity: attach?.entity, entityId: attach?.id, fieldName: attach?.field };
      const made = await send('POST', '/files', { query, body, signal, timeoutMs: 0 });
      report(total);
      return made;
    }

    /** The protocol tus 1.0 with requests that take about a second each. */
    async function sendParts(): Promise<FileInfo> {
      let offset = 0;
      let bytes = PART_BYTES;
      let failures = 0;
      let id: Id | null = null;
      const find = async (): Promise<void> => {
        const found = await send('GET', `/files/tus/${token}`, { headers: tus, signal });
        if (found.length !== total) throw new TypeError('The resumeToken belongs to a file of another size.');
        offset = found.offset;
        id = found.file_id;
      };
      if (token)
        await find().catch(e => {
          if (!Problem.is(e, 'not_found')) throw e;
          token = ''; // it has expired: begin again
        });
      token ||= await send('POST', '/files/tus', {
        query: { folder_id, is_public },
        headers: { ...tus, 'upload-length': `${total}`, 'upload-metadata': `filename ${base64(utf8(filename))}` },
        signal,
        read: answer => lastSegment(answer.headers.get('location')),
      });
      report(offset);
      while (id === null) {
        while (isPaused && !signal.aborted) await new Promise<void>(resolve => (wake = resolve));
        const since = Date.now();
        try {
          if (failures) await find();
          const part = file.slice(offset, offset + bytes);
          const place = await send('PATCH', `/files/tus/${token}`, {
            headers: { ...tus, 'upload-offset': `${offset}`, 'content-type': 'application/offset+octet-stream' },
            body: part,
            signal,
            read: answer => answer.headers.get('content-location'),
          });
          offset += part.size;
          if (place) id = +lastSegment(place);
          failures = 0;
          bytes = Math.max(PART_BYTES_MIN, Math.min(PART_BYTES_MAX, bytes * 2, Math.round((part.size * 1000) / (Date.now() - since + 1))));
          report(offset);
        } catch (e) {
          if (!isTemporary(e) && !Problem.is(e, 'timeout', 'conflict')) throw e;
          if (failures++ === PART_FAILURES) throw e;
          bytes = Math.max(PART_BYTES_MIN, bytes / 2);
          await sleep(Math.max(RETRY_MS * 2 ** failures, ((e as Problem).retryAfter ?? 0) * 1000), signal);
        }
      }
      if (attach) await send('PUT', `/entities/${attach.entity}/items/${attach.id}`, { body: { [attach.field]: id }, signal });
      return send('GET', `/files/${id}`, { signal });
    }

    let hasEnded = false;
    const result = (token || total > PART_BYTES ? sendParts() : sendWhole()).finally(() => {
      hasEnded = true;
      end();
    });
    result.catch(() => {}); // the application handles a failure, or has caused it by abort()
    const self: Upload = {
      then: (done, failed) => result.then(done, failed),
      onProgress: f => (progress.push(f), self),
      pause: () => void (isPaused = true),
      resume: () => {
        isPaused = false;
        wake();
      },
      abort: () => {
        if (hasEnded) return;
        abort();
        if (token) send('DELETE', `/files/tus/${token}`, { headers: tus }).catch(() => {});
      },
      get resumeToken() {
        return token;
      },
    };
    return self;
  }

  const auth: Auth = {
    ready,
    get user() {
      return session?.user ?? null;
    },
    signIn: credentials => signInAt('/auth/v1/token', credentials),
    async signInWith(provider, o) {
      const { location, sessionStorage } = host;
      if (!location || !sessionStorage) throw new TypeError('signInWith needs the page of a browser');
      const verifier = randomText();
      const code_challenge = base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', utf8(verifier))));
      const { url } = await send('GET', `/auth/v1/${provider}/authorize`, {
        query: { ...o, code_challenge },
        headers: { accept: 'application/json' },
        isPublic: true,
      });
      sessionStorage.setItem(storeName, verifier);
      location.assign(url);
      return new Promise(() => {});
    },
    async completeRedirect(url = host.location?.href) {
      const code_verifier = host.sessionStorage?.getItem(storeName);
      if (!url || !code_verifier) return null;
      const address = new URL(url);
      const [code, state, iss, error] = REDIRECT_PARAMETERS.map(name => address.searchParams.get(name) ?? undefined);
      if (!state || !(code || error)) return null;
      host.sessionStorage?.removeItem(storeName);
      for (const name of REDIRECT_PARAMETERS) address.searchParams.delete(name);
      if (url === host.location?.href) host.history?.replaceState(host.history.state, '', address.href);
      return signInAt('/auth/v1/google/callback', { code, state, iss, error, code_verifier });
    },
    magicLink: (email, o) => send('POST', '/auth/v1/magic-link', { body: { email, ...o }, isPublic: true }),
    recover: (email, o) => send('POST', '/auth/v1/recover', { body: { email, ...o }, isPublic: true }),
    verify: link => signInAt('/auth/v1/verify', link),
    changeEmail: change => send('POST', '/auth/v1/email-change', { body: change }),
    confirmEmailChange: token => send('POST', '/auth/v1/email-change/confirm', { body: { token }, isPublic: true }),
    async signOut(scope = 'local') {
      try {
        if (session) await send('POST', '/auth/v1/logout', { query: { scope } });
      } catch (e) {
        if (!Problem.is(e) || e.status !== 401) throw e; // 401: the session has ended already
      } finally {
        if (scope !== 'others') await save(null);
      }
    },
    onChange(f) {
      const watcher: typeof f = (...change) => f(...change); // the same function may watch twice
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
  };

  const files: Files<M> = {
    upload,
    url: (id, o = {}) => `${base}/files/${id}/public${toQuery(o)}`,
    async link(id, { expires_in, signal, ...o } = {}) {
      const { url } = await send('POST', `/files/${id}/link`, { body: { expires_in }, signal });
      return url + toQuery(o).replace('?', '&');
    },
    download: (id, { signal, ...query } = {}) =>
      send('GET', `/files/${id}/get`, { query, signal, timeoutMs: 0, read: answer => answer.blob() }),
    async delete(id, { signal } = {}) {
      await (typeof id === 'number' ? send('DELETE', `/files/${id}`, { signal }) : send('DELETE', '/files', { body: { ids: id }, signal }));
    },
  };

  const isOver = ({ status }: { status: string }): boolean => !/^(queued|running|waiting)$/.test(status);
  const made: Record<string, object> = Object.create(null);
  return {
    modelVersion,
    db: new Proxy(made, { get: (_, name) => (typeof name === 'string' ? (made[name] ??= itemsOf(name)) : undefined) }) as unknown as Db<M>,
    auth,
    files,
    workflows: {
      trigger: (id, data, { signal } = {}) => send('POST', `/workflows/${id}/trigger`, { body: data, signal }),
      route: (name, data, { signal } = {}) => send('POST', `/workflows/api/${encodeURIComponent(name)}`, { body: data, signal }),
      wait: (id, { signal } = {}) => poll<Job>(`/workflows/jobs/${id}`, isOver, signal),
    },
    payments: {
      create: (payment, o) =>
        send('POST', '/integrations/svcpay/payments', { ...o, body: { type: 'one_off', mode: 'intent', ...payment } }),
      entitlement: o => get('/integrations/svcpay/subscriptions/me/entitlement', o),
    },
    search: (q, o) => get('/search', { q, ...o }),
    task: (id, onProgress, { signal } = {}) => poll<Task>(`/tasks/${id}`, task => (notify(onProgress, task), isOver(task)), signal),
    request: (method, path, o) => send(method.toUpperCase(), path, o),
  };
}
