// All views. The bar, the palette, the chords and the titles follow from this table.
import type { Component } from 'svelte';
import BookOpen from '@lucide/svelte/icons/book-open';
import Boxes from '@lucide/svelte/icons/boxes';
import House from '@lucide/svelte/icons/house';
import KeyRound from '@lucide/svelte/icons/key-round';
import ListChecks from '@lucide/svelte/icons/list-checks';
import ScrollText from '@lucide/svelte/icons/scroll-text';
import Search from '@lucide/svelte/icons/search';
import Settings from '@lucide/svelte/icons/settings';
import Table2 from '@lucide/svelte/icons/table-2';
import Users from '@lucide/svelte/icons/users';
import Workflow from '@lucide/svelte/icons/workflow';
import { can, type Entity, type Me } from './api/model.ts';
import type { Session } from './api/session.svelte.ts';
import { readAhead } from './api/records.ts';
import { matchPath, type Params } from './match.ts';
import { t } from './strings/strings.en.ts';

/** Props of the view of an area. */
export interface AreaProps {
  session: Session;
  me: Me;
  entities: Entity[];
  params: Params;
  query: URLSearchParams;
}

export interface Route {
  path: string;
  title: (params: Params) => string;
  load: () => Promise<{ default: Component<AreaProps> }>;
  /** The permission without which the view is not offered. */
  needs?: (params: Params) => string;
  /** The view is for administrators. */
  forAdmins?: boolean;
  /** The address in the bar; without it the view is reached from another view. */
  link?: { icon: Component<{ size?: number }>; chord: string; words: string };
  /** The title in the bar for all routes of an area. The link leads to the first route that the caller may use. */
  area?: string;
  /** Reads data while the code of the area is being loaded. */
  ahead?: (props: AreaProps) => void;
}

const people = () => import('./areas/people/index.ts');

export const routes: readonly Route[] = [
  {
    path: '/:project',
    title: () => t('home'),
    load: () => import('./areas/home/index.ts'),
    link: { icon: House, chord: 'g h', words: 'start failed set up' },
  },
  {
    path: '/:project/data/:entity?/:record?',
    title: (params) => (params.entity ? `${params.entity}${params.record ? `/${params.record}` : ''}` : t('records')),
    load: () => import('./areas/data/index.ts'),
    needs: (params) => (params.entity ? `${params.entity}:read` : 'svc_entities:read'),
    link: { icon: Table2, chord: 'g d', words: 'records tables grid data' },
    ahead: readAhead,
  },
  {
    path: '/:project/model/:name?',
    title: (params) => params.name ?? t('model'),
    load: () => import('./areas/model/index.ts'),
    needs: () => 'svc_entities:read',
    link: { icon: Boxes, chord: 'g m', words: 'model schema entities fields relations enums diagram' },
  },
  {
    path: '/:project/users/:id?',
    title: () => t('users'),
    load: async () => ({ default: (await people()).Users }),
    needs: () => 'svc_users:read',
    link: { icon: Users, chord: 'g u', words: 'people accounts invite suspend' },
    area: t('people'),
  },
  {
    path: '/:project/roles/:id?',
    title: () => t('roles'),
    load: async () => ({ default: (await people()).Roles }),
    needs: () => 'svc_roles:read',
    link: { icon: Users, chord: 'g r', words: 'people permissions rights fields matrix' },
    area: t('people'),
  },
  {
    path: '/:project/groups/:id?',
    title: () => t('groups'),
    load: async () => ({ default: (await people()).Groups }),
    needs: () => 'svc_groups:read',
    link: { icon: Users, chord: 'g o', words: 'people members teams' },
    area: t('people'),
  },
  {
    path: '/:project/keys/:id?',
    title: () => t('apiKeys'),
    load: async () => ({ default: (await people()).Keys }),
    needs: () => 'svc_api_keys:read',
    link: { icon: Users, chord: 'g k', words: 'people tokens rotate credentials' },
    area: t('people'),
  },
  {
    path: '/:project/explain',
    title: () => t('explain'),
    load: async () => ({ default: (await people()).Explain }),
    link: { icon: Users, chord: 'g y', words: 'people why permissions rights see' },
    area: t('people'),
  },
  {
    path: '/:project/profile',
    title: () => t('profile'),
    load: async () => ({ default: (await people()).Profile }),
  },
  {
    path: '/:project/workflows/:id?/:tab?',
    title: (params) => (params.id && params.id !== 'new' ? `${t('workflows')} ${params.id}` : t('workflows')),
    load: () => import('./areas/workflows/index.ts'),
    needs: () => 'svc_workflows:read',
    link: { icon: Workflow, chord: 'g w', words: 'automation triggers cron steps webhooks' },
  },
  {
    path: '/:project/jobs/:id?',
    title: (params) => (params.id ? `${t('jobs')} ${params.id}` : t('jobs')),
    load: () => import('./areas/jobs/index.ts'),
    needs: () => 'svc_workflows:read',
    link: { icon: ListChecks, chord: 'g j', words: 'runs workflows failed retry cancel queue' },
  },
  {
    path: '/:project/secrets/:name?',
    title: (params) => (params.name ? `${t('secrets')} ${params.name}` : t('secrets')),
    load: () => import('./areas/secrets/index.ts'),
    needs: () => 'svc_secrets:read',
    link: { icon: KeyRound, chord: 'g e', words: 'credentials tokens rotate workflows' },
  },
  {
    path: '/:project/search/:tab?',
    title: () => t('search'),
    load: () => import('./areas/search/index.ts'),
    needs: () => 'svc_search:read',
    link: { icon: Search, chord: 'g s', words: 'find index synonyms stop words rehydrate purge' },
  },
  {
    path: '/:project/audit/:id?',
    title: () => t('audit'),
    load: () => import('./areas/audit/index.ts'),
    needs: () => 'svc_audit_log:read',
    link: { icon: ScrollText, chord: 'g a', words: 'log changes history administrators' },
  },
  {
    path: '/:project/docs/:operation?',
    title: (params) => params.operation ?? t('documentation'),
    load: () => import('./areas/docs/index.ts'),
    needs: () => 'svc_documentation:read',
    link: { icon: BookOpen, chord: 'g .', words: 'api reference operations openapi client typescript curl' },
  },
  {
    path: '/:project/settings/:tab?',
    title: () => t('settings'),
    load: () => import('./areas/settings/index.ts'),
    forAdmins: true,
    link: { icon: Settings, chord: 'g ,', words: 'name origins cors sign-in limits tokens keys rotate domains dns storage danger' },
  },
];

/** The right that the caller lacks for a view, as a word for the reader. */
export function missingRight(route: Route, params: Params, me: Me | undefined): string | undefined {
  const needed = route.needs?.(params);
  if (needed && !can(me, needed)) return needed;
  return route.forAdmins && !me?.is_admin ? t('administrators') : undefined;
}

/** The routes of the bar: of each area the first that the caller may use. */
export function barRoutes(me: Me, project: string): Route[] {
  const allowed = routes.filter((route) => route.link && !missingRight(route, { project }, me));
  return allowed.filter((route, at) => !route.area || allowed.findIndex((each) => each.area === route.area) === at);
}

export function findRoute(path: string): { route: Route; params: Params } | undefined {
  for (const route of routes) {
    const params = matchPath(route.path, path);
    if (params) return { route, params };
  }
  return undefined;
}

/** Whether the console has a view at a path, and the caller may see it. */
export function canOpen(me: Me, path: string): boolean {
  const found = findRoute(path);
  return found !== undefined && !missingRight(found.route, found.params, me);
}
