// The session of a user in a project. The access token is in memory only. The refresh token is in sessionStorage, or
// in localStorage when the user stays signed in. A refresh token works once, so tabs refresh in turn and share the
// result: a tab that has waited uses the tokens that another tab received.
import { connection } from './connection.svelte.ts';
import { Gateway, Problem, type Credentials } from './http.ts';

export interface User {
  id: number;
  email: string;
}

interface Tokens {
  access_token: string;
  refresh_token: string;
  expires_at: number;
  user: User;
}

interface Stored {
  refresh_token: string;
  user_id: number;
}

type Message =
  | { kind: 'ask'; project: string }
  | { kind: 'tokens'; project: string; tokens: Tokens; isAnswer: boolean; stays: boolean }
  | { kind: 'out'; project: string; sid: string };

const EARLY_MS = 15_000;
const ASK_MS = 150;
const channel = new BroadcastChannel('groundwork.session');
const storageKey = (project: string) => `groundwork.session:${project}`;

/** The id of the session that an access token belongs to. */
function sessionId(tokens: Tokens): string {
  const payload = tokens.access_token.split('.')[1] ?? '';
  const claims = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as { sid?: string | number };
  return String(claims.sid ?? '');
}

export type SessionState = 'restoring' | 'out' | 'in';

export class Session implements Credentials {
  readonly project: string;
  readonly base: string;
  readonly gateway: Gateway;
  state = $state<SessionState>('restoring');
  user = $state.raw<User>();
  /** Why the session has ended, to be shown above the sign-in form. */
  ended = $state.raw<Problem>();
  #tokens: Tokens | undefined;
  #stays = false;
  #refreshing: Promise<string | undefined> | undefined;
  #open: Gateway;

  constructor(project: string) {
    this.project = project;
    this.base = `${location.origin}/org/${project}`;
    this.gateway = new Gateway(this.base, connection, this);
    this.#open = new Gateway(this.base, connection);
    channel.addEventListener('message', (event: MessageEvent<Message>) => this.#receive(event.data));
    void this.#restore();
  }

  async token(): Promise<string | undefined> {
    const tokens = this.#tokens;
    if (tokens && tokens.expires_at * 1000 - EARLY_MS > Date.now()) return tokens.access_token;
    return this.renew(tokens?.access_token ?? '');
  }

  async renew(used: string): Promise<string | undefined> {
    if (this.#tokens && this.#tokens.access_token !== used) return this.#tokens.access_token;
    this.#refreshing ??= this.#refreshAlone(used).finally(() => (this.#refreshing = undefined));
    return this.#refreshing;
  }

  async signIn(email: string, password: string, stays: boolean): Promise<void> {
    const { data } = await this.#open.call<Tokens>({ method: 'POST', path: '/auth/v1/token', body: { email, password } });
    this.#stays = stays;
    this.#acceptTokens(data);
    this.#post({ kind: 'tokens', project: this.project, tokens: data, isAnswer: false, stays });
  }

  async signOut(scope: 'local' | 'global'): Promise<void> {
    await this.gateway.call({ method: 'POST', path: '/auth/v1/logout', query: [['scope', scope]] });
    this.#end(true);
  }

  async #refreshAlone(used: string): Promise<string | undefined> {
    return await navigator.locks.request(`groundwork.refresh:${this.project}`, async () => {
      if (this.#tokens && this.#tokens.access_token !== used) return this.#tokens.access_token;
      const refresh_token = this.#refreshToken();
      if (!refresh_token) return undefined;
      try {
        const { data } = await this.#open.call<Tokens>({ method: 'POST', path: '/auth/v1/refresh', body: { refresh_token } });
        this.#acceptTokens(data);
        this.#post({ kind: 'tokens', project: this.project, tokens: data, isAnswer: false, stays: this.#stays });
        return data.access_token;
      } catch (error) {
        // A network failure says nothing about the session.
        if (!Problem.is(error) || ![401, 403].includes(error.status)) throw error;
        this.ended = error;
        this.#end(true);
        return undefined;
      }
    });
  }

  /** The stored token is newer than the one in memory when this tab was frozen while another tab refreshed. */
  #refreshToken(): string | undefined {
    const stored = this.#read(this.#stays ? localStorage : sessionStorage);
    return stored && (!this.user || stored.user_id === this.user.id) ? stored.refresh_token : this.#tokens?.refresh_token;
  }

  async #restore(): Promise<void> {
    this.#stays = !this.#read(sessionStorage) && this.#read(localStorage) !== undefined;
    if (!this.#refreshToken()) {
      this.#post({ kind: 'ask', project: this.project });
      await new Promise((resolve) => setTimeout(resolve, ASK_MS));
    }
    // A network failure leaves the form; the stored token is still there for the next load of the page.
    await this.token().catch((error: unknown) => (this.ended = error instanceof Problem ? error : undefined));
    if (this.state === 'restoring') this.state = 'out';
  }

  #receive(message: Message): void {
    if (message.project !== this.project) return;
    if (message.kind === 'ask' && this.#tokens) {
      this.#post({ kind: 'tokens', project: this.project, tokens: this.#tokens, isAnswer: true, stays: this.#stays });
    } else if (message.kind === 'tokens') {
      const isOwn = this.#tokens ? sessionId(this.#tokens) === sessionId(message.tokens) : message.isAnswer && this.state !== 'out';
      if (!isOwn) return;
      this.#stays = message.stays;
      this.#acceptTokens(message.tokens);
    } else if (message.kind === 'out' && this.#tokens && sessionId(this.#tokens) === message.sid) {
      this.#end(false);
    }
  }

  #acceptTokens(tokens: Tokens): void {
    this.#tokens = tokens;
    this.user = tokens.user;
    this.ended = undefined;
    this.state = 'in';
    const stored: Stored = { refresh_token: tokens.refresh_token, user_id: tokens.user.id };
    (this.#stays ? localStorage : sessionStorage).setItem(storageKey(this.project), JSON.stringify(stored));
  }

  #end(isFirst: boolean): void {
    const sid = this.#tokens && sessionId(this.#tokens);
    if (isFirst && sid) this.#post({ kind: 'out', project: this.project, sid });
    this.#tokens = undefined;
    this.user = undefined;
    this.state = 'out';
    (this.#stays ? localStorage : sessionStorage).removeItem(storageKey(this.project));
  }

  #read(storage: Storage): Stored | undefined {
    try {
      return (JSON.parse(storage.getItem(storageKey(this.project)) ?? 'null') as Stored | null) ?? undefined;
    } catch {
      return undefined;
    }
  }

  #post(message: Message): void {
    channel.postMessage(message);
  }
}

const sessions = new Map<string, Session>();

export function sessionOf(project: string): Session {
  let session = sessions.get(project);
  if (!session) sessions.set(project, (session = new Session(project)));
  return session;
}
