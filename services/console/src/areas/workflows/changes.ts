// The differences of two versions of a workflow, and a merge of the changes of two users.
import { isSame } from '../../api/json.ts';
import { findStep } from '../../kit/flow/graph.ts';
import { definitionOf, type Definition } from './definition.ts';

export type Kind = 'added' | 'removed' | 'changed';

export interface Change {
  /** The key of a step; undefined: the change is to the workflow as a whole. */
  step: string | undefined;
  kind: Kind;
  /** The members that differ, with both values as text. */
  members: { name: string; before: string; after: string }[];
}

type Part = Record<string, unknown>;
const print = (value: unknown): string => (value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value, undefined, 2));

/** A member that is null counts as left out, as the service counts. */
const isEqual = (a: unknown, b: unknown): boolean => isSame(a ?? null, b ?? null);

function differences(before: Part, after: Part, prefix = ''): Change['members'] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) => {
    const [was, is] = [before[name], after[name]];
    if (isEqual(was, is)) return [];
    if (name === 'params' && was && is) return differences(was as Part, is as Part, 'params.');
    return [{ name: prefix + name, before: print(was), after: print(is) }];
  });
}

type Compared = Omit<Definition, 'enabled'> & { enabled?: boolean };

/** A stored version has no `enabled`. */
export function compare(before: Compared, after: Compared): Change[] {
  const whole = (each: Compared): Part => ({ name: each.name, trigger: each.trigger, start_step: each.start_step, ...(before.enabled === undefined || after.enabled === undefined ? {} : { enabled: each.enabled }) });
  const members = differences(whole(before), whole(after));
  const changes: Change[] = members.length > 0 ? [{ step: undefined, kind: 'changed', members }] : [];
  for (const step of after.steps) {
    const was = findStep(before.steps, step.key);
    const own = differences((was ?? {}) as unknown as Part, step as unknown as Part).filter((each) => each.name !== 'key');
    if (!was) changes.push({ step: step.key, kind: 'added', members: own });
    else if (own.length > 0) changes.push({ step: step.key, kind: 'changed', members: own });
  }
  for (const step of before.steps) {
    if (!findStep(after.steps, step.key)) changes.push({ step: step.key, kind: 'removed', members: [] });
  }
  return changes;
}

const WHOLE = ['name', 'enabled', 'trigger', 'start_step'] as const;

/** Both users' changes. Where both have changed the same part, the part of `mine` stays, and `both` names the part. */
export function merge(base: Definition, mine: Definition, theirs: Definition): { definition: Definition; both: string[] } {
  const both: string[] = [];
  const choose = <T>(name: string, was: T, my: T, their: T): T => {
    if (isEqual(was, my)) return their;
    if (!isEqual(was, their) && !isEqual(my, their)) both.push(name);
    return my;
  };
  const definition = definitionOf(theirs);
  for (const name of WHOLE) Object.assign(definition, { [name]: choose(name, base[name], mine[name], theirs[name]) });
  const keys = [...new Set([...theirs.steps, ...mine.steps].map((step) => step.key))];
  definition.steps = keys.flatMap((key) => choose(key, findStep(base.steps, key), findStep(mine.steps, key), findStep(theirs.steps, key)) ?? []);
  return { definition, both };
}
