// Calls of the API: problems, credentials, retries.
import { parseJson } from './json.ts';

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

export interface CallOptions {
  signal?: AbortSignal;
  ifMatch?: string;
  lockToken?: string;
  timeoutMs?: number;
  /** The answer is no JSON: `data` is the Response. */
  isRaw?: boolean;
}

export interface Answer<T> {
  data: T;
  etag: string | undefined;
}

export interface FieldProblem {
  field: string;
  code: string;
  message: string;
}

/** A refusal or a failure, in the service's words. `network`: the service did not answer. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | undefined;
  readonly errors: readonly FieldProblem[];
  readonly retryAfter: number | undefined;

  constructor(status: number, code: string, detail: string, more: { requestId?: string; errors?: FieldProblem[]; retryAfter?: number } = {}) {
    super(detail);
    this.name = 'Problem';
    this.status = status;
    this.code = code;
    this.requestId = more.requestId;
    this.errors = more.errors ?? [];
    this.retryAfter = more.retryAfter;
  }

  static is(error: unknown, ...codes: string[]): error is Problem {
    return error instanceof Problem && (codes.length === 0 || codes.includes(error.code));
  }
}

export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

/** The access token of a session. renew() gets a new one after the service has refused `used`. */
export interface Credentials {
  token(): Promise<string | undefined>;
  renew(used: string): Promise<string | undefined>;
}

export interface Network {
  isDown(): boolean;
  report(isUp: boolean): void;
}

const TIMEOUT_MS = 30_000;
const RETRIES = 2;
const RETRY_AFTER_MAX_S = 10;
const WORDS = {
  network: 'The service cannot be reached.',
  timeout: 'The service did not answer in time.',
  offline: 'There is no connection: nothing was changed.',
};

export function queryText(query: Query = []): string {
  const text = new URLSearchParams(query.map(([name, value]) => [name, value])).toString();
  // Brackets and commas need no escape in a query, and addresses stay readable.
  return text && `?${text.replaceAll('%5B', '[').replaceAll('%5D', ']').replaceAll('%2C', ',')}`;
}

export class Gateway {
  readonly base: string;
  readonly #credentials: Credentials | undefined;
  readonly #network: Network;

  constructor(base: string, network: Network, credentials?: Credentials) {
    this.base = base;
    this.#network = network;
    this.#credentials = credentials;
  }

  async get<T>(path: string, query: Query = [], options: CallOptions = {}): Promise<T> {
    return (await this.call<T>({ method: 'GET', path, query }, options)).data;
  }

  /** GET may be sent again after a failure. Other methods are sent once, because the service may have done the work. */
  async call<T>(call: Call, options: CallOptions = {}): Promise<Answer<T>> {
    if (call.method !== 'GET' && this.#network.isDown()) throw new Problem(0, 'network', WORDS.offline);
    for (let tries = 0; ; tries++) {
      try {
        return await this.#callSigned<T>(call, options);
      } catch (error) {
        const again = call.method === 'GET' && tries < RETRIES && Problem.is(error) && [0, 429, 503].includes(error.status);
        if (!again || (error as Problem).code === 'timeout') throw error;
        const seconds = Math.min((error as Problem).retryAfter ?? 0.3 * 2 ** tries, RETRY_AFTER_MAX_S);
        await pause(seconds * 1000, options.signal);
      }
    }
  }

  async #callSigned<T>(call: Call, options: CallOptions): Promise<Answer<T>> {
    const token = await this.#credentials?.token();
    try {
      return await this.#callOnce<T>(call, options, token);
    } catch (error) {
      if (!token || !Problem.is(error) || error.status !== 401) throw error;
      const renewed = await this.#credentials?.renew(token);
      if (!renewed) throw error;
      return await this.#callOnce<T>(call, options, renewed);
    }
  }

  async #callOnce<T>(call: Call, options: CallOptions, token: string | undefined): Promise<Answer<T>> {
    const headers = new Headers();
    if (token) headers.set('Authorization', `Bearer ${token}`);
    if (options.ifMatch) headers.set('If-Match', options.ifMatch);
    if (options.lockToken) headers.set('X-Lock-Token', options.lockToken);
    const isForm = call.body instanceof FormData;
    if (call.body !== undefined && !isForm) headers.set('Content-Type', 'application/json');
    const response = await this.#send(this.base + call.path + queryText(call.query), {
      method: call.method,
      headers,
      body: isForm ? (call.body as FormData) : call.body === undefined ? undefined : JSON.stringify(call.body),
      cache: 'no-store',
      credentials: 'omit',
    }, options);
    if (!response.ok) throw await readProblem(response);
    const etag = response.headers.get('ETag') ?? undefined;
    if (options.isRaw) return { data: response as T, etag };
    const text = await response.text();
    return { data: (text ? parseJson(text) : undefined) as T, etag };
  }

  async #send(url: string, init: RequestInit, options: CallOptions): Promise<Response> {
    const limit = AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS);
    // A raw answer is read after this function has returned, so the limit would cut a long download.
    const signals = [options.signal, options.isRaw ? undefined : limit].filter((signal) => signal !== undefined);
    try {
      const response = await fetch(url, { ...init, signal: AbortSignal.any(signals) });
      this.#network.report(true);
      return response;
    } catch (error) {
      if (options.signal?.aborted) throw error;
      if (limit.aborted) throw new Problem(0, 'timeout', WORDS.timeout);
      this.#network.report(false);
      throw new Problem(0, 'network', WORDS.network);
    }
  }
}

export async function readProblem(response: Response): Promise<Problem> {
  const text = await response.text().catch(() => '');
  return problemOf(response.status, text, response.headers);
}

export function problemOf(status: number, text: string, headers: Pick<Headers, 'get'>): Problem {
  let body: Record<string, unknown> = {};
  try {
    body = JSON.parse(text) as Record<string, unknown>;
  } catch {
    // A proxy may answer with a page of its own.
  }
  const retryAfter = Number(headers.get('Retry-After') ?? NaN);
  return new Problem(status, String(body.code ?? `http_${status}`), String(body.detail ?? body.title ?? `The answer has the status ${status}.`), {
    requestId: String(body.request_id ?? headers.get('X-Request-Id') ?? '') || undefined,
    errors: Array.isArray(body.errors) ? (body.errors as FieldProblem[]) : [],
    retryAfter: Number.isFinite(retryAfter) ? retryAfter : undefined,
  });
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
