// The cache of answers. A key is the project, the resource and its parameters.
import { createQuery, QueryClient, type CreateQueryResult } from '@tanstack/svelte-query';
import { isAborted, Problem } from './http.ts';
import { can, type Entity, type Enumeration, type Me, type Page } from './model.ts';
import { sessionOf, type Session } from './session.svelte.ts';

const FRESH_MS = 30_000;
const PAGE = 500;

export const client = new QueryClient({
  defaultOptions: {
    // The gateway's client has its own retries, and live changes tell when an answer is old.
    queries: { staleTime: FRESH_MS, retry: false, networkMode: 'always', structuralSharing: false },
  },
});

export type Load<T> = {
  key: readonly unknown[];
  run: (session: Session, signal: AbortSignal) => Promise<T>;
  isOff?: boolean;
  /** How long the answer is used without a new call, in place of half a minute. */
  freshMs?: number;
};

function optionsOf<T>(project: string, load: Load<T>) {
  return {
    queryKey: [project, ...load.key],
    queryFn: async ({ signal }: { signal: AbortSignal }) => {
      try {
        return await load.run(sessionOf(project), signal);
      } catch (error) {
        // The caller's rights have changed since they were read.
        if (Problem.is(error) && error.status === 403 && load.key[0] !== 'me') void refresh(project, ['me']);
        throw error;
      }
    },
    enabled: !load.isOff,
    staleTime: load.freshMs ?? FRESH_MS,
  };
}

export function useLoad<T>(project: () => string, load: () => Load<T>): CreateQueryResult<T, Error> {
  return createQuery<T>(() => optionsOf(project(), load()), () => client);
}

/** Reads through the cache, outside of a component. */
export function readCached<T>(project: string, load: Load<T>): Promise<T> {
  return client.fetchQuery(optionsOf(project, load));
}

export function refresh(project: string, key: readonly unknown[]): Promise<void> {
  return client.invalidateQueries({ queryKey: [project, ...key] }).catch((error: unknown) => {
    if (!isAborted(error)) throw error;
  });
}

async function readAll<T>(session: Session, path: string, signal: AbortSignal): Promise<T[]> {
  const items: T[] = [];
  for (let page = 1; ; page++) {
    const answer = await session.gateway.get<Page<T>>(path, [['page', String(page)], ['limit', String(PAGE)], ['count', 'false']], { signal });
    items.push(...answer.items);
    if (!answer.has_next_page) return items;
  }
}

export const loads = {
  me: (): Load<Me> => ({ key: ['me'], run: (session, signal) => session.gateway.get('/users/me', [], { signal }) }),
  entities: (me: Me | undefined): Load<Entity[]> => ({
    key: ['entities'],
    run: (session, signal) => readAll(session, '/entities', signal),
    isOff: !can(me, 'svc_entities:read'),
  }),
  enums: (): Load<Enumeration[]> => ({ key: ['enums'], run: (session, signal) => readAll(session, '/enums', signal) }),
};
