// Jobs of workflows: reading, retrying, cancelling, and jobs that failed in the same way.
import { Problem, type Query } from './http.ts';
import type { Page } from './model.ts';
import type { Session } from './session.svelte.ts';

export const JOB_STATUSES = ['queued', 'running', 'waiting', 'succeeded', 'failed', 'cancelled', 'skipped'] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

export interface JobError {
  step_key: string | null;
  code: string;
  message?: string;
  status_code?: number | null;
}

export interface Job {
  id: number;
  workflow_id: number;
  workflow_version: number;
  status: JobStatus;
  run: number;
  attempt: number;
  depth: number;
  error: JobError | null;
  reason: string | null;
  queued_at: string;
  started_at: string | null;
  finished_at: string | null;
  trigger: { kind: string; event: string | null; id: number; entity_name: string | null };
}

export interface JobStep {
  key: string;
  action: string;
  run: number;
  status: 'sent' | 'succeeded' | 'failed' | 'skipped' | 'interrupted' | 'cancelled';
  started_at: string;
  finished_at: string | null;
  input: unknown;
  output: unknown;
  error: (Partial<JobError> & Record<string, unknown>) | null;
  log: unknown;
}

export interface JobDetail extends Omit<Job, 'trigger'> {
  data_hidden: boolean;
  trigger: Job['trigger'] & { data: unknown };
  steps: JobStep[];
}

/** The result of a retry or a cancellation of one job among several. */
export interface JobResult {
  id: number;
  problem?: Problem;
}

const TOGETHER = 100;
const LIKE_PAGE = 500;
const LIKE_PAGES = 10;

/** The list of all jobs, or of the jobs of a workflow. */
export function jobsPath(workflow?: string | number): string {
  return workflow === undefined ? '/workflows/jobs' : `/workflows/${workflow}/jobs`;
}

export const jobPath = (id: number) => `/workflows/jobs/${id}`;

export function hasEnded(status: string): boolean {
  return status !== 'queued' && status !== 'running' && status !== 'waiting';
}

/** A skip by loop_guard would repeat: the service refuses its retry. */
export function canRetry(job: Pick<Job, 'status' | 'reason'>): boolean {
  return job.status === 'failed' || job.status === 'cancelled' || (job.status === 'skipped' && job.reason !== 'loop_guard');
}

/** Milliseconds from the begin of a job or step to its end, or to now. */
export function durationOf(work: { started_at: string | null; finished_at: string | null }, now: number): number | undefined {
  if (!work.started_at) return undefined;
  return (work.finished_at ? Date.parse(work.finished_at) : now) - Date.parse(work.started_at);
}

/** Retries jobs, each from the step in which it ended. */
export const retryJobs = (session: Session, ids: readonly number[]) => workOnJobs(session, 'retry', ids);

export const cancelJobs = (session: Session, ids: readonly number[]) => workOnJobs(session, 'cancel', ids);

async function workOnJobs(session: Session, work: 'retry' | 'cancel', ids: readonly number[]): Promise<JobResult[]> {
  const results: JobResult[] = [];
  for (let at = 0; at < ids.length; at += TOGETHER) {
    const { data } = await session.gateway.call<{ items: { id: number; status: number; problem: { code: string; detail: string } | null }[] }>({
      method: 'POST', path: `/workflows/jobs/${work}`, body: { ids: ids.slice(at, at + TOGETHER) },
    });
    results.push(...data.items.map(({ id, status, problem }) => (problem ? { id, problem: new Problem(status, problem.code, problem.detail) } : { id })));
  }
  return results;
}

/** Whether two jobs of one workflow failed in the same step with the same error. */
export function isLike(a: Pick<Job, 'workflow_id' | 'error'>, b: Pick<Job, 'workflow_id' | 'error'>): boolean {
  return a.workflow_id === b.workflow_id && a.error?.code === b.error?.code && a.error?.step_key === b.error?.step_key
    && (a.error?.status_code ?? null) === (b.error?.status_code ?? null);
}

/** The failed jobs like this one, newest first. Each page has the next 500 failures of the workflow. `isCut`: there may be more jobs. */
export async function findLike(session: Session, job: Pick<Job, 'workflow_id' | 'error'>, most = LIKE_PAGES, signal?: AbortSignal): Promise<{ ids: number[]; isCut: boolean }> {
  const ids: number[] = [];
  let cursor: string | null | undefined = 'start';
  for (let pages = 0; cursor && pages < most; pages++) {
    const query: Query = [['status', 'failed'], ['limit', String(LIKE_PAGE)], ['cursor', cursor]];
    const page: Page<Job> = await session.gateway.get<Page<Job>>(jobsPath(job.workflow_id), query, signal ? { signal } : {});
    ids.push(...page.items.filter((each) => isLike(each, job)).map((each) => each.id));
    cursor = page.has_next_page ? page.next_cursor : undefined;
  }
  return { ids, isCut: Boolean(cursor) };
}

/** Jobs that failed in the same way, the newest failure first. */
export function groupJobs(jobs: readonly Job[]): Job[][] {
  const groups: Job[][] = [];
  for (const job of jobs) {
    const group = groups.find((each) => isLike(each[0]!, job));
    if (group) group.push(job);
    else groups.push([job]);
  }
  return groups;
}
