// A call as curl and as client.ts, for readers who want to make the call themselves.
import { queryText, type Call, type Query } from './http.ts';

/** A word for a shell: in single quotes when it has a character with a meaning. */
function shellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

export function curlText(base: string, call: Call): string {
  const parts = ['curl', ...(call.method === 'GET' ? [] : ['-X', call.method]), shellWord(base + call.path + queryText(call.query).replace(/[[\]{}]/g, encodeURIComponent))];
  const lines = [parts.join(' '), '-H "Authorization: Bearer $TOKEN"'];
  if (call.body instanceof FormData) lines.push(...formParts(call.body));
  else if (call.body !== undefined) lines.push("-H 'Content-Type: application/json'", `-d ${shellWord(JSON.stringify(call.body))}`);
  return lines.join(' \\\n  ');
}

function formParts(form: FormData): string[] {
  return [...form.entries()].map(([name, value]) => `-F ${shellWord(`${name}=${value instanceof File ? `@${value.name}` : value}`)}`);
}

const OPERATORS = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'contains', 'icontains', 'starts_with', 'ends_with', 'between', 'null'];
const LISTS = ['in', 'nin', 'between'];

type Node = { [key: string]: Node } | string | number | boolean | (string | number | boolean)[];
export type IsText = (field: string) => boolean;

function scalar(text: string, isText: boolean): string | number | boolean {
  if (isText) return text;
  if (text === 'true' || text === 'false') return text === 'true';
  return text !== '' && String(Number(text)) === text ? Number(text) : text;
}

/** The filter of an address as the object that client.ts takes: filter[a.b][gte]=1 is { a: { b: { gte: 1 } } }. */
export function filterObject(query: Query, isText: IsText): Node | undefined {
  const root: { [key: string]: Node } = {};
  for (const [name, value] of query) {
    const keys = [...name.matchAll(/\[([^\]]*)\]/g)].map((match) => match[1]!).flatMap((key) => key.split('.'));
    if (!name.startsWith('filter[') || keys.length === 0) continue;
    const last = keys[keys.length - 1]!;
    const isOperator = keys.length > 1 && OPERATORS.includes(last);
    const field = keys[keys.length - (isOperator ? 2 : 1)]!;
    const text = isText(field) && last !== 'null';
    let at = root;
    for (const key of keys.slice(0, -1)) at = (at[key] ??= {}) as { [key: string]: Node };
    at[last] = isOperator && LISTS.includes(last) ? value.split(',').map((each) => scalar(each, text)) : scalar(value, text);
  }
  return Object.keys(root).length > 0 ? root : undefined;
}

/** A value in the syntax of TypeScript. */
export function literal(value: unknown, indent = ''): string {
  if (typeof value === 'string') return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) === null) return JSON.stringify(value) ?? 'undefined';
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const items = isList
    ? value.map((each) => literal(each, inner))
    : Object.entries(value).map(([key, each]) => `${/^[A-Za-z_$][\w$]*$/.test(key) ? key : literal(key)}: ${literal(each, inner)}`);
  const [open, close] = isList ? '[]' : '{}';
  const line = items.join(', ');
  if (items.length === 0) return `${open}${close}`;
  if (line.length < 60) return isList ? `[${line}]` : `{ ${line} }`;
  return `${open}\n${inner}${items.join(`,\n${inner}`)},\n${indent}${close}`;
}

const PAGE_NUMBERS = ['limit', 'page'];
const NAMES = ['fields', 'expand', 'sort'];

function optionsText(query: Query, isText: IsText): string {
  const options: Record<string, unknown> = {};
  const filter = filterObject(query, isText);
  if (filter) options.filter = filter;
  for (const [name, value] of query) {
    if (NAMES.includes(name)) options[name] = value.split(',');
    else if (PAGE_NUMBERS.includes(name)) options[name] = Number(value);
    else if (name === 'count') options[name] = value === 'true';
    else if (name === 'cursor') options[name] = value;
  }
  return Object.keys(options).length > 0 ? literal(options) : '';
}

/** Calls of one record or list of an entity have a method of their own. All other calls go through request(). */
export function clientText(call: Call, isText: IsText = () => false): string {
  const [, entity, id] = /^\/entities\/([^/]+)\/items(?:\/(\d+))?$/.exec(call.path) ?? [];
  if (entity && !(call.body instanceof FormData)) {
    const items = `await gw.db.${entity}`;
    const options = optionsText(call.query ?? [], isText);
    if (call.method === 'GET') return id ? `${items}.get(${id}${options && `, ${options}`});` : `${items}.list(${options});`;
    if (call.method === 'POST' && !id) return `${items}.create(${literal(call.body)});`;
    if (call.method === 'PUT' && id) return `${items}.update(${id}, ${literal(call.body)});`;
    if (call.method === 'DELETE' && id) return `${items}.delete(${id});`;
  }
  const more: Record<string, unknown> = {};
  if (call.query && call.query.length > 0) more.query = Object.fromEntries(call.query);
  if (call.body !== undefined && !(call.body instanceof FormData)) more.body = call.body;
  const form = call.body instanceof FormData ? ', { body: form }' : '';
  return `await gw.request(${literal(call.method)}, ${literal(call.path)}${Object.keys(more).length > 0 ? `, ${literal(more)}` : form});`;
}
