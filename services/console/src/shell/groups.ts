// The order of entities in the bar: the last used first, then groups of entities whose names begin alike.
import type { Entity } from '../api/model.ts';
import { entityLabel } from '../api/model.ts';

export interface Group {
  /** Empty for entities without a group. */
  name: string;
  kind: 'recent' | 'prefix' | 'rest';
  entities: Entity[];
}

const FEW = 10;
const LEAST = 3;

export function groupEntities(entities: readonly Entity[], recent: readonly string[], filter: string): Group[] {
  const words = filter.toLowerCase().split(/\s+/);
  const found = entities
    .filter((entity) => words.every((word) => `${entity.name} ${entity.label ?? ''}`.toLowerCase().includes(word)))
    .toSorted((a, b) => entityLabel(a).localeCompare(entityLabel(b)));
  if (filter || found.length <= FEW) return [{ name: '', kind: 'rest', entities: found }];

  const prefixOf = (entity: Entity) => entity.name.split('_')[0]!;
  const prefixes = new Map<string, Entity[]>();
  for (const entity of found) prefixes.set(prefixOf(entity), [...(prefixes.get(prefixOf(entity)) ?? []), entity]);
  const isGrouped = (entity: Entity) => entity.name.includes('_') && prefixes.get(prefixOf(entity))!.length >= LEAST;
  const last = recent.map((name) => found.find((entity) => entity.name === name)).filter((entity) => entity !== undefined);
  const groups: Group[] = [
    { name: '', kind: 'recent', entities: last },
    { name: '', kind: 'rest', entities: found.filter((entity) => !isGrouped(entity)) },
  ];
  for (const [name, members] of prefixes) {
    const grouped = members.filter(isGrouped);
    if (grouped.length > 0) groups.push({ name, kind: 'prefix', entities: grouped });
  }
  return groups.filter((group) => group.entities.length > 0);
}
