// The data that the inputs of a step share.
import type { Entity, Me } from '../../api/model.ts';
import type { Session } from '../../api/session.svelte.ts';
import type { Suggestion } from '../../kit/suggest.ts';

export interface Integration {
  id: number;
  name: string;
}

export interface FormContext {
  session: Session;
  me: Me;
  entities: readonly Entity[];
  integrations: readonly Integration[];
  /** The references of the chosen step. */
  suggest: () => readonly Suggestion[];
  /** With secrets, for parameters that may have secrets. */
  suggestSecrets: () => readonly Suggestion[];
  isReadOnly: boolean;
}
