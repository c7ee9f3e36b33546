// Entries of the audit log: their changes, and the views of their targets.

export interface Entry {
  id: number;
  at: string;
  actor_kind: string;
  actor_id: number | null;
  action: string;
  target: string;
  target_id: string | null;
  detail: { changed?: unknown; from?: unknown; to?: unknown } & Record<string, unknown>;
  request_id: string | null;
}

export interface MemberChange {
  name: string;
  /** Undefined: the log does not have the value. */
  before: unknown;
  after: unknown;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The members that an entry has changed, with the values that the log has. */
export function changesOf(entry: Entry): MemberChange[] {
  const { changed, from, to } = entry.detail;
  const before = isObject(from) ? from : {};
  const after = isObject(to) ? to : {};
  const names = Array.isArray(changed) ? changed.filter((name) => typeof name === 'string') : Object.keys({ ...before, ...after });
  return names.map((name) => ({ name, before: before[name], after: after[name] }));
}

/** Details other than changes. */
export function restOf(entry: Entry): Record<string, unknown> {
  return Object.fromEntries(Object.entries(entry.detail).filter(([name]) => !['changed', 'from', 'to'].includes(name)));
}

/** A value of a change in one line. */
export function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value) ?? '';
}

/** The target as the filter of the log has it. */
export function targetOf(entry: Entry): string {
  return entry.target_id === null ? entry.target : `${entry.target}/${entry.target_id}`;
}

const TARGETS: Record<string, (id: string) => string> = {
  user: (id) => `users/${id}`, session: () => 'users', role: (id) => `roles/${id}`, group: (id) => `groups/${id}`, api_key: (id) => `keys/${id}`,
  workflow: (id) => `workflows/${id}`, job: (id) => `jobs/${id}`, enum: () => 'model', field: () => 'model', menu: (id) => `menus/${id}`,
  dashboard: (id) => `dashboards/${id}`, integration: (id) => `integrations/${id}`, project: () => 'settings',
};

/** The path of the view of a target, below the project; undefined for a target without a view. */
export function viewOf(entry: Entry, entities: readonly { id: number; name: string }[]): string | undefined {
  const { target, target_id: id, detail } = entry;
  const entity = entities.find((each) => String(each.id) === String(target === 'entity' ? id : detail.entity_id));
  if (target === 'entity') return entity && `data/${entity.name}`;
  if (target === 'record') return entity && `data/${entity.name}/${id}`;
  if (target === 'secret') return typeof detail.name === 'string' ? `secrets/${detail.name}` : 'secrets';
  return TARGETS[target]?.(id ?? '').replace(/\/$/, '');
}

export interface Filters {
  actor?: string | undefined;
  kind?: string | undefined;
  action?: string | undefined;
  target?: string | undefined;
}

/** Whether an entry belongs to a filtered list, as the service decides for the list. */
export function matchesEntry(entry: Entry, filters: Filters): boolean {
  const { actor, kind, action, target } = filters;
  return (!actor || String(entry.actor_id) === actor) && (!kind || entry.actor_kind === kind) && (!action || entry.action === action)
    && (!target || target === entry.target || target === targetOf(entry));
}
