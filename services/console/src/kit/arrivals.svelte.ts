// A list that is read newest first, while new items arrive. New items wait until the reader asks for them, so that no row moves
// below the pointer.
import { untrack } from 'svelte';
import { itemsOf, type ListResult } from '../api/list.ts';

export interface Arrivals<T> {
  readonly count: number;
  isNew: (item: T) => boolean;
  show: () => void;
}

/** `name` names the list: another list begins with all of its items. */
export function useArrivals<T extends { id: number }>(list: ListResult<T>, name: () => string): Arrivals<T> {
  let shown = $state.raw<{ name: string; newest: number }>();
  const newest = $derived(list.data?.pages[0]?.items[0]?.id);
  const isNew = (item: T) => shown?.name === name() && item.id > shown.newest;
  $effect(() => {
    const now = name();
    if (newest !== undefined && untrack(() => shown?.name) !== now) shown = { name: now, newest };
  });
  return {
    get count() {
      return itemsOf(list).filter(isNew).length;
    },
    isNew,
    show: () => newest !== undefined && (shown = { name: name(), newest }),
  };
}
