// Filters of lists. The address of a view has them in the form of the API: filter[price][gte]=10.
import type { Query } from './http.ts';
import { fitsOf, type Field, type Fits } from './model.ts';

export interface Condition {
  /** The words in brackets, such as ['price', 'gte']. */
  keys: string[];
  value: string;
}

interface Operator {
  name: string;
  fits: Fits;
  takes: 'value' | 'list' | 'pair' | 'flag';
}

export const OPERATORS: readonly Operator[] = [
  { name: 'eq', fits: 'set', takes: 'value' },
  { name: 'ne', fits: 'set', takes: 'value' },
  { name: 'gt', fits: 'order', takes: 'value' },
  { name: 'gte', fits: 'order', takes: 'value' },
  { name: 'lt', fits: 'order', takes: 'value' },
  { name: 'lte', fits: 'order', takes: 'value' },
  { name: 'between', fits: 'order', takes: 'pair' },
  { name: 'in', fits: 'set', takes: 'list' },
  { name: 'nin', fits: 'set', takes: 'list' },
  { name: 'icontains', fits: 'text', takes: 'value' },
  { name: 'contains', fits: 'text', takes: 'value' },
  { name: 'starts_with', fits: 'text', takes: 'value' },
  { name: 'ends_with', fits: 'text', takes: 'value' },
  { name: 'null', fits: 'any', takes: 'flag' },
];

/** The operators that the service accepts for a field, the most used first. */
export function operatorsOf(field: Field): readonly Operator[] {
  const fits = fitsOf(field.type);
  const found = OPERATORS.filter((operator) => fits.includes(operator.fits));
  return fits.includes('text') ? found.toSorted((a, b) => Number(b.name === 'icontains') - Number(a.name === 'icontains')) : found;
}

export function canSort(field: Field): boolean {
  return fitsOf(field.type).includes('set') && !field.options.many;
}

export function readFilters(query: URLSearchParams): Condition[] {
  const conditions: Condition[] = [];
  for (const [name, value] of query) {
    if (name.startsWith('filter[')) conditions.push({ keys: [...name.matchAll(/\[([^\]]*)\]/g)].map((match) => match[1]!), value });
  }
  return conditions;
}

export function filterQuery(conditions: readonly Condition[]): Query {
  return conditions.map(({ keys, value }) => [`filter${keys.map((key) => `[${key}]`).join('')}`, value]);
}

export function makeCondition(field: string, operator: string, value: string): Condition {
  return { keys: operator === 'eq' ? [field] : [field, operator], value };
}

/** The parts of a condition on one field; undefined for a group (or, and). */
export function readCondition(condition: Condition): { field: string; operator: string; value: string } | undefined {
  const [field, operator = 'eq', ...more] = condition.keys;
  const isPlain = field !== undefined && more.length === 0 && OPERATORS.some((each) => each.name === operator);
  return isPlain ? { field, operator, value: condition.value } : undefined;
}

/** The filter of a list as the object that bodies have. Two conditions on one field and operator become a group. */
export function filterBody(conditions: readonly Condition[]): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const { keys, value } of conditions) {
    let at = body;
    for (const key of keys.slice(0, -1)) {
      const next = at[key];
      at = (at[key] = typeof next === 'object' && next !== null ? next : next === undefined ? {} : { eq: next }) as Record<string, unknown>;
    }
    const last = keys[keys.length - 1]!;
    const present = at[last];
    if (typeof present === 'object' && present !== null) (present as Record<string, unknown>).eq = value;
    else at[last] = value;
  }
  return body;
}

/** The parameters of a filter object as dashboards and bodies have them: { price: { gte: 1 } } is filter[price][gte]=1. */
export function filterQueryOf(filter: object, keys: readonly string[] = []): Query {
  return Object.entries(filter).flatMap(([key, value]: [string, unknown]): Query => {
    const place = [...keys, key];
    if (typeof value === 'object' && value !== null && !Array.isArray(value) && !('rawJSON' in value)) return filterQueryOf(value, place);
    const text = Array.isArray(value) && !value.some((each) => typeof each === 'object') ? joinList(value.map(String)) : undefined;
    if (text === undefined && Array.isArray(value)) return filterQueryOf(Object.assign({}, value) as object, place);
    return [[`filter${place.map((each) => `[${each}]`).join('')}`, text ?? textOf(value)]];
  });
}

function textOf(value: unknown): string {
  return typeof value === 'object' && value !== null && 'rawJSON' in value ? String(value.rawJSON) : String(value);
}

/** Puts values into the text of a list: a value with a comma or a quote is quoted. */
export function joinList(values: readonly string[]): string {
  return values.map((value) => (/[",]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value)).join(',');
}

export function readSort(query: URLSearchParams): { field: string; isDown: boolean }[] {
  const text = query.get('sort') ?? '';
  return text.split(',').filter((part) => part !== '').map((part) => ({ field: part.replace(/^-/, ''), isDown: part.startsWith('-') }));
}

/** The order after a click on a column: ascending, descending, none. With `adds` the columns before it stay. */
export function nextSort(query: URLSearchParams, field: string, adds: boolean): string | undefined {
  const sort = readSort(query);
  const present = sort.find((key) => key.field === field);
  const others = adds ? sort.filter((key) => key.field !== field) : [];
  const next = !present ? [{ field, isDown: false }] : present.isDown ? [] : [{ field, isDown: true }];
  return [...others, ...next].map((key) => (key.isDown ? '-' : '') + key.field).join(',') || undefined;
}
