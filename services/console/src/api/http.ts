// Calls of the API through the typed client. The client has the sessions, the retries and the problems; this module adds JSON with exact
// numbers, and whether the service can be reached.
import { createClient, Problem, problemOf, type Client, type Options } from './client.ts';
import { parseJson } from './json.ts';

export { Problem, problemOf };
export type FieldProblem = Problem['errors'][number];

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';
/** Parameters in the order in which they are sent: a cursor is valid only with the same text of filter and sort. */
export type Query = readonly (readonly [name: string, value: string])[];

/** A call as a view shows it: below the address of the project, without credentials. */
export interface Call {
  method: Method;
  path: string;
  query?: Query;
  body?: unknown;
}

export interface CallOptions<T> {
  signal?: AbortSignal;
  ifMatch?: string;
  lockToken?: string;
  /** The time limit of the call and of `read`. */
  timeoutMs?: number;
  /** Reads an answer that is no JSON. Without timeoutMs it may take any time. */
  read?: (answer: Response) => Promise<T>;
}

export interface Answer<T> {
  data: T;
  etag: string | undefined;
}

export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

export interface Network {
  isDown(): boolean;
  report(isUp: boolean): void;
}

const OFFLINE = 'There is no connection: nothing was changed.';

export function queryText(query: Query = []): string {
  const text = new URLSearchParams(query.map(([name, value]) => [name, value])).toString();
  // Brackets and commas need no escape in a query, and addresses stay readable.
  return text && `?${text.replaceAll('%5B', '[').replaceAll('%5D', ']').replaceAll('%2C', ',')}`;
}

export class Gateway {
  readonly base: string;
  readonly client: Client;
  readonly #network: Network;

  constructor(base: string, network: Network, options: Options = {}) {
    this.base = base;
    this.#network = network;
    this.client = createClient(base, { ...options, fetch: (request) => this.#fetch(request as Request), warnWhenOutdated: false });
  }

  async get<T>(path: string, query: Query = [], options: CallOptions<T> = {}): Promise<T> {
    return (await this.call<T>({ method: 'GET', path, query }, options)).data;
  }

  async call<T>({ method, path, query = [], body }: Call, { signal, ifMatch, lockToken, timeoutMs, read }: CallOptions<T> = {}): Promise<Answer<T>> {
    if (method !== 'GET' && this.#network.isDown()) throw new Problem(0, 'network', OFFLINE);
    const limit = timeoutMs ?? (read ? 0 : undefined);
    return await this.client.request<Answer<T>>(method, path, {
      query: Object.fromEntries(query),
      body,
      headers: { ...(ifMatch && { 'If-Match': ifMatch }), ...(lockToken && { 'X-Lock-Token': lockToken }) },
      ...(signal && { signal }),
      ...(limit !== undefined && { timeoutMs: limit }),
      read: async (answer) => ({ data: await (read ?? readJson)(answer) as T, etag: answer.headers.get('ETag') ?? undefined }),
    });
  }

  async #fetch(request: Request): Promise<Response> {
    try {
      const answer = await fetch(request, { cache: 'no-store', credentials: 'omit' });
      this.#network.report(true);
      return answer;
    } catch (error) {
      if (!request.signal.aborted) this.#network.report(false);
      throw error;
    }
  }
}

async function readJson(answer: Response): Promise<unknown> {
  const text = await answer.text();
  return text ? parseJson(text) : undefined;
}

export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    }, { once: true });
  });
}
