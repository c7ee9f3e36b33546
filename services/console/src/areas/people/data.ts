// Reads that several views of the area share.
import type { Query } from '../../api/http.ts';
import { can, type Entity, type Me, type Page } from '../../api/model.ts';
import type { Kind } from '../../api/names.ts';
import { refresh, type Load } from '../../api/query.ts';
import type { Group, Role, User } from './model.ts';

const MANY = 500;
const MOST: Query = [['limit', String(MANY)]];

/** The roles of the project, for callers who may see roles. */
export function rolesLoad(me: Me): Load<Role[]> {
  return {
    key: ['role', 'all'],
    run: async (on, signal) => (await on.gateway.get<Page<Role>>('/roles', [...MOST, ['count', 'false']], { signal })).items,
    isOff: !can(me, 'svc_roles:read'),
  };
}

export function groupsLoad(me: Me): Load<Group[]> {
  return {
    key: ['group', 'all'],
    run: async (on, signal) => (await on.gateway.get<Page<Group>>('/groups', [...MOST, ['count', 'false']], { signal })).items,
    isOff: !can(me, 'svc_groups:read'),
  };
}

/** The first holders of a role, and their number. */
export function holdersLoad(me: Me, role: number | undefined): Load<Page<User>> {
  return {
    key: ['user', 'holders', role],
    run: (on, signal) => on.gateway.get('/users', [['role_id', String(role)], ...MOST], { signal }),
    isOff: role === undefined || !can(me, 'svc_users:read'),
  };
}

/** All permissions of the project. A caller who may not see the list knows the permissions of the entities and its own. */
export function permissionsLoad(me: Me, entities: readonly Entity[]): Load<string[]> {
  return {
    key: ['permissions', can(me, 'svc_permissions:read')],
    run: async (on, signal) => {
      const names: string[] = [];
      if (!can(me, 'svc_permissions:read')) {
        for (const { name } of entities) names.push(...['read', 'create', 'update', 'delete'].map((action) => `${name}:${action}`));
        return [...new Set([...names, ...me.permissions])];
      }
      for (let page = 1; ; page++) {
        const answer = await on.gateway.get<Page<{ name: string }>>('/permissions', [...MOST, ['page', String(page)], ['count', 'false']], { signal });
        names.push(...answer.items.map((each) => each.name));
        if (!answer.has_next_page) return names;
      }
    },
  };
}

interface Simulated {
  method: string;
  path: string;
  refused_by: string | null;
  needs: string | null;
}

/** The endpoints by the permission that opens them. A user without roles is refused by the first permission that is needed. */
export function endpointsLoad(me: Me, entity: string | undefined): Load<Map<string, string[]>> {
  return {
    key: ['simulate', entity],
    run: async (on, signal) => {
      const call = { method: 'POST' as const, path: '/permissions/simulate', query: MOST, body: { role_ids: [], ...(entity ? { entity } : {}) } };
      const { data } = await on.gateway.call<Page<Simulated>>(call, { signal });
      const endpoints = new Map<string, string[]>();
      for (const { method, path, needs } of data.items) {
        if (needs) endpoints.set(needs, [...(endpoints.get(needs) ?? []), `${method} ${path}`]);
      }
      return endpoints;
    },
    isOff: !me.is_admin,
  };
}

/** After a change: lists, names and explanations are read again. */
export function refreshAfter(project: string, ...kinds: (Kind | 'me')[]): Promise<unknown> {
  return Promise.all([...kinds, 'explain'].map((kind) => refresh(project, [kind])));
}

/** Whether the caller holds all that a role gives. Records that are granted to the role are known to the service alone. */
export function holdsRole(me: Me, role: Role): boolean {
  if (me.is_admin) return true;
  return !role.is_admin && (!role.api_access || me.api_access) && role.permissions.every((name) => can(me, name));
}

export function fieldNames(entities: readonly Entity[], name: string): string[] {
  return entities.find((entity) => entity.name === name)?.fields.map((field) => field.name) ?? [];
}
