// The documents of the API (GET /docs) as a list of operations. Areas and the palette read them from here.
import type { Method } from './http.ts';
import { can, type Me } from './model.ts';
import type { Load } from './query.ts';

export interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  description?: string;
  nullable?: boolean;
  readOnly?: boolean;
  writeOnly?: boolean;
  required?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  enum?: unknown[];
  default?: unknown;
  example?: unknown;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
}

export interface Parameter {
  $ref?: string;
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  style?: string;
  schema?: Schema;
}

export type Content = Record<string, { schema?: Schema }>;

export interface Answered {
  $ref?: string;
  description?: string;
  content?: Content;
}

interface RawOperation {
  tags?: string[];
  operationId: string;
  summary?: string;
  description?: string;
  security?: object[];
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Content };
  responses?: Record<string, Answered>;
}

export interface Document {
  info: { title: string; version: string; description?: string };
  tags?: { name: string; description?: string }[];
  security?: object[];
  paths: Record<string, Record<string, RawOperation>>;
  components?: Record<'schemas' | 'parameters' | 'responses', Record<string, unknown> | undefined>;
}

export interface Operation {
  id: string;
  method: Method;
  path: string;
  tag: string;
  summary: string;
  document: Document;
  raw: RawOperation;
  /** The words that a search finds, in lower case. */
  words: string;
}

export interface Docs {
  documents: Document[];
  operations: Operation[];
  /** Titles of problem codes by status. */
  codes: Map<number, { code: string; title: string }[]>;
}

interface Answer {
  data_model_documentation: Document;
  module_documentation: Record<string, Document>;
}

const METHODS = ['get', 'post', 'put', 'delete'];
const FRESH_MS = 5 * 60_000;

/** The documents may have some megabytes. response.json() reads them faster than a parser that keeps the digits of numbers. */
export const docsLoad = (me: Me | undefined): Load<Docs> => ({
  key: ['docs'],
  freshMs: FRESH_MS,
  isOff: !can(me, 'svc_documentation:read'),
  run: (session, signal) => session.gateway.get('/docs', [], { signal, read: async (answer) => readDocs((await answer.json()) as Answer) }),
});

export function readDocs(answer: Answer): Docs {
  const documents = [...Object.values(answer.module_documentation), answer.data_model_documentation];
  return { documents, operations: documents.flatMap(operationsOf), codes: codesOf(documents) };
}

function operationsOf(document: Document): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    METHODS.filter((method) => methods[method]).map((method) => {
      const raw = methods[method]!;
      const tag = raw.tags?.[0] ?? document.info.title;
      const parameters = (raw.parameters ?? []).map((each) => resolve(document, each)?.name ?? '').join(' ');
      const members = Object.values(raw.requestBody?.content ?? {}).map((media) => Object.keys(membersOf(document, media.schema)).join(' ')).join(' ');
      const words = [method, path, raw.summary, raw.operationId, tag, parameters, members, raw.description].join(' ').toLowerCase();
      return { id: raw.operationId, method: method.toUpperCase() as Method, path, tag, summary: raw.summary ?? '', document, raw, words };
    }),
  );
}

/** The thing that a reference names; a thing without a reference is returned as it is. */
export function resolve<T extends { $ref?: string }>(document: Document, thing: T | undefined): T | undefined {
  const name = thing?.$ref;
  if (!name) return thing;
  const [, , section, ...rest] = name.split('/');
  return document.components?.[section as 'schemas']?.[rest.join('/')] as T | undefined;
}

/** The members of an object, with those of all parts of an allOf. */
export function membersOf(document: Document, schema: Schema | undefined, depth = 0): Record<string, Schema> {
  const found = resolve(document, schema);
  if (!found || depth > 8) return {};
  return Object.assign({}, ...(found.allOf ?? []).map((part) => membersOf(document, part, depth + 1)), found.properties) as Record<string, Schema>;
}

export function requiredOf(document: Document, schema: Schema | undefined, depth = 0): string[] {
  const found = resolve(document, schema);
  if (!found || depth > 8) return [];
  return [...(found.required ?? []), ...(found.allOf ?? []).flatMap((part) => requiredOf(document, part, depth + 1))];
}

function codesOf(documents: Document[]): Docs['codes'] {
  const codes: Docs['codes'] = new Map();
  for (const document of documents) {
    const problem = document.components?.schemas?.Problem as Schema | undefined;
    for (const [, code, status, title] of (problem?.properties?.code?.description ?? '').matchAll(/^- `(\w+)` \((\d+)\): (.*)$/gm)) {
      const list = codes.get(Number(status)) ?? [];
      if (!list.some((each) => each.code === code)) codes.set(Number(status), [...list, { code: code!, title: title! }]);
    }
  }
  return codes;
}

export function findOperations(docs: Docs, text: string): Operation[] {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== '');
  return words.length === 0 ? docs.operations : docs.operations.filter((operation) => words.every((word) => operation.words.includes(word)));
}

export interface Need {
  /** Permissions of which the caller needs one. */
  anyOf: string[];
  isHeld: boolean;
}

export interface Needs {
  isPublic: boolean;
  forAdmins: boolean;
  needs: Need[];
  /** The caller also needs a role with API access. */
  api: boolean;
}

/** The rights that an operation needs. The documents state them in the last paragraph of a description. */
export function needsOf(operation: Operation, me: Me, params: Record<string, string> = {}): Needs {
  const security = operation.raw.security ?? operation.document.security;
  const text = operation.raw.description?.split('\n\n').at(-1) ?? '';
  const sentence = /Needs the permission (.*?)(?:;|\.$| and a role|$)/.exec(text)?.[1] ?? '';
  const needs = sentence.split(', and ').filter((part) => part !== '').map((part): Need => {
    const anyOf = [...part.matchAll(/`([^`]+)`/g)].map((match) => match[1]!.replace(/\{(\w+)\}/g, (whole, name: string) => params[name] || whole));
    return { anyOf, isHeld: anyOf.some((name) => (name.startsWith('{') ? me.permissions.some((held) => !held.startsWith('svc_') && held.endsWith(name.replace(/^.*:/, ':'))) : can(me, name))) };
  });
  return {
    isPublic: security !== undefined && (security.length === 0 || security.some((each) => Object.keys(each).length === 0)),
    forAdmins: text.startsWith('For administrators'),
    needs,
    api: text.includes('a role with API access'),
  };
}

/** Why the caller may not call the operation; undefined when nothing is known against the call. */
export function missingRight(needs: Needs, me: Me): string | undefined {
  if (needs.forAdmins && !me.is_admin) return 'is_admin';
  const missing = needs.needs.find((need) => !need.isHeld);
  if (missing) return missing.anyOf.join(', ');
  return needs.api && !me.api_access ? 'api_access' : undefined;
}

const PLAIN: Record<string, unknown> = { string: 'text', integer: 1, number: 1.5, boolean: true };

/** A value that fits the schema: examples and defaults where the document has them. Members that are not required are left out. */
export function sampleOf(document: Document, schema: Schema | undefined, depth = 0): unknown {
  const found = resolve(document, schema);
  if (!found || depth > 6) return null;
  if (found.example !== undefined) return found.example;
  if (found.default !== undefined) return found.default;
  if (found.enum) return found.enum[0];
  const part = found.oneOf?.[0] ?? found.anyOf?.[0];
  if (part) return sampleOf(document, part, depth + 1);
  if (found.type === 'array') return [sampleOf(document, found.items, depth + 1)];
  const members = membersOf(document, found);
  if (Object.keys(members).length > 0) {
    const required = requiredOf(document, found);
    const names = Object.keys(members).filter((name) => !resolve(document, members[name])?.readOnly);
    const shown = names.filter((name) => required.includes(name));
    return Object.fromEntries((shown.length > 0 ? shown : names.slice(0, 1)).map((name) => [name, sampleOf(document, members[name], depth + 1)]));
  }
  if (found.type === 'object') return {};
  if (found.format === 'date') return '2026-01-31';
  if (found.format === 'date-time') return '2026-01-31T12:00:00.000Z';
  if (found.format === 'email') return 'ana@example.com';
  return PLAIN[found.type ?? ''] ?? null;
}

/** The type of a value in a few words. */
export function typeText(document: Document, schema: Schema | undefined): string {
  const found = resolve(document, schema);
  if (!found) return 'any';
  const name = schema?.$ref?.split('/').pop();
  const one = found.oneOf ?? found.anyOf;
  const text = one ? one.map((part) => typeText(document, part)).join(' or ')
    : found.type === 'array' ? `list of ${typeText(document, found.items)}`
    : name ?? (found.type ?? (found.allOf ? typeText(document, found.allOf[0]) : 'any'));
  const format = found.format && !['int64', 'double'].includes(found.format) ? ` (${found.format})` : '';
  return text + format;
}

/** Limits of a value, as a reader writes them. */
export function limitsText(schema: Schema): string {
  const range = (least: number | undefined, most: number | undefined, unit: string) =>
    least !== undefined && most !== undefined ? `${least} to ${most}${unit}` : least !== undefined ? `at least ${least}${unit}` : most !== undefined ? `at most ${most}${unit}` : '';
  return [
    range(schema.minimum, schema.maximum, ''),
    range(schema.minLength, schema.maxLength, ' characters'),
    range(schema.minItems, schema.maxItems, ' items'),
    schema.pattern ? `pattern ${schema.pattern}` : '',
    schema.default !== undefined ? `default ${JSON.stringify(schema.default)}` : '',
  ].filter((part) => part !== '').join(', ');
}
