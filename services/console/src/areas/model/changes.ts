// Changes of the model before they are made: the calls, and the answers to their dry runs.
import type { Call } from '../../api/http.ts';
import type { Entity, Enumeration } from '../../api/model.ts';
import type { Session } from '../../api/session.svelte.ts';
import { createBody, lineParts, printLine, specOf, updateBody, type FieldSpec } from './lines.ts';
import { m } from './strings.en.ts';

export interface Named {
  id: number;
  name: string;
}

export interface Violation {
  field: string;
  code: string;
  message: string;
  rows: number | null;
  ids: number[];
  entity: string;
}

/** The answer to a dry run. A list that is null may not be seen by the caller. */
export interface Preview {
  safe: boolean;
  rewrites_rows: number | null;
  loses_rows: number | null;
  violations: Violation[];
  affected: {
    workflows: Named[] | null;
    roles: Named[] | null;
    menu_items: { id: number; menu_id: number; menu: string }[] | null;
    indexes: { field: string; kind: string; change: string }[];
    /** Fields that take their values from a changed enum. */
    fields: { id: number; entity: string; name: string }[];
  };
}

export interface Change {
  /** The part of the form that made the change. */
  key: string;
  kind: 'add' | 'edit' | 'drop';
  title: string;
  call: Call;
  /** The entity whose records the change checks. */
  entity?: string;
  ifMatch?: string | undefined;
  /** Consequences that follow from the change alone. */
  notes: string[];
  /** The word to type before data is lost. */
  word: string;
  /** The plan lists the fields that use the enum. */
  isEnum?: boolean;
  /** Finds the consequences of a change whose call has no dry run. */
  look?: (session: Session, signal: AbortSignal) => Promise<Preview>;
}

export const NO_CONSEQUENCE: Preview = {
  safe: true, rewrites_rows: 0, loses_rows: 0, violations: [], affected: { workflows: [], roles: [], menu_items: [], indexes: [], fields: [] },
};

export async function lookAt(change: Change, session: Session, signal: AbortSignal): Promise<Preview> {
  if (change.look) return change.look(session, signal);
  const call = { ...change.call, query: [['dry_run', 'true']] as const };
  return (await session.gateway.call<Preview>(call, { signal, ...(change.ifMatch ? { ifMatch: change.ifMatch } : {}) })).data;
}

/** Whether the change deletes a thing or stored values: the reader types a name first. */
export function isLoss(change: Change, preview: Preview): boolean {
  return change.call.method === 'DELETE' || (!preview.safe && preview.violations.length === 0);
}

export const entityPath = (entity: string) => `/entities/${entity}`;
export const fieldPath = (entity: string, field: string) => `${entityPath(entity)}/fields/${field}`;

export interface EntityOptions {
  name: string;
  label: string | null;
  row_level_security: boolean;
  public_read: boolean;
  searchable: boolean;
  history: boolean;
  history_days: number;
}

export function addChange(entity: string, field: FieldSpec, key: string): Change {
  return {
    key, kind: 'add', title: m('planAdd', { line: printLine(field) }), entity, word: field.name, notes: [],
    call: { method: 'POST', path: `${entityPath(entity)}/fields`, body: createBody(field) },
  };
}

/** The change that a line makes to a field, or undefined when the line equals the stored field. */
export function editChange(entity: string, old: FieldSpec, next: FieldSpec, ifMatch: string | undefined): Change | undefined {
  const body = updateBody(old, next);
  if (Object.keys(body).length === 0) return undefined;
  const { mark, type, words } = lineParts(next);
  const line = old.name === next.name ? `${mark.trim().replace(':', '')} ${type} ${words}`.trim() : printLine(next);
  return {
    key: `field:${old.name}`, kind: 'edit', title: m('planEdit', { name: old.name, line }), entity, word: old.name, ifMatch,
    notes: old.name === next.name ? [] : [m('noteRename', { name: old.name })],
    call: { method: 'PUT', path: fieldPath(entity, old.name), body },
  };
}

export function dropChange(entity: string, field: string, ifMatch: string | undefined): Change {
  return {
    key: `field:${field}`, kind: 'drop', title: m('planDrop', { name: field }), entity, word: field, ifMatch, notes: [],
    call: { method: 'DELETE', path: fieldPath(entity, field) },
  };
}

export function deleteEntityChange(entity: string, ifMatch: string | undefined): Change {
  return {
    key: 'entity', kind: 'drop', title: m('planDelete', { name: entity }), entity, word: entity, ifMatch, notes: [],
    call: { method: 'DELETE', path: entityPath(entity) },
  };
}

const differs = (entity: Entity, options: Partial<EntityOptions>) =>
  Object.fromEntries(Object.entries(options).filter(([name, value]) => ((entity as unknown as Record<string, unknown>)[name] ?? null) !== value));

const publicNote = (open: readonly string[]) => (open.length > 0 ? m('notePublic', { fields: open.join(', ') }) : m('notePublicNone'));

export function optionsChange(entity: Entity, options: Partial<EntityOptions>, ifMatch: string | undefined): Change | undefined {
  const { name: _, ...body } = differs(entity, options) as Partial<EntityOptions>;
  if (Object.keys(body).length === 0) return undefined;
  return {
    key: 'options', kind: 'edit', entity: entity.name, word: entity.name, ifMatch, title: m('planOptions', { name: entity.name }),
    notes: [
      body.row_level_security === false && m('noteOpen'),
      body.public_read === true && publicNote(entity.fields.filter((field) => field.public).map((field) => field.name)),
      body.history === false && m('noteHistoryOff'),
    ].filter((note) => note !== false),
    call: { method: 'PUT', path: entityPath(entity.name), body },
  };
}

/** A new name is given last, because the paths of the other changes have the old one. */
export function renameChange(entity: Entity, name: string | undefined): Change | undefined {
  if (name === undefined || name === entity.name) return undefined;
  return {
    key: 'rename', kind: 'edit', entity: entity.name, word: entity.name, title: m('planRename', { name: entity.name, next: name }),
    notes: [m('noteRename', { name: entity.name })], call: { method: 'PUT', path: entityPath(entity.name), body: { name } },
  };
}

export function createEntityChange(options: Partial<EntityOptions>, fields: readonly FieldSpec[]): Change {
  return {
    key: 'entity', kind: 'add', title: m('planCreate', { name: options.name!, n: fields.length }), word: options.name!,
    notes: [m('noteRecords'), ...(options.public_read ? [publicNote(fields.filter((field) => field.public).map((field) => field.name))] : [])],
    call: { method: 'POST', path: '/entities', body: { ...options, fields: fields.map(createBody) } },
  };
}

// --- enums ---

export interface EnumUse {
  entity: Entity;
  field: string;
}

export function usesOf(name: string, entities: readonly Entity[]): EnumUse[] {
  return entities.flatMap((entity) => entity.fields.filter((field) => field.options.enum === name).map((field) => ({ entity, field: field.name })));
}

export interface EnumDifference {
  added: string[];
  removed: string[];
  isMoved: boolean;
}

export function compareValues(old: readonly string[], next: readonly string[]): EnumDifference {
  const added = next.filter((value) => !old.includes(value));
  const removed = old.filter((value) => !next.includes(value));
  const kept = (list: readonly string[], other: readonly string[]) => list.filter((value) => other.includes(value)).join('\n');
  return { added, removed, isMoved: kept(old, next) !== kept(next, old) };
}

export function enumChange(old: Enumeration | undefined, name: string, values: readonly string[], ifMatch: string | undefined): Change | undefined {
  if (!old) {
    return { key: 'enum', kind: 'add', title: m('planEnumNew', { name }), word: name, notes: [], call: { method: 'POST', path: '/enums', body: { name, values } }, look: () => Promise.resolve(NO_CONSEQUENCE) };
  }
  const { added, removed, isMoved } = compareValues(old.values, values);
  const isRename = name !== old.name;
  const hasValues = added.length > 0 || removed.length > 0 || isMoved;
  if (!isRename && !hasValues) return undefined;
  return {
    key: 'enum', kind: 'edit', word: old.name, ifMatch, isEnum: true,
    title: isRename ? m('planRename', { name: old.name, next: name }) : m('planEnum', { name: old.name }),
    notes: [
      ...(isRename ? [m('noteRename', { name: old.name })] : []),
      ...added.map((value) => m('valueAdded', { value })), ...removed.map((value) => m('valueRemoved', { value })), ...(isMoved ? [m('valuesMoved')] : []),
    ],
    call: { method: 'PUT', path: `/enums/${old.name}`, body: { ...(isRename ? { name } : {}), ...(hasValues ? { values } : {}) } },
  };
}

export function deleteEnumChange(old: Enumeration, ifMatch: string | undefined): Change {
  return {
    key: 'enum', kind: 'drop', title: m('planEnumDelete', { name: old.name }), word: old.name, ifMatch, notes: [], isEnum: true,
    call: { method: 'DELETE', path: `/enums/${old.name}` },
  };
}

/** Fields of an entity as lines. */
export const specsOf = (entity: Entity) => entity.fields.map(specOf);
