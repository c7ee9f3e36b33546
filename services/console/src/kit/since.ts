// The begin of a period in an address: a span that ends now, such as 24h, or a time.
const SPANS: Record<string, number> = { '1h': 3600, '24h': 86_400, '7d': 7 * 86_400, '30d': 30 * 86_400 };

export const spans = Object.keys(SPANS);

/** The time of a text; undefined for a text that is neither a span nor a time. A span begins at a full minute, so that an answer stays in the cache. */
export function readSince(text: string | null | undefined, now = Date.now()): string | undefined {
  if (!text) return undefined;
  const span = SPANS[text];
  const time = span === undefined ? new Date(text) : new Date(Math.floor(now / 60_000) * 60_000 - span * 1000);
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}
