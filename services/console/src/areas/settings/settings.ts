// The settings of a project in groups. Types, limits and descriptions come from the documents of the API.
import type { Schema } from '../../api/docs.ts';
import { isSame } from '../../api/json.ts';

export type Unit = 'seconds' | 'bytes' | 'count';
export type Group = 'project' | 'sharing' | 'signIn' | 'external' | 'links' | 'limits' | 'other';

export interface SettingRow {
  name: string;
  group: Group;
  unit?: Unit;
  /** The value of a new project. A test compares the defaults with those of the service. */
  fallback: unknown;
}

export const GROUPS: readonly Group[] = ['project', 'sharing', 'signIn', 'external', 'links', 'limits', 'other'];

const HOUR = 3600;
const DAY = 24 * HOUR;
export const ROWS: readonly SettingRow[] = [
  { name: 'default_row_level_security', group: 'project', fallback: true },
  { name: 'timezone', group: 'project', fallback: null },
  { name: 'locale', group: 'project', fallback: null },
  { name: 'password_min_length', group: 'signIn', unit: 'count', fallback: 8 },
  { name: 'require_confirmed_email', group: 'signIn', fallback: false },
  { name: 'access_token_seconds', group: 'signIn', unit: 'seconds', fallback: HOUR },
  { name: 'refresh_token_seconds', group: 'signIn', unit: 'seconds', fallback: 30 * DAY },
  { name: 'session_seconds', group: 'signIn', unit: 'seconds', fallback: 90 * DAY },
  { name: 'redirect_urls', group: 'signIn', fallback: [] },
  { name: 'oidc_issuer', group: 'external', fallback: null },
  { name: 'oidc_client_id', group: 'external', fallback: null },
  { name: 'oidc_client_secret', group: 'external', fallback: null },
  { name: 'sign_up', group: 'external', fallback: false },
  { name: 'link_verified_email', group: 'external', fallback: false },
  { name: 'oidc_trust_email', group: 'external', fallback: false },
  { name: 'auth_page_url', group: 'links', fallback: null },
  { name: 'accent_color', group: 'links', fallback: null },
  { name: 'logo_file_id', group: 'links', fallback: null },
  { name: 'mail_sender', group: 'links', fallback: null },
  { name: 'rate_read', group: 'limits', unit: 'count', fallback: 0 },
  { name: 'rate_write', group: 'limits', unit: 'count', fallback: 0 },
  { name: 'rate_heavy', group: 'limits', unit: 'count', fallback: 0 },
  { name: 'rate_sign_in_account', group: 'limits', unit: 'count', fallback: 10 },
  { name: 'rate_sign_in_address', group: 'limits', unit: 'count', fallback: 30 },
  { name: 'storage_quota', group: 'limits', unit: 'bytes', fallback: 0 },
];

export interface Project {
  project_id: string;
  name: string;
  allowed_origins: string[];
  settings: Record<string, unknown>;
  warnings: string[];
  created_at: string;
  updated_at: string;
}

/** Changes by the name of the member in the body: name, allowed_origins, settings.rate_read. null restores the default. */
export type Changes = Record<string, unknown>;

/** The rows of all settings that the project has: a setting that this console does not know is in the last group. */
export function rowsOf(project: Project): SettingRow[] {
  const known = ROWS.filter((row) => row.name in project.settings);
  const others = Object.keys(project.settings).filter((name) => !ROWS.some((row) => row.name === name));
  return [...known, ...others.map((name): SettingRow => ({ name, group: 'other', fallback: undefined }))];
}

export function storedValue(project: Project, member: string): unknown {
  return member.startsWith('settings.') ? project.settings[member.slice('settings.'.length)] : project[member as 'name'];
}

/** The changes with one more value. A value that equals the stored one is no change. */
export function withChange(project: Project, changes: Changes, member: string, value: unknown): Changes {
  const next = { ...changes };
  if (isSame(storedValue(project, member), value)) delete next[member];
  else next[member] = value;
  return next;
}

/** The body of the PUT: the changed values alone. */
export function bodyOf(changes: Changes): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [member, value] of Object.entries(changes)) {
    if (!member.startsWith('settings.')) body[member] = value;
    else body.settings = { ...(body.settings as object | undefined), [member.slice('settings.'.length)]: value };
  }
  return body;
}

export type InputKind = 'check' | 'number' | 'lines' | 'secret' | 'zone' | 'text';

/** The input for a setting, by its schema, or by its value where the caller may not read the documents. */
export function inputKind(name: string, schema: Schema | undefined, value: unknown): InputKind {
  const type = schema?.type ?? (Array.isArray(value) ? 'array' : typeof value);
  if (type === 'boolean') return 'check';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'array') return 'lines';
  if (/secret|password$/.test(name)) return 'secret';
  return name === 'timezone' ? 'zone' : 'text';
}

export function readLines(text: string): string[] {
  return text.split('\n').map((line) => line.trim()).filter((line) => line !== '');
}

/** A number as it was typed. A text that is no number is sent as it is, and the service names the problem. */
export function readNumber(text: string): number | string | null {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  return /^-?\d+$/.test(trimmed) && Number.isSafeInteger(Number(trimmed)) ? Number(trimmed) : trimmed;
}
