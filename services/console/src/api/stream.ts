// The text form of server-sent events.
import { parseJson } from './json.ts';

export interface StreamEvent {
  kind: string;
  data: unknown;
  id: string | undefined;
}

/** Reads events from the chunks of a stream. A chunk may end anywhere, also within a line. */
export class EventReader {
  /** Id of the last event or beat: the stream continues after it. */
  lastId: string | undefined;
  #rest = '';
  #kind = 'message';
  #data: string[] = [];

  /** Forgets the unfinished event of an earlier connection. */
  begin(): void {
    this.#rest = '';
    this.#kind = 'message';
    this.#data = [];
  }

  read(chunk: string): StreamEvent[] {
    const lines = (this.#rest + chunk).split('\n');
    this.#rest = lines.pop() ?? '';
    const events: StreamEvent[] = [];
    for (const line of lines) {
      if (line !== '') {
        this.#readLine(line);
        continue;
      }
      if (this.#data.length > 0) events.push({ kind: this.#kind, data: parseJson(this.#data.join('\n')), id: this.lastId });
      this.#kind = 'message';
      this.#data = [];
    }
    return events;
  }

  #readLine(line: string): void {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'id') this.lastId = value;
    else if (name === 'event') this.#kind = value;
    else if (name === 'data') this.#data.push(value);
  }
}

const FIRST_MS = 500;
const LAST_MS = 30_000;

/** The pause before a reconnect: it doubles up to half a minute, with a random half so that clients do not return together. */
export function backoffMs(failures: number, random = Math.random()): number {
  const whole = Math.min(LAST_MS, FIRST_MS * 2 ** failures);
  return whole / 2 + (whole / 2) * random;
}
