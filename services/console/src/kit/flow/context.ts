// The parts of a flow that its canvas and its list share.
import { getContext, setContext } from 'svelte';
import type { MenuItem } from '../Menu.svelte';
import { START, type FlowLink, type FlowStep, type LinkPlace } from './graph.ts';
import type { StepState } from './states.ts';

/** Changes of links and places. The owner of the steps makes them; the flow shows the result. */
export interface FlowEditing {
  /** Asks for a step and puts it into a link. */
  add: (at: LinkPlace) => void;
  /** The step that a link leads to; null removes the link. */
  connect: (at: LinkPlace, to: string | null) => void;
  /** Moves a step into a link. */
  move: (key: string, at: LinkPlace) => void;
  remove: (key: string) => void;
}

export interface FlowProps {
  steps: readonly FlowStep[];
  start: string | null | undefined;
  /** The words of the trigger. */
  trigger: string;
  /** The state of each step in a run. */
  states?: Readonly<Record<string, StepState>> | undefined;
  /** How many problems a step has, by key; START for the trigger. */
  problems?: Readonly<Record<string, number>> | undefined;
  /** The key of a step, or START. */
  selected?: string | undefined;
  onselect: (key: string) => void;
  /** The actions of a step, in groups; the canvas and the list offer the same. */
  actions?: ((key: string) => (MenuItem | false)[][]) | undefined;
  /** Missing: the flow is read only. */
  editing?: FlowEditing | undefined;
}

const KEY = Symbol('flow');

/** `props` has getters, so that nodes and edges follow the flow. */
export interface FlowContext {
  readonly props: FlowProps;
  readonly isVertical: boolean;
  /** The link that a dragged step would be moved into. */
  readonly target: LinkPlace | undefined;
  isSwapped: (key: string) => boolean;
  isTabStop: (key: string) => boolean;
  onkeydown: (event: KeyboardEvent, key: string) => void;
}

export const setFlow = (flow: FlowContext): FlowContext => setContext(KEY, flow);
export const getFlow = (): FlowContext => getContext<FlowContext>(KEY);

/** Whether a run went through a link. */
export function isTaken(link: FlowLink, states: FlowProps['states']): boolean {
  const from = states?.[link.from];
  if (!states?.[link.to]) return false;
  if (link.from === START) return true;
  return from !== undefined && (link.name === 'on_failure') === (from.status === 'failed' || from.status === 'interrupted');
}
