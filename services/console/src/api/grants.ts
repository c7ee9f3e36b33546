// The grants of a record: users, groups and roles to which the rule for rows opens the record.
import type { Kind } from './names.ts';
import type { Load } from './query.ts';
import type { Session } from './session.svelte.ts';

export interface Grant {
  user_id?: number;
  group_id?: number | null;
  role_id?: number | null;
  can_update: boolean;
  can_delete: boolean;
}

interface Grants {
  items: Grant[];
}

export const holderOf = (grant: Grant): { kind: Kind; id: number } =>
  grant.user_id ? { kind: 'user', id: grant.user_id } : grant.group_id ? { kind: 'group', id: grant.group_id } : { kind: 'role', id: grant.role_id! };
export const holderKey = (grant: Grant): string => `${holderOf(grant).kind}/${holderOf(grant).id}`;

/** Only administrators may read and change grants. `path` is the path of the record. */
export function grantsLoad(path: string, isOff: boolean): Load<Grant[]> {
  return {
    key: ['grants', path],
    run: async (on, signal) => {
      const lists = await Promise.all(['rls-users', 'rls-groups'].map((kind) => on.gateway.get<Grants>(`${path}/${kind}`, [], { signal })));
      return lists.flatMap((list) => list.items);
    },
    isOff,
  };
}

/** A call replaces the grants of users, and another those of groups and roles: only the list with the change is sent. */
export async function setGrants(session: Session, path: string, changed: Grant, next: Grant[]): Promise<void> {
  const isUser = changed.user_id !== undefined;
  const items = next.filter((grant) => (grant.user_id !== undefined) === isUser);
  await session.gateway.call({ method: 'PUT', path: `${path}/${isUser ? 'rls-users' : 'rls-groups'}`, body: { items } });
}
