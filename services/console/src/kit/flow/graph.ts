// The steps of a workflow as a graph: links, order, loops.

export type LinkName = 'next' | 'then' | 'else' | 'on_failure';

/** A step as the API's definition has it. */
export interface FlowStep {
  key: string;
  name?: string | null;
  action: string;
  enabled?: boolean;
  next?: string | null;
  then?: string | null;
  else?: string | null;
  on_failure?: string | null;
}

/** The place of a link: the step that has the link, and the link's name. START has one link, `next`. */
export interface LinkPlace {
  from: string;
  name: LinkName;
}

export interface FlowLink extends LinkPlace {
  to: string;
}

/** The key of the trigger. Keys of steps have no `$`. */
export const START = '$trigger';

export function linkNames(step: Pick<FlowStep, 'action'>): LinkName[] {
  return step.action === 'Condition' ? ['then', 'else', 'on_failure'] : ['next', 'on_failure'];
}

export function findStep<S extends FlowStep>(steps: readonly S[], key: string | null | undefined): S | undefined {
  return steps.find((step) => step.key === key);
}

/** The links between the trigger and steps that exist. */
export function linksOf(steps: readonly FlowStep[], start: string | null | undefined): FlowLink[] {
  const links: { from: string; name: LinkName; to: string | null | undefined }[] = [
    { from: START, name: 'next', to: start ?? steps[0]?.key },
    ...steps.flatMap((step) => linkNames(step).map((name) => ({ from: step.key, name, to: step[name] }))),
  ];
  return links.filter((link): link is FlowLink => findStep(steps, link.to) !== undefined);
}

/** The steps that a step leads to, without the step. */
export function stepsAfter(steps: readonly FlowStep[], key: string): Set<string> {
  const links = linksOf(steps, undefined);
  const found = new Set<string>();
  const open = [key];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const link of links) {
      if (link.from !== at || found.has(link.to)) continue;
      found.add(link.to);
      open.push(link.to);
    }
  }
  return found;
}

/** The steps that may have run before a step. */
export function stepsBefore<S extends FlowStep>(steps: readonly S[], key: string): S[] {
  return steps.filter((step) => step.key !== key && stepsAfter(steps, step.key).has(key));
}

/** The steps in the order of their links, and after these the steps that no link leads to. */
export function orderSteps<S extends FlowStep>(steps: readonly S[], start: string | null | undefined): { reached: S[]; loose: S[] } {
  const links = linksOf(steps, start);
  const seen = new Set<string>();
  const reached: S[] = [];
  const visit = (from: string): void => {
    for (const link of links.filter((each) => each.from === from).toReversed()) {
      if (seen.has(link.to)) continue;
      seen.add(link.to);
      visit(link.to);
      reached.unshift(findStep(steps, link.to)!);
    }
  };
  visit(START);
  return { reached, loose: steps.filter((step) => !seen.has(step.key)) };
}

export function stepTitle(step: FlowStep): string {
  return step.name || step.key;
}
