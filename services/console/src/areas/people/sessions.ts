// Sessions of a user: the calls about them, and their devices in words.
import type { Call } from '../../api/http.ts';
import type { Me } from '../../api/model.ts';
import { p } from './strings.en.ts';

/** The name of the list in the cache. */
export const sessionsKey = (user: number) => ['user', user, 'sessions'];

/** The calls about the sessions of a user. `endAll` ends all sessions but the caller's current session. */
export function sessionCalls(me: Me, user: number) {
  const path = user === me.id ? '/users/me/sessions' : `/users/${user}/sessions`;
  return {
    list: { method: 'GET', path } satisfies Call,
    end: (id: number): Call => ({ method: 'DELETE', path: `${path}/${id}` }),
    endAll: (user === me.id ? { method: 'POST', path: '/auth/v1/logout', query: [['scope', 'others']] } : { method: 'DELETE', path }) satisfies Call,
  };
}

// The first entry that is in the header counts: Edge also names Chrome and Safari, and Android also names Linux.
const BROWSERS: readonly (readonly [token: string, name: string])[] = [
  ['Edg', 'Edge'], ['OPR/', 'Opera'], ['SamsungBrowser/', 'Samsung Internet'], ['Firefox/', 'Firefox'], ['FxiOS/', 'Firefox'],
  ['Chrome/', 'Chrome'], ['CriOS/', 'Chrome'], ['Safari/', 'Safari'],
];
const SYSTEMS: readonly (readonly [token: string, name: string])[] = [
  ['iPhone', 'iPhone'], ['iPad', 'iPad'], ['Android', 'Android'], ['Windows', 'Windows'], ['CrOS', 'ChromeOS'], ['Mac OS X', 'macOS'], ['Linux', 'Linux'],
];

/** The device that a User-Agent names, such as "Firefox on Linux". A program that is no browser has the name of its first product. */
export function deviceOf(agent: string | null): string {
  if (!agent) return p('unknownDevice');
  const find = (names: typeof BROWSERS) => names.find(([token]) => agent.includes(token))?.[1];
  const product = agent.startsWith('Mozilla/') ? undefined : /^[^\s/()]+/.exec(agent)?.[0];
  const program = find(BROWSERS) ?? product;
  const system = find(SYSTEMS);
  return program && system ? p('deviceOn', { program, system }) : (program ?? system ?? p('unknownDevice'));
}
