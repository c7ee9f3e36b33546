// The checks that decide about a request, as GET /permissions/explain answers them.
import type { Query } from './http.ts';
import type { Load } from './query.ts';

export interface Giver {
  kind: 'role' | 'owner' | 'user' | 'group' | 'everybody' | 'administrator';
  id: number | null;
  name: string | null;
}

export interface Check {
  check: string;
  passed: boolean;
  needs: string | null;
  reason: string | null;
  given_by: Giver[];
  fields: string[] | null;
}

export interface Explanation {
  route: string;
  summary: string;
  user_id: number;
  key_id: number | null;
  allowed: boolean;
  status: number;
  code: string | null;
  reason: string | null;
  checks: Check[];
}

/** A request to explain. Without a user and a key the request is the caller's own. */
export interface Question {
  method: string;
  path: string;
  user?: number | undefined;
  key?: number | undefined;
}

export function questionQuery({ method, path, user, key }: Question): Query {
  return [
    ['method', method],
    ['path', path],
    ...(user ? [['user_id', String(user)] as const] : []),
    ...(key ? [['key_id', String(key)] as const] : []),
  ];
}

export function explainLoad(question: Question, isOff = false): Load<Explanation> {
  const query = questionQuery(question);
  return { key: ['explain', JSON.stringify(query)], run: (on, signal) => on.gateway.get('/permissions/explain', query, { signal }), isOff };
}

/** The address of the page that explains a request. */
export function explainPath(project: string, { method, path, user, key }: Question): string {
  const query = new URLSearchParams({ ...(method === 'GET' ? {} : { method }), path, ...(user ? { user: String(user) } : {}), ...(key ? { key: String(key) } : {}) });
  return `/${project}/explain?${query.toString().replaceAll('%2F', '/')}`;
}
