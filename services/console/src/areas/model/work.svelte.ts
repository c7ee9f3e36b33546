// Typed changes of an entity that were not made yet. They survive a reload as a draft.
import { Drafts } from '../../api/drafts.ts';
import type { Session } from '../../api/session.svelte.ts';
import type { EntityOptions } from './changes.ts';
import { tryLine, type FieldSpec, type Names } from './lines.ts';
import { m } from './strings.en.ts';

interface Values {
  /** Lines of new fields. */
  lines: string[];
  /** Lines of stored fields, by the name of the field. */
  edits: Record<string, string>;
  /** Stored fields that are to be deleted. */
  drops: string[];
  options: Partial<EntityOptions>;
}

const EMPTY: Values = { lines: [], edits: {}, drops: [], options: {} };

export class Work {
  values = $state.raw<Values>(EMPTY);
  /** The values come from an earlier visit. */
  isRestored = $state(false);
  readonly #drafts: Drafts;
  readonly #resource: string;

  constructor(session: Session, user: number, entity: string) {
    this.#drafts = new Drafts(localStorage, session.project, user);
    this.#resource = `model/${entity}`;
    const draft = this.#drafts.read(this.#resource);
    if (draft) this.values = { ...EMPTY, ...draft.values };
    this.isRestored = draft !== undefined;
  }

  set(change: Partial<Values>): void {
    this.values = { ...this.values, ...change };
    const { lines, edits, drops, options } = this.values;
    const isEmpty = lines.every((line) => line.trim() === '') && Object.keys(edits).length + drops.length + Object.keys(options).length === 0;
    this.#drafts.write(this.#resource, '', isEmpty ? {} : { ...this.values });
  }

  edit(field: string, line: string | undefined): void {
    const { [field]: _, ...others } = this.values.edits;
    this.set({ edits: line === undefined ? others : { ...others, [field]: line } });
  }

  clear(): void {
    this.isRestored = false;
    this.values = EMPTY;
    this.#drafts.remove(this.#resource);
  }
}

export interface ReadLine {
  /** The position among all lines. */
  at: number;
  field?: FieldSpec;
  problem?: string;
}

/** The lines that are not empty, with problems that concern other lines or fields of the entity. */
export function readLines(lines: readonly string[], names: Names, taken: readonly string[]): ReadLine[] {
  const seen = new Set<string>();
  return lines.map((line, at) => ({ line, at })).filter(({ line }) => line.trim() !== '').map(({ line, at }) => {
    const { field, problem } = tryLine(line, names);
    if (!field) return { at, problem: problem! };
    if (taken.includes(field.name)) return { at, problem: m('exists', { name: field.name }) };
    if (seen.has(field.name)) return { at, problem: m('twice', { name: field.name }) };
    seen.add(field.name);
    return { at, field };
  });
}
