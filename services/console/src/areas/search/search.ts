// Queries and answers of the search, without elements.
import type { Query } from '../../api/http.ts';
import type { Entity, Field } from '../../api/model.ts';

export interface Hit {
  entity: string;
  id: number;
  score: number;
  highlights: { field: string; snippet: string }[];
  record: Record<string, unknown>;
}

export interface Answer {
  items: Hit[];
  total_items: number;
  total_is_exact: boolean;
  page: number;
  has_next_page: boolean;
  took_ms: number;
  facets?: Record<string, { value: unknown; count: number }[]>;
  facets_are_exact?: boolean;
}

export interface Suggestion {
  text: string;
  word: string;
  hits: number;
}

/** A field of the model, with the member that says whether the search index contains the field. */
export type SearchField = Field & { searchable?: boolean };

export interface Mark {
  text: string;
  isMarked: boolean;
}

const ESCAPES: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&amp;': '&', '&quot;': '"', '&#39;': "'" };

/** A snippet is HTML with <mark> alone and escaped text. It becomes texts, of which some are marked. */
export function readSnippet(snippet: string): Mark[] {
  const parts: Mark[] = [];
  let isMarked = false;
  for (const part of snippet.split(/(<\/?mark>)/)) {
    if (part === '<mark>' || part === '</mark>') isMarked = part === '<mark>';
    else if (part !== '') parts.push({ text: part.replace(/&(?:lt|gt|amp|quot|#39);/g, (escape) => ESCAPES[escape]!), isMarked });
  }
  return parts;
}

export const PAGE_SIZE = 20;

/** The parameters of a search, from the address of the view. */
export function searchQuery(address: URLSearchParams): Query {
  const one = (name: string) => {
    const value = address.get(name);
    return value ? [[name, value] as const] : [];
  };
  const hasOne = (address.get('e') ?? '').split(',').filter(Boolean).length === 1;
  return [
    ['q', address.get('q') ?? ''],
    ...one('e'),
    ...[...address].filter(([name]) => name.startsWith('filter[')),
    ...(hasOne ? one('sort') : []),
    ...one('facets'),
    ...one('page'),
    ['pageSize', String(PAGE_SIZE)],
  ];
}

/** Types that an index can contain. A relation to many records is not among them. */
const SEARCHED: readonly Field['type'][] = ['varchar', 'text', 'enum', 'decimal', 'integer', 'relation'];

export function canIndex(field: Field): boolean {
  return SEARCHED.includes(field.type) && !field.options.many;
}

export function isSearchable(entity: Entity): boolean {
  return entity.searchable && entity.fields.some((field: SearchField) => field.searchable && canIndex(field));
}

const UNCOUNTED: readonly Field['type'][] = ['secret', 'json', 'text'];

/** The names of the fields whose values a search in these entities can count. */
export function facetNames(entities: readonly Entity[]): string[] {
  const fields = entities.flatMap((entity) => entity.fields).filter((field) => !UNCOUNTED.includes(field.type) && !field.options.many);
  return [...new Set(fields.map((field) => field.name))].sort();
}

export function readWords(text: string): string[] {
  return text.split(/[,\n]/).map((word) => word.trim()).filter((word) => word !== '');
}
