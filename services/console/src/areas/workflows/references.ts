// The values that a step can refer to: of the trigger, of earlier steps, of secrets.
import type { Entity } from '../../api/model.ts';
import { fieldsOf } from '../../api/model.ts';
import { stepsBefore } from '../../kit/flow/graph.ts';
import type { Suggestion } from '../../kit/suggest.ts';
import { isRecordEvent } from './actions.ts';
import type { Definition, Job, Step } from './definition.ts';
import { w } from './strings.en.ts';

const NAME = /^[A-Za-z0-9_-]+$/;
const DEPTH = 4;
const MEMBERS = 40;

/** The paths of the members of a value. */
export function pathsOf(value: unknown, prefix: string, depth = DEPTH): Suggestion[] {
  if (depth === 0 || value === null || typeof value !== 'object') return [];
  if (Array.isArray(value)) return value.length === 0 ? [] : [{ path: `${prefix}[0]`, note: w('item') }, ...pathsOf(value[0], `${prefix}[0]`, depth - 1)];
  return Object.entries(value).slice(0, MEMBERS).flatMap(([name, each]) => {
    const path = NAME.test(name) ? `${prefix}.${name}` : `${prefix}[${JSON.stringify(name)}]`;
    return [{ path, note: Array.isArray(each) ? w('list') : each === null ? 'null' : typeof each }, ...pathsOf(each, path, depth - 1)];
  });
}

const fieldPaths = (entity: Entity | undefined, prefix: string): Suggestion[] =>
  (entity ? fieldsOf(entity) : []).map((field) => ({ path: `${prefix}.${field.name}`, note: field.type }));

/** The outputs that an action has without a run that shows them. */
const OUTPUTS: Record<string, string[]> = {
  Condition: ['data.result'],
  RunScript: ['data[0]'],
  CallAnApi: ['data', 'status_code', 'headers'],
  RunIntegration: ['data', 'status_code', 'headers'],
  BulkCreateData: ['data', 'data[0].id', 'created'],
  DeleteData: ['data[0].id'],
  SendPushNotification: ['data.delivery_status', 'data.send_log_id'],
  SendEmail: ['data.mail_id', 'data.message_id', 'data.status', 'data.recipients'],
};

function stepPaths(step: Step, entities: readonly Entity[], last: Job | undefined): Suggestion[] {
  const prefix = `$svc.steps.${step.key}`;
  const output = last?.steps.findLast((each) => each.key === step.key && each.output !== null)?.output;
  const entity = entities.find((each) => each.name === step.params?.entity);
  const hasRecords = ['CreateData', 'ReadData', 'UpdateData'].includes(step.action);
  return [
    ...(hasRecords ? [{ path: `${prefix}.data`, note: w('list') }, ...fieldPaths(entity, `${prefix}.data[0]`)] : []),
    ...(OUTPUTS[step.action] ?? []).map((path) => ({ path: `${prefix}.${path}` })),
    ...pathsOf(output, prefix),
  ];
}

export interface ReferenceSource {
  definition: Definition;
  entities: readonly Entity[];
  /** The last job: its data shows members that no model describes. */
  last: Job | undefined;
  sample: unknown;
  secrets: readonly string[];
}

/** The references that a step can use; `hasSecrets`: also secrets. Each path once. */
export function suggestionsFor(source: ReferenceSource, key: string, hasSecrets = false): Suggestion[] {
  const { definition, entities, last, sample, secrets } = source;
  const { trigger } = definition;
  const entity = isRecordEvent(trigger.event) ? entities.find((each) => each.name === trigger.entity) : undefined;
  const all: Suggestion[] = [
    { path: '$svc.trigger.data' },
    ...fieldPaths(entity, '$svc.trigger.data'),
    ...pathsOf(last?.trigger.data, '$svc.trigger.data'),
    ...pathsOf(sample, '$svc.trigger.data'),
    ...stepsBefore(definition.steps, key).flatMap((step) => stepPaths(step, entities, last)),
    ...['id', 'entity_name', 'event', 'kind', 'at'].map((name) => ({ path: `$svc.trigger.${name}` })),
    ...(hasSecrets ? secrets.map((name) => ({ path: `$svc.secrets.${name}`, note: w('secret') })) : []),
    { path: '$svc.workflow.id' }, { path: '$svc.workflow.name' }, { path: '$svc.job.id' },
  ];
  const seen = new Set<string>();
  return all.filter(({ path }) => !seen.has(path) && seen.add(path));
}
