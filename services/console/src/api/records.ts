// Lists of records as a grid reads them.
import { filterQuery, readFilters } from './filters.ts';
import type { Query } from './http.ts';
import { fieldsOf, findField, type Entity, type Field, type Page } from './model.ts';
import type { Session } from './session.svelte.ts';
import { stored } from '../settings.svelte.ts';

export const PAGE_SIZE = 100;

export type Row = { id: number } & Record<string, unknown>;

/** A column that the reader has chosen, in its place. */
export interface ColumnChoice {
  name: string;
  width?: number;
  metric?: string;
}

const FIRST_COLUMNS = 7;
const columnsKey = (project: string, entity: string) => `columns:${project}/${entity}`;

/** The chosen columns whose field still exists; without a choice the id, the first fields and the last change. */
export function readColumns(project: string, entity: Entity): ColumnChoice[] {
  const choice = stored.read<ColumnChoice[]>(columnsKey(project, entity.name), []).filter((column) => findField(entity, column.name));
  if (choice.length > 0) return choice;
  const hidden = ['secret', 'json', 'text'];
  const first = entity.fields.filter((field) => !hidden.includes(field.type)).slice(0, FIRST_COLUMNS);
  return [{ name: 'id' }, ...first.map((field) => ({ name: field.name })), { name: 'updated_at' }];
}

export function writeColumns(project: string, entity: string, columns: readonly ColumnChoice[]): void {
  stored.write(columnsKey(project, entity), columns);
}

/** The parameters of a list of records: only the visible fields, files with their names, filter and sort of the address. */
export function listQuery(entity: Entity, columns: readonly ColumnChoice[], address: URLSearchParams): Query {
  const names = columns.map((column) => column.name);
  const shown = fieldsOf(entity).filter((field) => names.includes(field.name) || field.name === 'id');
  const files = shown.filter((field) => field.type === 'file').map((field) => field.name);
  const sort = address.get('sort');
  return [
    ...filterQuery(readFilters(address)),
    ...(sort ? [['sort', sort] as const] : []),
    ['fields', shown.map((field) => field.name).join(',')],
    ...(files.length > 0 ? [['expand', files.join(',')] as const] : []),
  ];
}

export const itemsPath = (entity: string) => `/entities/${entity}/items`;

/** The first page begins a chain of cursors. It is not counted: a count reads all records that match. */
export function firstPage(query: Query): Query {
  return [...query, ['limit', String(PAGE_SIZE)], ['count', 'false'], ['cursor', 'start']];
}

let ahead: { key: string; page: Promise<Page<Row>> } | undefined;
const aheadKey = (session: Session, path: string, query: Query) => JSON.stringify([session.project, path, query]);

/** Asks for the first page of a grid before the code of the grid is there. */
export function readAhead({ session, entities, params, query }: { session: Session; entities: Entity[]; params: Record<string, string>; query: URLSearchParams }): void {
  const entity = entities.find((each) => each.name === params.entity);
  if (!entity) return;
  const list = firstPage(listQuery(entity, readColumns(session.project, entity), query));
  const page = session.gateway.get<Page<Row>>(itemsPath(entity.name), list);
  page.catch(() => undefined);
  ahead = { key: aheadKey(session, itemsPath(entity.name), list), page };
}

/** Reads a list, or takes the answer to a request that was sent before. */
export function readList(session: Session, path: string, query: Query, signal: AbortSignal): Promise<Page<Row>> {
  const early = ahead?.key === aheadKey(session, path, query) ? ahead.page : undefined;
  ahead = undefined;
  return early ?? session.gateway.get<Page<Row>>(path, query, { signal });
}

/** Texts in filters and calls are written as texts also when they look like numbers. */
export function isTextOf(entity: Entity): (name: string) => boolean {
  const others: Field['type'][] = ['integer', 'float', 'bool', 'file', 'relation', 'json', 'secret'];
  return (name) => !others.includes(findField(entity, name)?.type ?? 'integer');
}
