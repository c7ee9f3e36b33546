// The deletion of a workflow, with the consequences counted.
import type { Session } from '../../api/session.svelte.ts';
import { confirmation } from '../../kit/confirm.svelte.ts';
import { toasts } from '../../kit/toasts.svelte.ts';
import { t } from '../../strings/strings.en.ts';
import type { JobPage, Workflow } from './definition.ts';
import { w } from './strings.en.ts';

/** The jobs of a workflow that have not ended. */
async function countOpen(session: Session, id: number): Promise<number> {
  const count = async (status: string) => (await session.gateway.get<JobPage>(`/workflows/${id}/jobs`, [['status', status], ['limit', '1']])).total_items;
  return (await count('queued')) + (await count('running'));
}

/** Whether the workflow was deleted. */
export async function removeWorkflow(session: Session, workflow: Pick<Workflow, 'id' | 'name'>): Promise<boolean> {
  try {
    const path = `/workflows/${workflow.id}`;
    const [open, { data: now, etag }] = await Promise.all([countOpen(session, workflow.id), session.gateway.call<Workflow>({ method: 'GET', path })]);
    const isConfirmed = await confirmation.ask({
      title: w('deleteAsk', { name: workflow.name }),
      text: w('deleteText', { versions: now.version, open }),
      action: t('delete'),
      word: workflow.name,
    });
    if (!isConfirmed) return false;
    await session.gateway.call({ method: 'DELETE', path }, { ifMatch: etag });
    toasts.show({ kind: 'ok', text: w('deleted', { name: workflow.name }) });
    return true;
  } catch (error) {
    toasts.showProblem(error);
    return false;
  }
}
