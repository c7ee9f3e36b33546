// Calls of the page, and the state that stays in the tab while the identity provider has the browser.
import { Problem, problemOf } from '../api/client.ts';
import { t } from './strings.en.ts';

export interface SignInSettings {
  name: string;
  accent_color: string | null;
  logo_file_id: number | null;
  password_min_length: number;
  magic_link: boolean;
  provider: string | null;
  sign_up: boolean;
  page_url: string | null;
}

export interface Tokens {
  access_token: string;
  user: { email: string };
}

/** The address of the project: this page is at {base}/auth/ui/. */
export const base = location.pathname.replace(/\/auth\/ui\/.*$/, '');

export async function call<T>(method: 'GET' | 'POST', path: string, body?: unknown, token?: string): Promise<T> {
  const response = await fetch(base + path, {
    method,
    headers: {
      Accept: 'application/json',
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: 'no-store',
    credentials: 'omit',
  }).catch(() => {
    throw new Problem(0, 'network', t('unreachable'));
  });
  if (!response.ok) throw await problemOf(response);
  const text = await response.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

// --- where the page continues ---

/** Where the application wants its user back, and its challenge of RFC 7636. */
export interface Target {
  redirect_to?: string;
  code_challenge?: string;
}

export function targetOf(query: URLSearchParams): Target {
  const target: Target = {};
  const redirect = query.get('redirect_to');
  const challenge = query.get('code_challenge');
  if (redirect) target.redirect_to = redirect;
  if (redirect && challenge) target.code_challenge = challenge;
  return target;
}

export function queryOf(target: Target): string {
  const text = new URLSearchParams(target as Record<string, string>).toString();
  // The service allows a smaller set of characters in the address of a mail's link than URLSearchParams writes.
  return text && `?${text.replaceAll('+', '%20').replaceAll('*', '%2A')}`;
}

/** Leaves for the application with a code for the session. The service checks the address. */
export async function leave(target: Target, token: string): Promise<void> {
  const { url } = await call<{ url: string }>('POST', '/auth/v1/redirect', target, token);
  location.replace(url);
}

// --- links in mails ---

export const LINKS = ['invite', 'confirmation', 'recovery', 'magic_link', 'email_change'] as const;
export interface Link {
  type: (typeof LINKS)[number];
  token: string;
}

export function linkOf(fragment: string): Link | undefined {
  const values = new URLSearchParams(fragment.replace(/^#/, ''));
  const type = LINKS.find((each) => each === values.get('type'));
  const token = values.get('token');
  return type && token ? { type, token } : undefined;
}

/** Takes the link out of the address, where others may see it. It stays in the entry of the tab's history for a reload. */
export function takeLink(): Link | undefined {
  const link = linkOf(location.hash);
  if (link) history.replaceState({ link }, '', location.pathname + location.search);
  return link ?? (history.state as { link?: Link } | null)?.link;
}

export function dropLink(): void {
  history.replaceState(null, '', location.pathname + location.search);
}

// --- the identity provider ---

interface Flow {
  verifier: string;
  target: Target;
}
const FLOW = `groundwork.auth:${base}`;

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

export async function challengeOf(verifier: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))));
}

/** Leaves for the provider, which returns to the public address of this page. */
export async function leaveForProvider(pageUrl: string, target: Target): Promise<void> {
  // The verifier is in the storage of this origin, so the way begins at the origin to which the provider returns.
  if (location.origin + location.pathname !== pageUrl) return location.assign(pageUrl + queryOf(target));
  const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)));
  const query = new URLSearchParams({ redirect_to: pageUrl, code_challenge: await challengeOf(verifier) });
  const { url } = await call<{ url: string }>('GET', `/auth/v1/google/authorize?${query}`);
  sessionStorage.setItem(FLOW, JSON.stringify({ verifier, target } satisfies Flow));
  location.assign(url);
}

export interface Return {
  code?: string;
  state: string;
  iss?: string;
  error?: string;
  code_verifier: string;
}

/** Returns the provider's answer, and where the page continues. undefined: the address has no answer of a provider. */
export function takeReturn(query: URLSearchParams): { answer: Return; target: Target } | 'lost' | undefined {
  const state = query.get('state');
  if (!state || !(query.get('code') ?? query.get('error'))) return undefined;
  const flow = JSON.parse(sessionStorage.getItem(FLOW) ?? 'null') as Flow | null;
  sessionStorage.removeItem(FLOW);
  history.replaceState(null, '', location.pathname + queryOf(flow?.target ?? {}));
  if (!flow) return 'lost';
  const value = (name: string) => query.get(name) ?? undefined;
  return { answer: { code: value('code'), state, iss: value('iss'), error: value('error'), code_verifier: flow.verifier }, target: flow.target };
}
