// The entities as boxes and their relations as lines between them.
import type { Entity } from '../../api/model.ts';

export interface Relation {
  id: string;
  from: string;
  to: string;
  field: string;
  many: boolean;
  required: boolean;
}

export interface Box {
  name: string;
  width: number;
  height: number;
}

export interface Point {
  x: number;
  y: number;
}

/** Relations between entities that the caller sees. */
export function relationsOf(entities: readonly Entity[]): Relation[] {
  const known = new Set(entities.map((entity) => entity.name));
  return entities.flatMap((entity) => entity.fields
    .filter((field) => field.type === 'relation' && known.has(field.options.entity ?? ''))
    .map((field) => ({
      id: `${entity.name}.${field.name}`, from: entity.name, to: field.options.entity!, field: field.name,
      many: field.options.many ?? false, required: field.required,
    })));
}

/** The entity and all entities that a relation connects it with. */
export function neighboursOf(name: string, relations: readonly Relation[]): Set<string> {
  const found = new Set([name]);
  for (const { from, to } of relations) {
    if (from === name) found.add(to);
    if (to === name) found.add(from);
  }
  return found;
}

export function findEntities(entities: readonly Entity[], text: string): Entity[] {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== '');
  return entities.filter((entity) => words.every((word) => `${entity.name} ${entity.label ?? ''}`.toLowerCase().includes(word)));
}

const GAP = 40;
const SHAPE = 1.6;

/** Boxes without relations in rows below the others: a layered drawing would put them into one long column. */
export function placeLoose(boxes: readonly Box[], top: number, width: number): Map<string, Point> {
  const places = new Map<string, Point>();
  let x = 0;
  let y = top;
  let rowHeight = 0;
  for (const box of boxes) {
    if (x > 0 && x + box.width > width) {
      x = 0;
      y += rowHeight + GAP;
      rowHeight = 0;
    }
    places.set(box.name, { x, y });
    x += box.width + GAP;
    rowHeight = Math.max(rowHeight, box.height);
  }
  return places;
}

/** The width at which the boxes fill an area in the shape of a screen. */
export function looseWidth(boxes: readonly Box[]): number {
  const area = boxes.reduce((sum, box) => sum + (box.width + GAP) * (box.height + GAP), 0);
  return Math.max(600, Math.sqrt(area * SHAPE));
}

/** A box with the position of its middle. */
export interface PlacedBox extends Box, Point {}

const BETWEEN_RANKS = 120;

/** A drawing much taller than wide becomes one in the shape of a screen: a long rank has several columns. The order of each rank stays. */
export function wrapRanks(boxes: readonly PlacedBox[]): PlacedBox[] {
  const height = Math.max(...boxes.map((box) => box.y)) - Math.min(...boxes.map((box) => box.y));
  const most = Math.max(900, looseWidth(boxes) / SHAPE);
  if (height < 2 * most) return [...boxes];
  const ranks = [...new Set(boxes.map((box) => Math.round(box.x)))].sort((a, b) => a - b)
    .map((x) => boxes.filter((box) => Math.round(box.x) === x).sort((a, b) => a.y - b.y));
  let left = 0;
  return ranks.flatMap((rank) => {
    const step = Math.max(...rank.map((box) => box.height)) + GAP;
    const columns = Math.ceil((rank.length * step) / most);
    const rows = Math.ceil(rank.length / columns);
    const width = Math.max(...rank.map((box) => box.width)) + GAP;
    const start = left + width / 2;
    left += columns * width + BETWEEN_RANKS;
    return rank.map((box, at) => ({ ...box, x: start + (at % columns) * width, y: ((Math.floor(at / columns) + 0.5) / rows) * most }));
  });
}

/** A name for the field of a new relation: the singular of the other entity, numbered while it is taken. */
export function relationName(from: Entity, to: string, many: boolean): string {
  const single = to.replace(/ies$/, 'y').replace(/(x|ch|sh|ss)es$/, '$1').replace(/([^s])s$/, '$1');
  const base = from.name === to ? (many ? to : 'parent') : many ? to : single;
  const taken = new Set([...from.fields.map((field) => field.name), 'id', 'created_at', 'updated_at', 'created_by', 'version', 'or', 'and']);
  for (let n = 1; ; n++) {
    const name = n === 1 ? base : `${base}_${n}`;
    if (!taken.has(name)) return name;
  }
}
