// The session of a user in a project, as the typed client has it.
import type { User } from './client.ts';
import { connection } from './connection.svelte.ts';
import { Gateway } from './http.ts';
import { TabStore } from './store.ts';

export type SessionState = 'restoring' | 'out' | 'in';

export class Session {
  readonly project: string;
  readonly base: string;
  readonly gateway: Gateway;
  state = $state<SessionState>('restoring');
  user = $state.raw<User>();
  /** The session has ended without a sign-out in this tab. */
  hasEnded = $state(false);
  readonly #store: TabStore;
  #isSigningOut = false;

  constructor(project: string) {
    this.project = project;
    this.base = `${location.origin}/org/${project}`;
    this.#store = new TabStore(project, this.base);
    this.gateway = new Gateway(this.base, connection, { session: this.#store });
    const { auth } = this.gateway.client;
    auth.onChange((session) => this.#show(session?.user));
    void auth.ready.then(() => this.#show(auth.user ?? undefined));
  }

  async signIn(email: string, password: string, stays: boolean): Promise<void> {
    this.#store.stays = stays;
    await this.gateway.client.auth.signIn({ email, password });
  }

  async signOut(scope: 'local' | 'global'): Promise<void> {
    this.#isSigningOut = true;
    await this.gateway.client.auth.signOut(scope).finally(() => (this.#isSigningOut = false));
  }

  /** The access token, for a request that fetch() cannot make. The call before it renews a token that ends soon. */
  async token(): Promise<string | undefined> {
    await this.gateway.get('/auth/v1/user');
    return (await this.#store.get())?.access_token;
  }

  #show(user: User | undefined): void {
    this.hasEnded = this.state === 'in' && !user && !this.#isSigningOut;
    this.user = user;
    this.state = user ? 'in' : 'out';
  }
}

const sessions = new Map<string, Session>();

export function sessionOf(project: string): Session {
  let session = sessions.get(project);
  if (!session) sessions.set(project, (session = new Session(project)));
  return session;
}
