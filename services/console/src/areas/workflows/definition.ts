// The definition of a workflow, and the changes that the editor makes to one. Each function returns a new definition.
import type { Page } from '../../api/model.ts';
import { findStep, linkNames, linksOf, START, stepsAfter, type FlowStep, type LinkName, type LinkPlace } from '../../kit/flow/graph.ts';

export type Value = unknown;
export type Params = Record<string, Value>;

export interface Step extends FlowStep {
  params: Params;
  timeout_seconds?: number | null;
}

export interface Trigger {
  kind: 'timed' | 'event' | 'manual' | 'api';
  cron?: string;
  timezone?: string | null;
  run_late?: string | null;
  event?: string;
  entity?: string | null;
  filter?: Value;
  route?: string;
}

export interface Definition {
  name: string;
  enabled: boolean;
  trigger: Trigger;
  start_step: string | null;
  steps: Step[];
}

export interface Workflow extends Definition {
  id: number;
  version: number;
  editor_id: number;
  created_at: string;
  updated_at: string;
  next_fire_at: string | null;
}

export interface Version extends Omit<Definition, 'enabled'> {
  version: number;
  editor_id: number;
  created_at: string;
}

export interface ListedJob {
  id: number;
  workflow_id: number;
  workflow_version: number;
  status: 'queued' | 'running' | 'waiting' | 'succeeded' | 'failed' | 'cancelled' | 'skipped';
  run: number;
  error: { step_key?: string; code?: string; message?: string; status_code?: number } | null;
  reason: string | null;
  queued_at: string;
  started_at: string | null;
  finished_at: string | null;
}

export interface JobStep {
  key: string;
  action: string;
  run: number;
  status: 'sent' | 'succeeded' | 'failed' | 'skipped' | 'interrupted' | 'cancelled';
  started_at: string;
  finished_at: string | null;
  input: Value;
  output: Value;
  error: Value;
  log: Value;
}

export interface Job extends ListedJob {
  data_hidden: boolean;
  trigger: { kind: string; event: string | null; id: number; entity_name: string | null; data: Value };
  steps: JobStep[];
}

export type JobPage = Page<ListedJob>;

export const STEPS_MAX = 100;

export const emptyDefinition = (): Definition => ({ name: '', enabled: true, trigger: { kind: 'manual' }, start_step: null, steps: [] });

const MEMBERS = ['key', 'name', 'action', 'enabled', 'params', 'next', 'then', 'else', 'on_failure', 'timeout_seconds'] as const;

/** The members that a save sends, without the members that the service sets; steps have their members in the order of the documents. */
export function definitionOf({ name, enabled, trigger, start_step, steps }: Definition): Definition {
  const ordered = steps.map((step) => Object.fromEntries(MEMBERS.filter((member) => member in step).map((member) => [member, step[member]])) as unknown as Step);
  return { name, enabled, trigger, start_step, steps: ordered };
}

function setStep(definition: Definition, key: string, change: (step: Step) => Step): Definition {
  return { ...definition, steps: definition.steps.map((step) => (step.key === key ? change(step) : step)) };
}

export function changeStep(definition: Definition, key: string, values: Partial<Step>): Definition {
  return setStep(definition, key, (step) => ({ ...step, ...values }));
}

/** A key that no step has: the action's name in lower case, with a number when needed. */
export function freeKey(steps: readonly FlowStep[], action: string): string {
  const base = action.replace(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase().replace(/[^a-z0-9_]/g, '').slice(0, 44);
  for (let n = 1; ; n++) {
    const key = n === 1 ? base : `${base}_${n}`;
    if (!findStep(steps, key)) return key;
  }
}

export function targetOf(definition: Definition, at: LinkPlace): string | null {
  return linksOf(definition.steps, definition.start_step).find((link) => link.from === at.from && link.name === at.name)?.to ?? null;
}

function setLink(definition: Definition, at: LinkPlace, to: string | null): Definition {
  return at.from === START ? { ...definition, start_step: to } : changeStep(definition, at.from, { [at.name]: to });
}

const mainLink = (step: FlowStep): LinkName => linkNames(step)[0]!;

/** Why a link is not possible; undefined: the link is possible. */
export function refuseLink(definition: Definition, from: string, to: string): 'itself' | 'loop' | undefined {
  if (from === to) return 'itself';
  return from !== START && stepsAfter(definition.steps, to).has(from) ? 'loop' : undefined;
}

export function connect(definition: Definition, at: LinkPlace, to: string | null): Definition {
  return to !== null && refuseLink(definition, at.from, to) ? definition : setLink(definition, at, to);
}

function insertStep(definition: Definition, step: Step, at: LinkPlace): Definition {
  const next = targetOf(definition, at);
  const placed = { ...step, next: null, then: null, else: null, ...(at.name === 'on_failure' && next ? {} : { [mainLink(step)]: next }) };
  const own: Step = Object.fromEntries(Object.entries(placed).filter(([name]) => !['next', 'then', 'else'].includes(name) || linkNames(step).includes(name as LinkName))) as unknown as Step;
  const from = definition.steps.findIndex((each) => each.key === at.from);
  const steps = definition.steps.toSpliced(at.from === START ? 0 : from + 1, 0, own);
  return setLink({ ...definition, steps }, at, step.key);
}

/** Puts a step into a link. The step continues where the link led. Returns the key of the step as well. */
export function addStep(definition: Definition, action: string, at: LinkPlace, params: Params = {}): { definition: Definition; key: string } {
  const key = freeKey(definition.steps, action);
  const step: Step = { key, action, enabled: true, params, on_failure: null };
  return { definition: insertStep(definition, step, at), key };
}

/** The place at which steps are added when no place was chosen: the end of the way through the first links. */
export function lastPlace(definition: Definition): LinkPlace {
  let at: LinkPlace = { from: START, name: 'next' };
  for (let steps = 0; steps <= definition.steps.length; steps++) {
    const step = findStep(definition.steps, targetOf(definition, at));
    if (!step) return at;
    at = { from: step.key, name: mainLink(step) };
  }
  return at;
}

/** Takes a step out. The links to the step lead to the step after it. */
function detachStep(definition: Definition, key: string): Definition {
  const step = findStep(definition.steps, key)!;
  const next = targetOf(definition, { from: key, name: mainLink(step) });
  const start = targetOf(definition, { from: START, name: 'next' });
  const steps = definition.steps
    .filter((each) => each.key !== key)
    .map((each) => ({ ...each, ...Object.fromEntries(linkNames(each).filter((name) => each[name] === key).map((name) => [name, next === each.key ? null : next])) }));
  return { ...definition, steps, start_step: start === key ? next : definition.start_step };
}

export function removeStep(definition: Definition, key: string): Definition {
  return findStep(definition.steps, key) ? detachStep(definition, key) : definition;
}

/** Moves a step into a link of another step. */
export function moveStep(definition: Definition, key: string, at: LinkPlace): Definition {
  const step = findStep(definition.steps, key);
  if (!step || at.from === key || targetOf(definition, at) === key) return definition;
  return insertStep(detachStep(definition, key), step, at);
}

/** The link that a step moves into when it is exchanged with the step before (-1) or after it (1). */
export function placeBy(definition: Definition, key: string, by: -1 | 1): LinkPlace | undefined {
  const links = linksOf(definition.steps, definition.start_step);
  const step = findStep(definition.steps, key);
  if (!step) return undefined;
  if (by === -1) {
    const before = links.find((link) => link.to === key)?.from;
    return before === undefined || before === START ? undefined : links.find((link) => link.to === before);
  }
  const after = findStep(definition.steps, targetOf(definition, { from: key, name: mainLink(step) }));
  return after && { from: after.key, name: mainLink(after) };
}

export function duplicateStep(definition: Definition, key: string): { definition: Definition; key: string } {
  const step = findStep(definition.steps, key)!;
  const copy: Step = { ...structuredClone(step), key: freeKey(definition.steps, step.key.replace(/_\d+$/, '')), on_failure: null };
  return { definition: insertStep(definition, copy, { from: key, name: mainLink(step) }), key: copy.key };
}

const KEY = /^[a-z0-9_]{1,48}$/;
export const isKey = (text: string): boolean => KEY.test(text);

/** Gives a step another key, also in the links and in the references of other steps. */
export function renameStep(definition: Definition, key: string, to: string): Definition {
  const rename = (value: Value): Value => {
    if (typeof value === 'string') return value.replace(new RegExp(`(\\$svc\\.steps\\.)${key}(?![\\w-])`, 'g'), `$1${to}`);
    if (Array.isArray(value)) return value.map(rename);
    // An exact number has no prototype, and stays as it is.
    if (value && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, rename(each)]));
    return value;
  };
  return {
    ...definition,
    start_step: definition.start_step === key ? to : definition.start_step,
    steps: definition.steps.map((step) => ({
      ...step,
      key: step.key === key ? to : step.key,
      params: rename(step.params) as Params,
      ...Object.fromEntries(linkNames(step).filter((name) => step[name] === key).map((name) => [name, to])),
    })),
  };
}
