// Arithmetic of a list of any number of rows with one height. Browsers limit the height of an element, so the element
// of a longer list is shorter than its rows, and its scroll position is scaled.

/** Well below the limits of all engines. */
export const MAX_HEIGHT = 8_000_000;
/** Pixels at both ends that are not scaled, so that a scroll comes to the first and to the last row as in a short list. */
const MARGIN = 20_000;

export interface Extent {
  rows: number;
  rowHeight: number;
  viewport: number;
}

const clamp = (value: number, least: number, most: number) => Math.min(Math.max(value, least), most);
const fullHeight = (extent: Extent) => extent.rows * extent.rowHeight;
const lastScroll = (extent: Extent) => MAX_HEIGHT - extent.viewport;
const lastTop = (extent: Extent) => Math.max(0, fullHeight(extent) - extent.viewport);

export function elementHeight(extent: Extent): number {
  return Math.min(fullHeight(extent), MAX_HEIGHT);
}

export function isScaled(extent: Extent): boolean {
  return fullHeight(extent) > MAX_HEIGHT;
}

/** Pixels of rows above the viewport for a scroll position of the element. */
export function topAt(extent: Extent, scrollTop: number): number {
  const last = lastTop(extent);
  return isScaled(extent) ? scale(clamp(scrollTop, 0, lastScroll(extent)), lastScroll(extent), last) : clamp(scrollTop, 0, last);
}

/** The scroll position of the element for pixels of rows above the viewport. */
export function scrollAt(extent: Extent, top: number): number {
  const last = lastTop(extent);
  return isScaled(extent) ? scale(clamp(top, 0, last), last, lastScroll(extent)) : clamp(top, 0, last);
}

/** Maps 0..from to 0..to: the margins by their pixels, the middle by its share. */
function scale(value: number, from: number, to: number): number {
  if (value <= MARGIN) return value;
  if (value >= from - MARGIN) return to - (from - value);
  return MARGIN + ((value - MARGIN) / (from - 2 * MARGIN)) * (to - 2 * MARGIN);
}

/** The rows to show, with some before and after them, so that a scroll finds them there. */
export function rowRange(extent: Extent, top: number, extra: number): { first: number; end: number } {
  const first = Math.floor(top / extent.rowHeight) - extra;
  const end = Math.ceil((top + extent.viewport) / extent.rowHeight) + extra;
  return { first: clamp(first, 0, extent.rows), end: clamp(end, 0, extent.rows) };
}

export interface Scroll {
  /** The last scroll position of the element. */
  scrollTop: number;
  /** Pixels of rows above the viewport. */
  top: number;
}

/**
 * The rows after a scroll event. In a scaled list a small step, as of a wheel or a finger, moves the rows by its
 * pixels, and a large step, as of the thumb, moves them by its share of the list. After small steps the position of
 * the element and the rows differ: settle() makes them agree again.
 */
export function follow(extent: Extent, before: Scroll, scrollTop: number): Scroll {
  const step = scrollTop - before.scrollTop;
  if (!isScaled(extent)) return { scrollTop, top: topAt(extent, scrollTop) };
  if (Math.abs(step) > extent.viewport) return { scrollTop, top: topAt(extent, scrollTop) };
  return { scrollTop, top: clamp(before.top + step, 0, lastTop(extent)) };
}

/** The position that the element should have for the rows, or undefined when it has that position. */
export function settle(extent: Extent, scroll: Scroll): number | undefined {
  const wanted = scrollAt(extent, scroll.top);
  return Math.abs(wanted - scroll.scrollTop) > 1 ? wanted : undefined;
}

/** Whether the element comes to an end before the rows do: the position must be settled at once. */
export function isStuck(extent: Extent, scroll: Scroll): boolean {
  const isAtStart = scroll.scrollTop < extent.viewport && scroll.top > scroll.scrollTop + 1;
  const isAtEnd = scroll.scrollTop > lastScroll(extent) - extent.viewport && lastTop(extent) - scroll.top > lastScroll(extent) - scroll.scrollTop + 1;
  return isScaled(extent) && (isAtStart || isAtEnd);
}

/** The smallest move of the rows that makes a row visible. */
export function reveal(extent: Extent, top: number, row: number): number {
  const rowTop = row * extent.rowHeight;
  return clamp(top, rowTop + extent.rowHeight - extent.viewport, rowTop);
}
