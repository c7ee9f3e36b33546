// JSON as a text for readers, in parts: a browser that lays out megabytes at once stops for seconds.
const FIRST = 4000;
const GROWTH = 8;
/** A longer text is for copying and saving only. */
export const SHOWN_MAX = 256_000;

export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? 'null';
}

/** The beginning of a text, up to the end of a line where a line ends near. `round` counts how often the reader asked for more. */
export function cutText(text: string, round = 0): string {
  const length = Math.min(FIRST * GROWTH ** round, SHOWN_MAX);
  if (text.length <= length) return text;
  const line = text.lastIndexOf('\n', length);
  return text.slice(0, line > length / 2 ? line : length);
}
