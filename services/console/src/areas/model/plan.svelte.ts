// The plan of changes: the service checks each change before it is made, and again after its line has changed.
import { isAborted, Problem } from '../../api/http.ts';
import { refresh } from '../../api/query.ts';
import type { Session } from '../../api/session.svelte.ts';
import { confirmation } from '../../kit/confirm.svelte.ts';
import { isLoss, lookAt, type Change, type Preview } from './changes.ts';
import { m } from './strings.en.ts';

export type Finding = { preview: Preview; error?: undefined } | { error: unknown; preview?: undefined };

const keyOf = (change: Change) => JSON.stringify([change.call, change.ifMatch]);

export class Plan {
  isApplying = $state(false);
  /** Why a change that was planned as possible has failed. */
  error = $state.raw<unknown>();
  #findings = $state.raw<ReadonlyMap<string, Finding>>(new Map());
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  finding(change: Change): Finding | undefined {
    return this.#findings.get(keyOf(change));
  }

  /** Checks the changes that have no finding yet. */
  async look(changes: readonly Change[], signal: AbortSignal): Promise<void> {
    const keys = changes.map(keyOf);
    // A finding of a line that was typed before says nothing about the records of now.
    this.#findings = new Map([...this.#findings].filter(([key]) => keys.includes(key)));
    await Promise.all(changes.filter((change) => !this.finding(change)).map(async (change) => {
      const finding = await lookAt(change, this.#session, signal).then((preview): Finding => ({ preview }), (error: unknown): Finding => ({ error }));
      if (signal.aborted || isAborted(finding.error)) return;
      this.#findings = new Map([...this.#findings, [keyOf(change), finding]]);
    }));
  }

  forget(): void {
    this.#findings = new Map();
    this.error = undefined;
  }

  /** The reason why the changes cannot be made now. */
  off(changes: readonly Change[]): string | undefined {
    const findings = changes.map((change) => this.finding(change));
    if (findings.some((finding) => finding?.error)) return m('refusedPlan');
    if (findings.some((finding) => (finding?.preview?.violations.length ?? 0) > 0)) return m('blocked');
    return findings.includes(undefined) ? m('waiting') : undefined;
  }

  /** Whether the service says that the thing was changed since the caller read it. */
  isStale(changes: readonly Change[]): boolean {
    return [this.error, ...changes.map((change) => this.finding(change)?.error)].some((error) => Problem.is(error) && error.status === 412);
  }

  /** Makes the changes in their order, up to the first failure. Returns the changes that were made. */
  async apply(changes: readonly Change[]): Promise<Change[]> {
    if (!(await this.#confirm(changes))) return [];
    const made: Change[] = [];
    this.isApplying = true;
    this.error = undefined;
    try {
      for (const change of changes) {
        await this.#session.gateway.call(change.call, change.ifMatch ? { ifMatch: change.ifMatch } : {});
        made.push(change);
      }
    } catch (error) {
      this.error = error;
    }
    if (made.length > 0) await refreshModel(this.#session.project);
    this.isApplying = false;
    return made;
  }

  async #confirm(changes: readonly Change[]): Promise<boolean> {
    const losses = changes.flatMap((change) => {
      const preview = this.finding(change)?.preview;
      return preview && isLoss(change, preview) ? [{ change, preview }] : [];
    });
    const [first] = losses;
    if (!first) return true;
    const count = losses.some(({ preview }) => preview.loses_rows === null) ? undefined : losses.reduce((sum, { preview }) => sum + preview.loses_rows!, 0);
    const total = (name: 'workflows' | 'roles' | 'menu_items') => losses.reduce((sum, { preview }) => sum + (preview.affected[name]?.length ?? 0), 0);
    const used = m('askUsed', { workflows: total('workflows'), roles: total('roles'), menus: total('menu_items') });
    return confirmation.ask({
      title: m('askTitle', { title: losses.map(({ change }) => change.title).join(', ') }),
      text: `${count === undefined ? m('askLossUnknown') : m('askLoss', { n: count })}${used ? ` ${used[0]!.toUpperCase()}${used.slice(1)}.` : ''}`,
      action: first.change.call.method === 'DELETE' ? m('askDelete') : m('askApply'),
      word: losses.length === 1 || !first.change.entity ? first.change.word : first.change.entity,
    });
  }
}

/** Reads the model and the caller's rights again, so that the bar and all views show them. */
export async function refreshModel(project: string): Promise<void> {
  await Promise.all([refresh(project, ['entities']), refresh(project, ['enums']), refresh(project, ['me'])]);
}
