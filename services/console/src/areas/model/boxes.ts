// The boxes of the diagram and their sizes.
import type { Node } from '@xyflow/svelte';
import type { Entity } from '../../api/model.ts';
import type { Box } from './graph.ts';
import { specOf, type FieldSpec } from './lines.ts';

export type EntityNode = Node<{
  name: string;
  href: string;
  fields: FieldSpec[];
  /** Fields that the box does not show. */
  rest: number;
  isActive: boolean;
  isFound: boolean;
  /** No relation can be drawn from the box. */
  isFixed: boolean;
}, 'entity'>;

const WIDTH = 220;
const HEAD = 44;
const ROW = 20;
const ROWS = 8;
/** With more boxes than this the boxes show names alone, so that the whole model can be seen. */
export const FEW = 40;
export const READABLE = 0.8;

export function shownFields(entity: Entity, isSmall: boolean): FieldSpec[] {
  return isSmall ? [] : entity.fields.slice(0, entity.fields.length > ROWS ? ROWS - 1 : ROWS).map(specOf);
}

export function boxOf(entity: Entity, isSmall: boolean): Box {
  const shown = shownFields(entity, isSmall).length;
  const rows = shown + (entity.fields.length > shown ? 1 : 0);
  return { name: entity.name, width: WIDTH, height: HEAD + rows * ROW };
}
