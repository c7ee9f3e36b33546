// An application that uses each part of the client against a real gateway. The project has the model that app.json makes: a list of paths
// and bodies of POST requests. Environment: BASE_URL, EMAIL and PASSWORD of an administrator. The workflow runner and the search indexer
// must be running. The last line is "client: all right".
import { createClient, etagOf, Problem } from './client.js';
import type { FileInfo, RecordOf, Project, Session } from './client.js';

declare const process: { env: Record<string, string | undefined> };
const { BASE_URL = '', EMAIL = '', PASSWORD = '' } = process.env;
const unique = Date.now().toString(36);

function expect(what: string, isRight: unknown): asserts isRight {
  if (!isRight) throw new Error(`unexpected: ${what}`);
}
async function refusal(call: PromiseLike<unknown>): Promise<Problem> {
  const e = await Promise.resolve(call).then(
    () => new Error('the call was accepted'),
    (thrown: unknown) => thrown,
  );
  if (!Problem.is(e)) throw e;
  return e;
}
async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; !(await holds()); await new Promise(resolve => setTimeout(resolve, 100)))
    if (Date.now() > end) throw new Error(`not within a minute: ${what}`);
}

/* Sign-in. */
const kept: { session: Session | null } = { session: null };
const gw = createClient(BASE_URL, {
  session: { get: () => kept.session, set: session => void (kept.session = session) },
  warnWhenOutdated: true,
});
const email = (): string | undefined => gw.auth.user?.email;
const changes: string[] = [];
gw.auth.onChange((_, why) => changes.push(why));
expect('no user is signed in', !email() && (await refusal(gw.db.tags.list())).status === 401);
expect('a wrong password', Problem.is(await refusal(gw.auth.signIn({ email: EMAIL, password: 'wrong' })), 'invalid_credentials'));
await gw.auth.signIn({ email: EMAIL, password: PASSWORD });
expect('the administrator', email() === EMAIL);

/* Live changes: `seen` also has the changes that the next parts make. */
const seen: string[] = [];
const stop = gw.db.products.live(
  { sku: { starts_with: `live-${unique}` }, price: { lt: 20 } },
  change => seen.push(change.kind === 'deleted' ? `deleted ${change.id}` : `${change.kind} ${change.record.name}`),
  { onReset: reason => seen.push(`reset ${reason}`), onEnd: problem => seen.push(`end ${problem.code}`) },
);

/* Records. */
const author = await gw.db.authors.create({ name: `Ana ${unique}`, country: 'BO' });
const tag = await gw.db.tags.create({ label: `tag ${unique}` });
const chair = await gw.db.products.create({
  name: `Chair ${unique}`,
  sku: `a-${unique}`,
  price: 49.9,
  total: '12345678901234567890.5',
  in_stock: true,
  status: 'open',
  count: 3,
  released: '2026-01-31T12:00:00+01:00',
  season: '2026-03-21',
  meta: { a: [1, null, { b: 'c' }] },
  token: 'a secret',
  author: author.id,
  tags: [tag.id],
});
expect('the values', chair.released === '2026-01-31T11:00:00.000Z' && chair.season === '2026-03-21' && chair.token === '********');
expect('the default and the decimal', chair.level === 'low' && typeof chair.total === 'number' && chair.total > 1.23e19);
await gw.db.authors.update(author.id, { best: chair.id, books: [chair.id] });

const bad = await refusal(gw.db.products.create({ name: 'Bad', sku: `b-${unique}`, price: -1 }));
expect('a problem of a field', Problem.is(bad, 'validation_failed') && bad.field('price') && bad.requestId && !bad.field('name'));
const twice = await refusal(gw.db.products.create({ name: 'Twice', sku: `a-${unique}` }));
expect('a sku that is taken', Problem.is(twice, 'unique_violation') && twice.status === 409);

for (const [i, name] of ['Desk', 'Lamp', 'Door, "white"'].entries())
  await gw.db.products.create({ name, sku: `c${i}-${unique}`, price: 10 + i });
const mine = { sku: { ends_with: unique } } as const;
const list = await gw.db.products.list({
  filter: { ...mine, or: [{ author: { country: 'BO' } }, { price: { between: [11, 12] } }] },
  sort: ['-price'],
  expand: ['author.best', 'tags'],
  limit: 2,
});
expect('the list', list.total_items === 3 && list.has_next_page && list.items[0]?.id === chair.id);
expect('the expanded records', list.items[0].author?.best?.id === chair.id && list.items[0].tags[0]?.label === tag.label);
const named = await gw.db.products.list({ filter: { ...mine, name: { in: ['Desk', 'Door, "white"'] } }, fields: ['name'], sort: ['name'] });
expect('values with commas', named.items.map(each => Object.values(each).join()).join('|') === 'Desk|Door, "white"');
const paths = await gw.db.products.list({
  filter: { author: { best: { author: { name: { contains: unique } } } }, image: { null: true } },
  sort: ['author.name', '-id'],
});
expect('a path of three relations', paths.items.length === 1);
const prices: (number | null)[] = [];
for await (const each of gw.db.products.all({ filter: mine, sort: ['price'], limit: 2, fields: ['price'] })) prices.push(each.price);
expect('all pages', prices.join() === '10,11,12,49.9');
const groups = await gw.db.products.aggregate({ filter: mine, group_by: ['in_stock'], sum: ['price'], max: ['name'] });
expect('the groups', groups.items.find(each => each.in_stock === null)?.sum.price === 33 && groups.items[0]?.max.name);

const read = await gw.db.products.get(chair.id, { expand: ['author'] });
expect('the ETag', etagOf(read) && read.author?.name === author.name);
const changed = await gw.db.products.update(chair.id, { price: 45, status: null }, { ifMatch: read });
expect('the change', changed.price === 45 && changed.status === null);
expect('a lost race', Problem.is(await refusal(gw.db.products.update(chair.id, { price: 1 }, { ifMatch: read })), 'precondition_failed'));
const { lock_token } = await gw.request<{ lock_token: string }>('POST', `/entities/products/items/${chair.id}/lock`, { body: {} });
expect('a locked record', Problem.is(await refusal(gw.db.products.update(chair.id, { count: 4 })), 'locked'));
await gw.db.products.update(chair.id, { count: 4 }, { lock: lock_token });
await gw.request('DELETE', `/entities/products/items/${chair.id}/lock`, { headers: { 'x-lock-token': lock_token } });

const upserted = await gw.db.products.upsert(
  [
    { name: 'Desk', sku: `c0-${unique}`, price: 15 },
    { name: 'Sofa', sku: `c9-${unique}`, price: 150 },
  ],
  { on_conflict: ['sku'] },
);
expect('the upsert', upserted.created === 1 && upserted.updated === 1 && upserted.results.length === 2);

/* Live changes, after the stream has started. */
await until('the stream', () => seen.includes('reset started'));
const made = await gw.db.products.create({ name: 'One', sku: `live-${unique}`, price: 5 });
await gw.db.products.update(made.id, { name: 'Two' });
await gw.db.products.update(made.id, { price: 25 });
await gw.db.products.update(made.id, { price: 15 });
await gw.db.products.delete(made.id);
await until('the changes', () => seen.at(-1) === `deleted ${made.id}` && seen.length >= 6);
expect(
  `the changes ${seen.join()}`,
  seen.join() === `reset started,created One,updated Two,deleted ${made.id},created Two,deleted ${made.id}`,
);
stop();

/* Files. */
const small = await gw.files.upload(new Blob(['hello']), {
  filename: 'note.txt',
  is_public: true,
  attach: { entity: 'products', id: chair.id, field: 'image' },
});
const withFile = await gw.db.products.get(chair.id, { expand: ['image'] });
const image: FileInfo | null = withFile.image;
expect('the attached file', small.size === 5 && image?.id === small.id && image.filename === 'note.txt' && image.sha256 === small.sha256);
expect('the download', (await (await gw.files.download(small.id)).text()) === 'hello');
expect('the public address', (await (await fetch(gw.files.url(small.id))).text()) === 'hello');
expect('the link', (await (await fetch(await gw.files.link(small.id, { expires_in: 60 }))).text()) === 'hello');
const bytes = new Uint8Array(3_500_000).map((_, i) => (i * 31) & 255);
const steps: number[] = [];
const upload = gw.files
  .upload(new Blob([bytes]), { filename: 'large ä.bin', attach: { entity: 'products', id: chair.id, field: 'image' } })
  .onProgress(sent => steps.push(sent));
const large = await upload;
expect(
  'the large file',
  large.size === bytes.length &&
    steps.length > 2 &&
    steps.at(-1) === bytes.length &&
    upload.resumeToken &&
    large.filename === 'large ä.bin',
);
const back = new Uint8Array(await (await gw.files.download(large.id)).arrayBuffer());
expect('its bytes', back.length === bytes.length && back.every((byte, i) => byte === bytes[i]));
expect('it has replaced the first file', Problem.is(await refusal(gw.files.download(small.id)), 'not_found'));
await gw.files.upload(new Blob([bytes]), { filename: 'large ä.bin', resumeToken: upload.resumeToken });
await gw.files.delete([large.id]);

/* Search, workflows, tasks, payments. */
await until('the chair is found', async () => {
  const found = await gw.search(`chiar ${unique}`, { e: 'products' });
  const hit: { record: RecordOf<Project, 'products'> } | undefined = found.items[0];
  return hit?.record.id === chair.id;
});
const { id: workflow } = await gw.request<{ id: number }>('POST', '/workflows', {
  body: {
    name: `Client ${unique}`,
    trigger: { kind: 'api', route: `client-${unique}` },
    steps: [{ key: 'save', action: 'CreateData', params: { entity: 'tags', values: { label: '{{ $svc.trigger.data.label }}' } } }],
  },
});
const { job_id } = await gw.workflows.trigger(workflow, { label: `made ${unique}` });
const job = await gw.workflows.wait(job_id, { signal: AbortSignal.timeout(60_000) });
expect(`the job ${JSON.stringify(job.error)}`, job.status === 'succeeded' && job.steps[0]?.key === 'save');
await gw.workflows.route(`client-${unique}`, { label: `routed ${unique}` });
await until(
  'the second job',
  async () => (await gw.db.tags.list({ filter: { label: { in: [`made ${unique}`, `routed ${unique}`] } } })).items.length === 2,
);

const form = new FormData();
form.append('file', new Blob([`label\nimported ${unique}\n`], { type: 'text/csv' }), 'tags.csv');
const { task_id } = await gw.request<{ task_id: number }>('POST', '/entities/tags/items/import', { body: form });
const task = await gw.task(task_id);
expect('the import', task.status === 'succeeded' && task.done === 1 && task.failed === 0);

const entitlement = await gw.payments.entitlement();
const payment = await gw.payments.create({ amount: 12.5, currency: 'usd', customer_email: 'ana@example.com' }).catch((e: unknown) => e);
expect(
  'a payment, or a project without payments',
  Problem.is(payment, 'payments_not_configured') || (payment as { client_secret?: string }).client_secret,
);
expect('no access without a subscription', !entitlement.has_access);

/* Refresh and sign-out. */
const before = kept.session;
expect('the session is stored', before !== null);
before.expires_at = 0;
await Promise.all([gw.db.tags.list(), gw.db.tags.list()]);
expect('new tokens', kept.session?.access_token !== before.access_token && changes.join() === 'in,refreshed');
await gw.db.products.delete(chair.id);
expect('it is gone', Problem.is(await refusal(gw.db.products.get(chair.id)), 'not_found'));
const revoked = kept.session;
await gw.auth.signOut('global');
expect('signed out', !email() && kept.session === null && changes.join() === 'in,refreshed,out');
const old = createClient(BASE_URL, { session: { get: () => revoked, set: () => {} }, warnWhenOutdated: false });
const ends: string[] = [];
old.auth.onChange((_, why) => ends.push(why));
expect('the session has ended', (await refusal(old.db.tags.list())).status === 401 && ends.join() === 'out');
console.log('client: all right');
