// JSON of records. A double holds neither every 64-bit integer nor the digits of a decimal such as 49.90. If a
// number would not keep its text, the parser returns an Exact, and JSON.stringify() writes the text that was read.

export interface Exact {
  readonly rawJSON: string;
}
export type Json = string | number | boolean | null | Exact | Json[] | { [member: string]: Json };

export function isExact(value: unknown): value is Exact {
  return typeof value === 'object' && value !== null && 'rawJSON' in value && Object.getPrototypeOf(value) === null;
}

/** Parses an answer. A browser without JSON.rawJSON rounds numbers as JSON.parse() does. */
export function parseJson(text: string): Json {
  const keep = JSON.rawJSON;
  if (!keep) return JSON.parse(text) as Json;
  const revive = (_: string, value: unknown, context?: { source: string }) =>
    typeof value === 'number' && context && String(value) !== context.source ? keep(context.source) : value;
  return JSON.parse(text, revive as (key: string, value: unknown) => unknown) as Json;
}

/** The number of a text, exact if a double would change it. */
export function exactNumber(text: string): number | Exact {
  const number = Number(text);
  return String(number) !== text && JSON.rawJSON && /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text)
    ? JSON.rawJSON(text)
    : number;
}

export function numberText(value: number | Exact): string {
  return isExact(value) ? value.rawJSON : String(value);
}

/** Whether two values are the same JSON. The order of members counts, as the service keeps it. */
export function isSame(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
