import { plural, textsOf } from '../../strings/t.ts';

export const h = textsOf({
  failed: 'Needs a look',
  failedNone: 'Nothing has failed.',
  firstEntity: 'An entity holds records: the model of the project decides which fields they have.',
  firstEntityTitle: 'Create the first entity',
  importOf: (v: { id: number }) => `Import ${v.id}`,
  jobsCall: 'Failed jobs',
  jobsFailed: (v: { n: number }) => plural(v.n, { one: '# job failed', other: '# jobs failed' }),
  jobsRetried: (v: { n: number }) => plural(v.n, { one: '# job is queued again', other: '# jobs are queued again' }),
  refused: (v: { done: number; failed: number }) => `${plural(v.done, { one: '# row', other: '# rows' })} imported, ${v.failed} refused`,
  recent: 'Entities',
  refusedRows: 'Refused rows',
  retry: 'Retry',
  row: (v: { row: number }) => `Row ${v.row}`,
  setUp: 'Set up',
  setUpDone: 'done',
  setUpEntity: 'Create an entity',
  setUpOpen: 'open',
  setUpRecord: (v: { entity: string }) => `Add the first record of ${v.entity}`,
  tasksCall: 'Tasks',
});
