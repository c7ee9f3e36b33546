// The values that the inputs of fields need.
import type { Entity, Enumeration, Me } from '../../api/model.ts';
import type { Session } from '../../api/session.svelte.ts';
import type { Labels } from './labels.svelte.ts';

export interface FieldContext {
  session: Session;
  me: Me;
  entities: Entity[];
  enums: Enumeration[];
  labels: Labels;
}
