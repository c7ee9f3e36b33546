// A list of the API that is read page by page, for views that show its items in a table.
import { createInfiniteQuery, type CreateInfiniteQueryResult, type InfiniteData } from '@tanstack/svelte-query';
import type { Query } from './http.ts';
import type { Page } from './model.ts';
import { client } from './query.ts';
import { sessionOf } from './session.svelte.ts';

const PAGE_SIZE = 50;

/** `key`: the name of the resource in the cache, such as ['users']; refresh(project, key) reads the list again. */
export interface List {
  key: readonly unknown[];
  path: string;
  query?: Query;
  /** Items of a page. */
  limit?: number;
  isOff?: boolean;
  /** The list grows without end: cursors read it, so that new items do not move its pages, and its total is not counted. */
  isEndless?: boolean;
}

export type ListResult<T> = CreateInfiniteQueryResult<InfiniteData<Page<T>, string>, Error>;

/** The first page, and further pages after fetchNextPage(). Lists with cursors and lists with page numbers are read alike. */
export function useList<T>(project: () => string, list: () => List): ListResult<T> {
  return createInfiniteQuery<Page<T>, Error, InfiniteData<Page<T>, string>, readonly unknown[], string>(() => {
    const { key, path, query = [], limit = PAGE_SIZE, isOff, isEndless } = list();
    return {
      queryKey: [project(), ...key, 'list', path, JSON.stringify(query), limit],
      queryFn: ({ signal, pageParam }) => {
        const position: Query = pageParam.startsWith('cursor:') ? [['cursor', pageParam.slice('cursor:'.length)]] : pageParam === '1' ? [] : [['page', pageParam]];
        return sessionOf(project()).gateway.get<Page<T>>(path, [...query, ['limit', String(limit)], ...position], { signal });
      },
      initialPageParam: isEndless ? 'cursor:start' : '1',
      getNextPageParam: (last, pages) => (!last.has_next_page ? undefined : last.next_cursor ? `cursor:${last.next_cursor}` : String(pages.length + 1)),
      enabled: !isOff,
    };
  }, () => client);
}

export function itemsOf<T>(list: ListResult<T>): T[] {
  return list.data?.pages.flatMap((page) => page.items) ?? [];
}
