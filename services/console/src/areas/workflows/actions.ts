// The actions of steps and their parameters, as common/core/catalog/step.def has them: the documents of the API describe
// parameters in words only. A test compares both.

export type ParamKind =
  | 'entity' | 'values' | 'id' | 'filter' | 'names' | 'number' | 'flag' | 'items' | 'script' | 'url' | 'method' | 'map' | 'any' | 'path'
  | 'line' | 'text' | 'address' | 'addresses' | 'buttons' | 'audience' | 'integration' | 'operation';

export interface Param {
  name: string;
  kind: ParamKind;
  isRequired?: boolean;
  hasTemplates?: boolean;
  hasSecrets?: boolean;
  hint?: string;
}

export type ActionGroup = 'records' | 'logic' | 'calls' | 'messages';

export interface Action {
  name: string;
  group: ActionGroup;
  about: string;
  /** The time limit of a step that has none. */
  seconds: number;
  params: Param[];
}

const must = { isRequired: true } as const;
const open = { hasTemplates: true } as const;
const entity: Param = { name: 'entity', kind: 'entity', ...must };
const id: Param = { name: 'id', kind: 'id', ...must, ...open, hint: 'A number, or a reference' };
const values: Param = { name: 'values', kind: 'values', ...must, ...open };

export const actions: readonly Action[] = [
  { name: 'CreateData', group: 'records', about: 'Adds a record to an entity.', seconds: 30, params: [entity, values] },
  {
    name: 'ReadData', group: 'records', about: 'Reads one record by its id, or records that a filter finds.', seconds: 30,
    params: [
      entity,
      { ...id, isRequired: false },
      { name: 'filter', kind: 'filter', ...open, hint: '{"field": value} or {"field": {"gte": value}}; "or" and "and" take arrays of filters' },
      { name: 'sort', kind: 'names', hint: 'Such as -created_at, name' },
      { name: 'fields', kind: 'names', hint: 'All fields when left out' },
      { name: 'limit', kind: 'number', hint: '20 when left out, at most 500' },
      { name: 'page', kind: 'number' },
    ],
  },
  { name: 'UpdateData', group: 'records', about: 'Changes fields of a record.', seconds: 30, params: [entity, id, values] },
  { name: 'DeleteData', group: 'records', about: 'Deletes a record.', seconds: 30, params: [entity, id] },
  { name: 'BulkCreateData', group: 'records', about: 'Adds up to 1,000 records.', seconds: 30, params: [entity, { name: 'items', kind: 'items', ...must, ...open, hint: 'An array of objects {field: value}, or one reference' }] },
  { name: 'Condition', group: 'logic', about: 'Continues with one of two steps.', seconds: 30, params: [] },
  { name: 'RunScript', group: 'logic', about: 'Runs JavaScript without network and files; data[0] is the value that the script returns.', seconds: 10, params: [{ name: 'script', kind: 'script', ...must, hint: 'Reads the values from $svc, such as $svc.trigger.data' }] },
  {
    name: 'CallAnApi', group: 'calls', about: 'Calls an address; an answer outside 200–299 fails the step.', seconds: 10,
    params: [
      { name: 'method', kind: 'method', ...must },
      { name: 'url', kind: 'url', ...must, hint: 'A fixed address: references work in headers and body' },
      { name: 'headers', kind: 'map', ...open, hasSecrets: true },
      { name: 'body', kind: 'any', ...open, hasSecrets: true, hint: 'JSON, or a text' },
      { name: 'results_path', kind: 'path', hint: 'The part of the answer that becomes data, such as data.items[0]' },
      { name: 'follow_redirects', kind: 'flag' },
    ],
  },
  {
    name: 'RunIntegration', group: 'calls', about: 'Calls an operation of an integration, with the credentials of its connection.', seconds: 15,
    params: [
      { name: 'integration', kind: 'integration', ...must },
      { name: 'operation', kind: 'operation', ...must },
      { name: 'connection_id', kind: 'number', hint: 'The only connection when left out' },
      { name: 'params', kind: 'map', ...open },
    ],
  },
  {
    name: 'SendPushNotification', group: 'messages', about: 'Sends a push notification to users.', seconds: 30,
    params: [
      { name: 'audience', kind: 'audience', ...must, ...open },
      { name: 'template_type', kind: 'line', ...open, hint: 'Replaces title and body' },
      { name: 'title', kind: 'line', ...open },
      { name: 'body', kind: 'text', ...open },
      { name: 'image_url', kind: 'line', ...open },
      { name: 'click_action', kind: 'line', ...open },
      { name: 'category', kind: 'line', ...open, hint: 'A group of buttons' },
      { name: 'buttons', kind: 'buttons', ...open, hint: '[{"id": "yes", "label": "Yes", "click_action": "…"}]' },
      { name: 'data', kind: 'map', ...open },
    ],
  },
  {
    name: 'SendEmail', group: 'messages', about: 'Sends a mail.', seconds: 30,
    params: [
      { name: 'to', kind: 'addresses', ...must, ...open, hint: 'Addresses or references, with commas between them' },
      { name: 'subject', kind: 'line', ...open },
      { name: 'body_text', kind: 'text', ...open },
      { name: 'body_html', kind: 'text', ...open },
      { name: 'template_type', kind: 'line', ...open, hint: 'Replaces subject and bodies' },
      { name: 'variables', kind: 'map', ...open, hint: 'Of the template' },
      { name: 'cc', kind: 'addresses', ...open },
      { name: 'bcc', kind: 'addresses', ...open },
      { name: 'reply_to', kind: 'address', ...open },
    ],
  },
];

export function findAction(name: string): Action | undefined {
  return actions.find((action) => action.name === name.replaceAll(' ', ''));
}

// --- triggers ---

export const EVENTS: readonly { name: string; subject: 'records' | 'payments' | 'subscriptions' | 'methods' | 'taps' }[] = [
  ...['EntityCreated', 'EntityUpdated', 'EntityDeleted'].map((name) => ({ name, subject: 'records' as const })),
  ...['PaymentCreated', 'PaymentSucceeded', 'PaymentFailed'].map((name) => ({ name, subject: 'payments' as const })),
  ...['SubscriptionCreated', 'SubscriptionActivated', 'SubscriptionExpired', 'SubscriptionPastDue'].map((name) => ({ name, subject: 'subscriptions' as const })),
  ...['PaymentMethodCaptured', 'PaymentMethodCaptureFailed', 'PaymentMethodRemoved'].map((name) => ({ name, subject: 'methods' as const })),
  { name: 'PushActionTaken', subject: 'taps' },
];

export function isRecordEvent(event: string | undefined): boolean {
  return EVENTS.some((each) => each.name === event && each.subject === 'records');
}

// --- conditions ---

/** The operators of conditions, and the number of their values: none, one, two or a list. */
export const OPERATORS: readonly { name: string; takes: 'value' | 'list' | 'pair' | 'none' }[] = [
  ...['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'contains', 'not_contains', 'starts_with', 'ends_with'].map((name) => ({ name, takes: 'value' as const })),
  ...['in', 'nin', 'matches_any_of'].map((name) => ({ name, takes: 'list' as const })),
  { name: 'between', takes: 'pair' },
  ...['empty', 'not_empty', 'exists', 'not_exists'].map((name) => ({ name, takes: 'none' as const })),
];
