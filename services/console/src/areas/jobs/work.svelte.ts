// Retries and cancellations of jobs, and their results.
import { Problem } from '../../api/http.ts';
import { canRetry, cancelJobs, findLike, hasEnded, jobPath, retryJobs, type Job, type JobDetail, type JobResult } from '../../api/jobs.ts';
import { can, type Me } from '../../api/model.ts';
import { nameOf } from '../../api/names.ts';
import { readCached, refresh } from '../../api/query.ts';
import type { Session } from '../../api/session.svelte.ts';
import { confirmation } from '../../kit/confirm.svelte.ts';
import type { MenuItem } from '../../kit/Menu.svelte';
import { toasts } from '../../kit/toasts.svelte.ts';
import { t } from '../../strings/strings.en.ts';
import { j } from './strings.en.ts';

type AnyJob = Job | JobDetail;

/** A version of a workflow: it never changes, and a job runs it also after the workflow was changed. */
export interface Version {
  trigger: { kind: string; event?: string; entity?: string | null; cron?: string; route?: string };
  start_step: string;
  steps: { key: string; name?: string | null; action: string; enabled?: boolean; next?: string | null; on_failure?: string | null; then?: string | null; else?: string | null }[];
}

export const versionLoad = (job: Pick<Job, 'workflow_id' | 'workflow_version'>) => ({
  key: ['workflow-version', job.workflow_id, job.workflow_version],
  run: (on: Session, signal: AbortSignal) => on.gateway.get<Version>(`/workflows/${job.workflow_id}/versions/${job.workflow_version}`, [], { signal }),
});

export class JobWork {
  readonly #session: Session;
  readonly #me: () => Me;
  /** The results of the last work on several jobs. */
  results = $state.raw<{ title: string; failed: JobResult[] }>();
  isBusy = $state(false);

  constructor(session: Session, me: () => Me) {
    this.#session = session;
    this.#me = me;
  }

  /** The reason why the caller may not retry or cancel. */
  get off(): string | undefined {
    return can(this.#me(), 'svc_workflows:trigger') ? undefined : t('needs', { permission: 'svc_workflows:trigger' });
  }

  retryOff(job: AnyJob): string | undefined {
    return this.off ?? (canRetry(job) ? undefined : job.reason === 'loop_guard' ? j('loopGuard') : j('retryNone'));
  }

  /** The reason why the job cannot begin again with this step. The service lets callers without svc_workflows:update choose two steps. */
  retryStepOff(job: AnyJob, step: string, start: string | undefined): string | undefined {
    const isFree = step === job.error?.step_key || step === start || can(this.#me(), 'svc_workflows:update');
    return this.retryOff(job) ?? (isFree ? undefined : j('needsUpdate'));
  }

  menu(job: AnyJob, address: string): MenuItem[][] {
    const off = this.retryOff(job);
    const ended = job.error?.step_key;
    return [
      [
        ...(ended ? [{ label: j('fromEnd', { step: ended }), off, run: () => void this.retry(job) }] : []),
        { label: j('fromStart'), off, run: () => void this.retryFromStart(job) },
        { label: j('fromOther'), off, href: address },
      ],
      ...(job.error ? [[{ label: j('likeMenu'), off, run: () => void this.retryLike(job) }]] : []),
    ];
  }

  /** Without a step the job begins with the step in which it ended. */
  async retry(job: AnyJob, step?: string): Promise<void> {
    await this.#do(async () => {
      await this.#session.gateway.call({ method: 'POST', path: `${jobPath(job.id)}/retry`, body: step === undefined ? {} : { from_step: step } });
      toasts.show({ kind: 'ok', text: j('retried', { id: job.id }) });
    });
  }

  async retryFromStart(job: AnyJob): Promise<void> {
    await this.#do(async () => {
      const version = await readCached(this.#session.project, versionLoad(job));
      await this.retry(job, version.start_step);
    });
  }

  async retryLike(job: AnyJob): Promise<void> {
    await this.#do(async () => {
      const { ids } = await findLike(this.#session, job);
      if (ids.length === 0) return void toasts.show({ kind: 'ok', text: j('likeNone') });
      const workflow = await nameOf(this.#session, this.#me(), 'workflow', job.workflow_id);
      const error = errorText(job);
      const isConfirmed = await confirmation.ask({ title: j('likeAsk', { n: ids.length }), text: j('likeText', { workflow, error }), action: j('retrySome', { n: ids.length }) });
      if (isConfirmed) await this.#retryIds(ids);
    });
  }

  async retryMany(jobs: readonly AnyJob[]): Promise<void> {
    await this.#do(() => this.#retryIds(jobs.filter(canRetry).map((job) => job.id)));
  }

  async cancelMany(jobs: readonly AnyJob[]): Promise<void> {
    const ids = jobs.filter((job) => !hasEnded(job.status)).map((job) => job.id);
    const isConfirmed = await confirmation.ask({ title: j('cancelAsk', { n: ids.length }), text: j('cancelText'), action: j('cancelSome', { n: ids.length }) });
    if (!isConfirmed) return;
    await this.#do(async () => this.#show(await cancelJobs(this.#session, ids), 'cancelledSome'));
  }

  async #retryIds(ids: readonly number[]): Promise<void> {
    this.#show(await retryJobs(this.#session, ids), 'retriedSome');
  }

  #show(results: JobResult[], done: 'retriedSome' | 'cancelledSome'): void {
    const failed = results.filter((result) => result.problem);
    const parts = [j(done, { n: results.length - failed.length }), ...(failed.length > 0 ? [j('refused', { n: failed.length })] : [])];
    this.results = { title: parts.join(', '), failed };
  }

  async #do(work: () => Promise<void>): Promise<void> {
    this.isBusy = true;
    try {
      await work();
    } catch (error) {
      toasts.showProblem(error);
    } finally {
      this.isBusy = false;
      void refresh(this.#session.project, ['jobs']);
    }
  }
}

/** The error in a line: the step and the code, with the status of a call. */
export function errorText(job: Pick<Job, 'error'>): string {
  if (!job.error) return '';
  const code = job.error.status_code ? `${job.error.code} ${job.error.status_code}` : job.error.code;
  return job.error.step_key ? j('errorAt', { step: job.error.step_key, code }) : code;
}

export function isMissing(error: unknown): boolean {
  return Problem.is(error, 'not_found');
}
