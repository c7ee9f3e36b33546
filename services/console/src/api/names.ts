// Users, groups, roles, API keys and workflows by name, for callers who may see them.
import { can, type Me, type Page } from './model.ts';
import { readCached } from './query.ts';
import type { Session } from './session.svelte.ts';
import type { Choice } from '../kit/Combobox.svelte';

interface Named {
  id: number;
  email?: string;
  name?: string;
}

export type Kind = 'user' | 'group' | 'role' | 'key' | 'workflow';

const SOURCES: Record<Kind, { path: string; needs: string }> = {
  user: { path: '/users', needs: 'svc_users:read' },
  group: { path: '/groups', needs: 'svc_groups:read' },
  role: { path: '/roles', needs: 'svc_roles:read' },
  key: { path: '/api-keys', needs: 'svc_api_keys:read' },
  workflow: { path: '/workflows', needs: 'svc_workflows:read' },
};
const CHOICES = 30;
const LIMIT = 500;

function readKind(session: Session, me: Me, kind: Kind): Promise<Named[]> {
  const { path, needs } = SOURCES[kind];
  if (!can(me, needs)) return Promise.resolve([]);
  return readCached(session.project, {
    key: [kind],
    run: async (on, signal) => (await on.gateway.get<Page<Named>>(path, [['limit', String(LIMIT)], ['count', 'false']], { signal })).items,
  });
}

/** The choices whose name has the text. Of many users the service finds the addresses that have the text. */
export async function findNamed(session: Session, me: Me, kinds: readonly Kind[], text: string, signal: AbortSignal): Promise<Choice[]> {
  const choices: Choice[] = [];
  for (const kind of kinds) {
    const all = await readKind(session, me, kind);
    let found = all.filter((each) => (each.email ?? each.name ?? '').toLowerCase().includes(text.toLowerCase()));
    if (kind === 'user' && text !== '' && all.length === LIMIT) {
      found = (await session.gateway.get<Page<Named>>('/users', [['email_contains', text], ['limit', String(CHOICES)], ['count', 'false']], { signal })).items;
    }
    choices.push(...found.slice(0, CHOICES).map((each) => ({ value: `${kind}/${each.id}`, label: each.email ?? each.name ?? String(each.id), note: kind })));
  }
  return choices;
}

export async function nameOf(session: Session, me: Me, kind: Kind, id: number): Promise<string> {
  const { path, needs } = SOURCES[kind];
  if (!can(me, needs)) return `${kind} ${id}`;
  const named = await readCached(session.project, { key: [kind, id], run: (on, signal) => on.gateway.get<Named>(`${path}/${id}`, [], { signal }) }).catch(() => undefined);
  return named?.email ?? named?.name ?? `${kind} ${id}`;
}
