// A job that is followed until it ends, and the states of its steps.
import { isAborted, pause } from '../../api/http.ts';
import type { Session } from '../../api/session.svelte.ts';
import { findStep } from '../../kit/flow/graph.ts';
import type { StepState } from '../../kit/flow/states.ts';
import type { Definition, Job, JobStep, Step } from './definition.ts';

const FIRST_MS = 300;
const LAST_MS = 3000;

export const hasEnded = (job: { status: string }): boolean => !['queued', 'running', 'waiting'].includes(job.status);

export function durationText(from: string | null, to: string | null): string | undefined {
  if (!from || !to) return undefined;
  const ms = new Date(to).getTime() - new Date(from).getTime();
  return ms < 1000 ? `${ms} ms` : ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** The link that a step has left by. */
function nextOf(step: Step, done: JobStep): string | null | undefined {
  if (done.status === 'failed' || done.status === 'interrupted') return step.on_failure;
  if (step.action !== 'Condition') return step.next;
  const result = (done.output as { data?: { result?: boolean } } | null)?.data?.result;
  return done.status === 'skipped' || result ? step.then : result === false ? step.else : undefined;
}

/** The service lists a step after its end. While the job runs, the step after the last one is running. */
export function statesOf(job: Job, definition: Pick<Definition, 'steps' | 'start_step'>): Record<string, StepState> {
  const states: Record<string, StepState> = {};
  for (const step of job.steps) states[step.key] = { status: step.status, note: durationText(step.started_at, step.finished_at) };
  if (job.status === 'running') {
    const last = job.steps.findLast((step) => step.run === job.run);
    const step = findStep(definition.steps, last?.key);
    const current = last && step ? nextOf(step, last) : definition.start_step;
    if (current && last?.status !== 'sent') states[current] = { status: 'running' };
  }
  return states;
}

export class Run {
  readonly id: number;
  job = $state.raw<Job>();
  error = $state.raw<unknown>();
  readonly #session: Session;

  constructor(session: Session, id: number) {
    this.#session = session;
    this.id = id;
  }

  /** Reads the job until it has ended. */
  async follow(signal: AbortSignal): Promise<void> {
    try {
      for (let wait = FIRST_MS; ; wait = Math.min(wait * 1.3, LAST_MS)) {
        this.job = await this.#session.gateway.get<Job>(`/workflows/jobs/${this.id}`, [], { signal });
        this.error = undefined;
        if (hasEnded(this.job)) return;
        await pause(wait, signal);
      }
    } catch (error) {
      if (!isAborted(error) && !signal.aborted) this.error = error;
    }
  }
}
