// Two users have changed a record: the version that both read, the stored version, and the changes that were not saved.
import { isSame } from '../../api/json.ts';

export type Values = Record<string, unknown>;

export interface Difference {
  name: string;
  base: unknown;
  theirs: unknown;
  mine: unknown;
  /** Both have changed the field, to different values. */
  isConflict: boolean;
}

/** The fields that the stored record or the changes have different from the version that was read. */
export function compareVersions(base: Values, theirs: Values, mine: Values, names: readonly string[]): Difference[] {
  const differences: Difference[] = [];
  for (const name of names) {
    const isMine = name in mine && !isSame(mine[name], base[name]);
    const isTheirs = !isSame(theirs[name], base[name]);
    const own = isMine ? mine[name] : base[name];
    if (!isMine && !isTheirs) continue;
    differences.push({ name, base: base[name], theirs: theirs[name], mine: own, isConflict: isMine && isTheirs && !isSame(own, theirs[name]) });
  }
  return differences;
}

/** The changes to save on top of the stored record, after a choice for each difference. */
export function resolveDifferences(differences: readonly Difference[], choice: Record<string, 'mine' | 'theirs'>): Values {
  const changes: Values = {};
  for (const each of differences) {
    if (choice[each.name] === 'mine' && !isSame(each.mine, each.theirs)) changes[each.name] = each.mine;
  }
  return changes;
}

/** The first choice: each side keeps what only that side has changed, and a conflict waits for the reader. */
export function firstChoice(differences: readonly Difference[]): Record<string, 'mine' | 'theirs'> {
  const choice: Record<string, 'mine' | 'theirs'> = {};
  for (const each of differences) {
    if (!each.isConflict) choice[each.name] = isSame(each.mine, each.base) ? 'theirs' : 'mine';
  }
  return choice;
}
