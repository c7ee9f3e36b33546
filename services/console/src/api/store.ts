// Where a session of the typed client is stored. The access token is in memory only. The refresh token is in sessionStorage, or in
// localStorage when the user stays signed in. Tabs with the same session share the tokens through a channel; a new tab asks for them.
// Tabs with a session hold a lock together: while no tab holds it, no answer can come.
import type { Session as Tokens, SessionStore } from './client.ts';

interface Stored {
  refresh_token: string;
  user: Tokens['user'];
}

type Message = { kind: 'ask' } | { kind: 'tokens'; tokens: Tokens; isAnswer: boolean; stays: boolean } | { kind: 'out'; sid: string };

const ASK_MS = 150;

/** The id of the session that an access token belongs to. */
function sessionId({ access_token }: Tokens): string {
  const payload = access_token.split('.')[1];
  if (!payload) return '';
  const claims = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as { sid?: string | number };
  return String(claims.sid ?? '');
}

export class TabStore implements SessionStore {
  /** Whether the session outlives the tab. */
  stays = false;
  readonly #key: string;
  readonly #channel: BroadcastChannel;
  readonly #lock: string;
  #tokens: Tokens | null = null;
  #hasAsked = false;

  /** `base`: the address of the project. The client listens on the same channel: after each message it gets the session from the store. */
  constructor(project: string, base: string) {
    this.#key = `groundwork.session:${project}`;
    this.#lock = `groundwork.tabs:${base}`;
    this.#channel = new BroadcastChannel(`groundwork:${base}`);
    this.#channel.addEventListener('message', (event: MessageEvent<Message | string>) => {
      if (typeof event.data === 'object') this.#receive(event.data);
    });
    this.stays = !this.#read(sessionStorage) && this.#read(localStorage) !== undefined;
  }

  get(): Tokens | null | Promise<Tokens | null> {
    if (this.#tokens || this.#hasAsked) return this.#current();
    this.#hasAsked = true;
    return this.#current() ?? this.#ask();
  }

  set(tokens: Tokens | null): void {
    const before = this.#tokens;
    this.#accept(tokens);
    if (tokens) this.#post({ kind: 'tokens', tokens, isAnswer: false, stays: this.stays });
    else if (before) this.#post({ kind: 'out', sid: sessionId(before) });
  }

  /** Asks the other tabs. Browsers have locks only with TLS and on localhost; elsewhere the tab always asks. */
  async #ask(): Promise<Tokens | null> {
    const locks = await navigator.locks?.query();
    if (locks && !locks.held?.some(({ name }) => name === this.#lock)) return this.#current();
    this.#post({ kind: 'ask' });
    await new Promise((resolve) => setTimeout(resolve, ASK_MS));
    return this.#current();
  }

  /** The stored token is newer than the one in memory when this tab was frozen while another tab refreshed. */
  #current(): Tokens | null {
    const stored = this.#read(this.#storage());
    if (!stored || stored.refresh_token === this.#tokens?.refresh_token || (this.#tokens && stored.user.id !== this.#tokens.user.id)) return this.#tokens;
    return { ...stored, access_token: '', expires_at: 0 };
  }

  #accept(tokens: Tokens | null): void {
    if (tokens && !this.#tokens) void navigator.locks?.request(this.#lock, { mode: 'shared' }, () => new Promise(() => undefined));
    this.#tokens = tokens;
    if (!tokens) return this.#storage().removeItem(this.#key);
    const stored: Stored = { refresh_token: tokens.refresh_token, user: tokens.user };
    this.#storage().setItem(this.#key, JSON.stringify(stored));
  }

  #receive(message: Message): void {
    const own = this.#tokens;
    if (message.kind === 'ask') {
      if (own?.access_token) this.#post({ kind: 'tokens', tokens: own, isAnswer: true, stays: this.stays });
    } else if (message.kind === 'tokens') {
      // A tab without a session takes over the answer to its question, and no other session.
      if (own ? sessionId(own) !== sessionId(message.tokens) : !message.isAnswer) return;
      this.stays = message.stays;
      this.#accept(message.tokens);
    } else if (own && sessionId(own) === message.sid) {
      this.#accept(null);
    }
  }

  #storage(): Storage {
    return this.stays ? localStorage : sessionStorage;
  }

  #read(storage: Storage): Stored | undefined {
    try {
      const stored = JSON.parse(storage.getItem(this.#key) ?? 'null') as Partial<Stored> | null;
      return stored?.refresh_token && stored.user ? (stored as Stored) : undefined;
    } catch {
      return undefined;
    }
  }

  #post(message: Message): void {
    this.#channel.postMessage(message);
  }
}
