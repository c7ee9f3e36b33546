// The rights of a role, the differences between two states of a role, and the users who gain or lose by a difference.
import type { FieldAction, FieldRule, Rights, Role, User } from './model.ts';

export const FIELD_ACTIONS: readonly FieldAction[] = ['read', 'create', 'update'];
export const MAIN_ACTIONS = ['read', 'create', 'update', 'delete'] as const;

export interface MatrixRow {
  resource: string;
  isEntity: boolean;
  actions: string[];
}

/** The permissions by resource: entities first, in the order of their names. */
export function matrixRows(permissions: Iterable<string>): MatrixRow[] {
  const rows = new Map<string, MatrixRow>();
  for (const name of permissions) {
    const [resource = '', action = ''] = name.split(':');
    const row = rows.get(resource) ?? { resource, isEntity: !resource.startsWith('svc_'), actions: [] };
    if (!row.actions.includes(action)) row.actions.push(action);
    rows.set(resource, row);
  }
  return [...rows.values()].toSorted((a, b) => Number(b.isEntity) - Number(a.isEntity) || a.resource.localeCompare(b.resource));
}

export function ruleOf(rules: readonly FieldRule[], entity: string, action: FieldAction): FieldRule | undefined {
  return rules.find((rule) => rule.entity === entity && rule.action === action);
}

/** Without fields the rule is removed: all fields are open, also fields that are added later. */
export function setRule(rules: readonly FieldRule[], entity: string, action: FieldAction, fields: string[] | undefined): FieldRule[] {
  const others = rules.filter((rule) => rule.entity !== entity || rule.action !== action);
  return fields ? [...others, { entity, action, fields }] : others;
}

export function setField(rules: readonly FieldRule[], entity: string, action: FieldAction, all: readonly string[], field: string, isOpen: boolean): FieldRule[] {
  const open = ruleOf(rules, entity, action)?.fields ?? all;
  return setRule(rules, entity, action, all.filter((name) => (name === field ? isOpen : open.includes(name))));
}

export function gives(rights: Rights, permission: string): boolean {
  return rights.is_admin || rights.permissions.includes(permission);
}

/** Whether the rights open a field. The name '*' means the fields that are added later. */
export function opensField(rights: Rights, entity: string, action: FieldAction, field: string): boolean {
  if (rights.is_admin) return true;
  if (!gives(rights, `${entity}:${action}`)) return false;
  const rule = ruleOf(rights.field_access, entity, action);
  return !rule || rule.fields.includes(field);
}

/** A right that is gained or lost. `has` tells whether a role gives the right. */
export interface Change {
  isGain: boolean;
  kind: 'admin' | 'api_access' | 'permission' | 'field';
  /** The permission of the right, to find the endpoints that it opens. */
  permission?: string;
  entity?: string;
  field?: string;
  has: (rights: Rights) => boolean;
}

/** Fields are compared where both states have the permission: with the permission all its fields are gained or lost. */
export function changesOf(before: Rights, after: Rights, fieldsOf: (entity: string) => readonly string[]): Change[] {
  const changes: Change[] = [];
  const compare = (change: Omit<Change, 'isGain'>) => {
    const [was, is] = [change.has(before), change.has(after)];
    if (was !== is) changes.push({ ...change, isGain: is });
  };
  compare({ kind: 'admin', has: (rights) => rights.is_admin });
  if (before.is_admin !== after.is_admin) return changes;
  compare({ kind: 'api_access', has: (rights) => rights.is_admin || rights.api_access });
  const names = [...new Set([...before.permissions, ...after.permissions])].toSorted();
  for (const permission of names) {
    compare({ kind: 'permission', permission, has: (rights) => gives(rights, permission) });
    const [entity = '', action] = permission.split(':') as [string, FieldAction];
    if (!FIELD_ACTIONS.includes(action) || !gives(before, permission) || !gives(after, permission)) continue;
    for (const field of [...fieldsOf(entity), '*']) {
      compare({ kind: 'field', permission, entity, field, has: (rights) => opensField(rights, entity, action, field) });
    }
  }
  return changes;
}

/** The number of holders of a role for whom a change of the role has an effect: no other role of the holder gives the right. */
export function countAffected(change: Change, roleId: number | undefined, holders: readonly User[], roles: readonly Role[]): number {
  const givers = new Set(roles.filter((role) => role.id !== roleId && change.has(role)).map((role) => role.id));
  return holders.filter((user) => !user.role_ids.some((id) => givers.has(id))).length;
}

/** The rights of several roles together: a field is open when one of the roles opens it. */
export function unite(roles: readonly Rights[]): Rights {
  const permissions = [...new Set(roles.flatMap((role) => role.permissions))];
  const rules: FieldRule[] = [];
  for (const permission of permissions) {
    const [entity = '', action] = permission.split(':') as [string, FieldAction];
    const holders = roles.filter((role) => role.permissions.includes(permission));
    const found = holders.map((role) => ruleOf(role.field_access, entity, action));
    if (found.every((rule) => rule !== undefined)) rules.push({ entity, action, fields: [...new Set(found.flatMap((rule) => rule.fields))] });
  }
  return { is_admin: roles.some((role) => role.is_admin), api_access: roles.some((role) => role.api_access), permissions, field_access: rules };
}

/** Carries changes over to a newer version: additions and removals against the version that they were made to. */
export function rebaseNames(before: readonly string[], mine: readonly string[], newer: readonly string[]): string[] {
  const removed = before.filter((name) => !mine.includes(name));
  const added = mine.filter((name) => !before.includes(name));
  return [...new Set([...newer.filter((name) => !removed.includes(name)), ...added])];
}

export function rebaseRules(before: readonly FieldRule[], mine: readonly FieldRule[], newer: readonly FieldRule[]): FieldRule[] {
  const keyOf = (rule: FieldRule) => `${rule.entity}:${rule.action}`;
  const textOf = (rules: readonly FieldRule[], key: string) => JSON.stringify(rules.find((rule) => keyOf(rule) === key)?.fields.toSorted());
  const keys = [...new Set([...before, ...mine, ...newer].map(keyOf))];
  return keys.flatMap((key) => {
    const source = textOf(before, key) === textOf(mine, key) ? newer : mine;
    return source.filter((rule) => keyOf(rule) === key);
  });
}
