// Programs that must compile against sample.ts, and types that must be exactly these.
import { createClient, etagOf, Problem } from './client.js';
import type { Change, Create, DateTime, FileInfo, Id, Json, Project, RecordOf, Update } from './client.js';

const gw = createClient('https://api.example.com/org/shop', { session: 'local' });

/** A program that uses each part. */
export async function useEachPart(): Promise<void> {
  gw.auth.onChange((s, why) => console.log(why, s?.user.email ?? 'nobody'));
  if (!gw.auth.user) await gw.auth.signIn({ email: 'ana@example.com', password: 'correct horse' });
  const page = await gw.db.products.list({
    filter: {
      in_stock: true,
      price: { gte: 10, lt: 100 },
      author: { country: 'BO' },
      or: [{ status: 'open' }, { released: { gte: '2026-01-01' } }],
    },
    sort: ['-created_at', 'name'],
    expand: ['author', 'tags'],
    limit: 50,
  });
  for (const p of page.items) console.log(p.name, p.author?.name ?? '-', p.tags.map(t => t.label).join());
  for await (const l of gw.db.lines.all({ expand: ['product.author'], filter: { product: { sku: { starts_with: 'A' } } } }))
    console.log(l.qty, l.product.sku, l.product.author?.country);
  try {
    const made = await gw.db.products.create({ name: 'Chair', sku: 'C-1', price: 49.9, tags: [1, 2] });
    await gw.db.products.update(made.id, { status: 'open' });
  } catch (e) {
    if (Problem.is(e, 'unique_violation')) console.warn('sku is taken', e.field('sku'));
    else if (Problem.is(e, 'validation_failed')) e.errors.forEach(x => console.warn(x.field, x.message));
    else if (Problem.is(e, 'precondition_failed', 'locked')) console.warn('another write was faster');
    else throw e;
  }
  await gw.db.products.upsert([{ name: 'Desk', sku: 'D-1', price: 120 }], { on_conflict: ['sku'] });
  const up = gw.files.upload(new Blob(['hello']), { filename: 'note.txt', attach: { entity: 'products', id: 1, field: 'image' } });
  up.onProgress((sent, total) => console.log(Math.round((100 * sent) / total) + ' %'));
  const file = await up;
  console.log(gw.files.url(file.id, { width: 320, format: 'webp' }));
  const stop = gw.db.products.live({ status: 'open' }, c => {
    if (c.kind === 'deleted') console.log('gone', c.id);
    else console.log(c.kind, c.record.name);
  });
  const { job_id } = await gw.workflows.trigger(5, { reason: 'demo' });
  const job = await gw.workflows.wait(job_id, { signal: AbortSignal.timeout(30_000) });
  if (job.status === 'failed') console.error(job.steps.find(s => s.error)?.key);
  const pay = await gw.payments.create({ amount: 49.9, currency: 'usd', customer_email: 'ana@example.com' });
  console.log(pay.client_secret, (await gw.payments.entitlement()).has_access);
  stop();
  await gw.auth.signOut('local');
}

/** Calls whose arguments are all accepted. */
export async function callEachWay(signal: AbortSignal | undefined): Promise<void> {
  const { products, authors, lines, tags } = gw.db;
  const product = await products.get(1, { expand: ['author.best.tags', 'image'], signal });
  await products.update(1, { price: null, total: '0.10', author: null, tags: [], meta: { a: [1, null] } }, { ifMatch: product, lock: 'x' });
  await products.update(1, { name: 'Chair' }, { ifMatch: '"3-1f"' });
  await products.create({
    name: 'a',
    sku: 'b',
    total: 1.5,
    token: 'secret',
    released: '2026-01-31T12:00:00Z',
    season: '2026-01-31',
    opens: '09:30',
    serial: '123e4567-e89b-42d3-a456-426614174000',
    image: 7,
    pin: '1',
  });
  await lines.create({ product: 1, qty: 2, seller: 3 });
  await products.delete(1, { ifMatch: product });
  await products.list({
    filter: { total: { between: ['0.1', 2] }, name: { icontains: 'a', ne: 'b' }, status: { in: ['open'], null: false } },
  });
  await products.list({ filter: { id: { in: [1, 2] }, created_by: { null: true }, author: { nin: [3] }, tags: 4, image: { null: true } } });
  await products.list({
    filter: { and: [{ or: [{ in_stock: true }, { count: { lte: 3 } }] }, { author: { best: { author: { name: 'x' } } } }] },
  });
  await products.list({ sort: ['author.best.price', '-author.name', 'season', '-id', 'status'], page: 2, count: false });
  await products.list({ cursor: 'start' });
  await authors.list({ expand: ['books.author', 'best'], filter: { books: { name: 'x' } } });
  await tags.upsert([{ label: 'new' }], { on_conflict: ['label'], atomic: false });
  const entity: 'authors' | 'tags' = Math.random() < 0.5 ? 'authors' : 'tags';
  await gw.db[entity].delete(1);
  for (const hit of (await gw.search('chair', { e: ['products', 'tags'] })).items)
    console.log(hit.entity === 'products' ? hit.record.sku : hit.record.label, hit.highlights[0]?.snippet);
  await gw.request<{ items: Json[] }>('GET', '/audit-log', { query: { limit: 5 } });
  const own = createClient<{
    notes: { fields: { text: string }; relations: {}; required: 'text'; readonly: never; writeonly: never; unique: never };
  }>('x');
  console.log((await own.db.notes.create({ text: 'a' })).text, etagOf(product), gw.modelVersion);
}

/* Exact types. */

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function expectTrue<T extends true>(..._: T[]): void {}

type Product = RecordOf<Project, 'products'>;
expectTrue<Same<Product['author'], Id | null>>();
expectTrue<Same<Product['tags'], Id[]>>();
expectTrue<Same<Product['token'], '********' | null>>();
expectTrue<Same<Product['released'], DateTime | null>>();
expectTrue<Same<Product['status'], 'open' | 'paid' | null>>();
expectTrue<Same<Product['level'], 'high' | 'low'>>();
expectTrue<Same<Product['created_by'], Id | null>>();
expectTrue<Same<keyof Product & 'pin', never>>();
expectTrue<Same<RecordOf<Project, 'products', 'image'>['image'], FileInfo | null>>();
expectTrue<Same<RecordOf<Project, 'lines', 'product.author'>['product']['author'], RecordOf<Project, 'authors'> | null>>();
expectTrue<Same<RecordOf<Project, 'lines', 'seller'>['seller'], RecordOf<Project, 'authors'> | null>>();
expectTrue<Same<RecordOf<Project, 'lines'>['seller'], Id>>();
expectTrue<Same<Create<Project, 'lines'>, { product: Id; qty: number; seller: Id }>>();
expectTrue<Same<Create<Project, 'tags'>, { label?: string }>>();
expectTrue<Same<Update<Project, 'authors'>['best'], Id | null | undefined>>();
expectTrue<Same<Extract<Change<Project, 'products'>, { kind: 'created' | 'updated' }>['record']['tags'], Id[] | undefined>>();

/** Types of answers. */
export async function expectAnswers(): Promise<void> {
  const chosen = await gw.db.products.list({ fields: ['name', 'id'], expand: ['author'] });
  expectTrue<Same<keyof (typeof chosen.items)[number], 'name' | 'id' | 'author'>>();
  const groups = await gw.db.products.aggregate({ group_by: ['status', 'author'], sum: ['price', 'total'], max: ['released'] });
  const group = groups.items[0]!;
  expectTrue<Same<typeof group.status, 'open' | 'paid' | null>>();
  expectTrue<Same<typeof group.sum, Record<'price' | 'total', number | null>>>();
  expectTrue<Same<typeof group.max.released, DateTime | null>>();
  expectTrue<Same<typeof group.count, number>>();
}
