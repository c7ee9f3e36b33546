// The problems that the service finds in a workflow, by step: "steps[2] (save).params.entity".
import type { FieldProblem } from '../../api/http.ts';
import { START } from '../../kit/flow/graph.ts';

export interface Located {
  /** The key of a step, START for the trigger, undefined for the workflow as a whole. */
  place: string | undefined;
  /** `field` is relative to the place: params.entity. */
  problem: FieldProblem;
}

export function locate(problem: FieldProblem, steps: readonly { key: string }[]): Located {
  const step = /^steps\[(\d+)\](?: \(([^)]*)\))?\.?/.exec(problem.field);
  if (step) return { place: step[2] || steps[Number(step[1])]?.key, problem: { ...problem, field: problem.field.slice(step[0].length) } };
  const trigger = /^trigger\.?/.exec(problem.field);
  if (trigger) return { place: START, problem: { ...problem, field: problem.field.slice(trigger[0].length) } };
  return { place: undefined, problem };
}
