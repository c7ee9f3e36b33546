// Streams of changes: shared, continued after an interruption, reset, and ended.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient, keep, problem, serve, session, tokens, until, wait } from './support.mjs'

const client = (server, options = {}) => createClient(server.url, { warnWhenOutdated: false, apiKey: 'ak_1', ...options })
const event = (kind, data, id) => `${id ? `id: ${id}\n` : ''}event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`
const hello = (id) => `id: ${id}\nretry: 1000\nevent: hello\ndata: {}\n\n`

/** A server of streams. `streams` has the response of each open stream. */
async function serveStreams(begin = () => hello('1')) {
  const streams = []
  const server = await serve((request, n) => ({
    headers: { 'content-type': 'text/event-stream' },
    body: (response) => {
      streams.push(response)
      response.write(begin(n, request) ?? '')
    },
  }))
  return { ...server, streams }
}
/** Listens, and records each call. */
function listen(items, filter = {}, more = {}) {
  const seen = []
  const stop = items.live(
    filter,
    (change) =>
      seen.push(change.kind === 'deleted' ? `deleted ${change.id}` : `${change.kind} ${change.record.id}${change.record.name ?? ''}`),
    {
      onReset: (reason) => seen.push(`reset ${reason}`),
      onEnd: (end) => seen.push(`end ${end.code}`),
      ...more,
    },
  )
  return { seen, stop }
}

test('changes, in parts of any size', async () => {
  const server = await serveStreams(() => '')
  const { seen, stop } = listen(client(server).db.products, { status: 'open' })
  await until(() => server.streams.length, 'the stream')
  const all =
    hello('1') +
    event('created', { entity: 'products', id: 1, record: { id: 1, name: 'ä€😀' } }, '2') +
    'id: 3\n:\n\n' +
    event('updated', { entity: 'products', id: 1, record: { id: 1 } }, '4') +
    event('deleted', { entity: 'products', id: 1 }, '5')
  const bytes = Buffer.from(all)
  for (let at = 0; at < bytes.length; at += 3) {
    server.streams[0].write(bytes.subarray(at, at + 3))
    await wait(1)
  }
  await until(() => seen.length === 4, 'all changes')
  assert.deepEqual(seen, ['reset started', 'created 1ä€😀', 'updated 1', 'deleted 1'])
  const { query, headers } = server.requests[0]
  assert.deepEqual(
    [query, headers['x-api-key'], headers['last-event-id']],
    [{ entities: 'products', 'filter[status]': 'open' }, 'ak_1', undefined],
  )
  stop()
  await until(() => server.streams[0].destroyed || server.streams[0].closed, 'the stream is closed')
  await wait(20)
  assert.equal(server.requests.length, 1)
})

test('the stream continues after the last event, with growing waits', async () => {
  const server = await serveStreams((n) =>
    n === 1
      ? hello('1') + event('created', { entity: 'products', id: 7, record: { id: 7 } }, '2') + 'id: 9\n:\n\n'
      : event('updated', { entity: 'products', id: 7, record: { id: 7 } }, '10') + hello('11'),
  )
  const { seen, stop } = listen(client(server).db.products)
  await until(() => seen.length === 2, 'the first change')
  server.streams[0].destroy()
  await until(() => seen.length === 3, 'the change after the interruption')
  assert.deepEqual(seen, ['reset started', 'created 7', 'updated 7'])
  assert.equal(server.requests[1].headers['last-event-id'], '9')
  assert.ok(server.requests[1].at - server.requests[0].at >= 450)
  stop()
})

test('a busy service is called again, and keeps its listeners', async () => {
  const server = await serve((_, n) =>
    n === 1
      ? problem(503, 'too_many_requests_in_flight', {}, { 'retry-after': '1' })
      : n === 2
        ? undefined
        : { headers: { 'content-type': 'text/event-stream' }, body: (response) => response.write(hello('1')) },
  )
  const { seen, stop } = listen(client(server).db.products)
  await until(() => seen.length, 'the stream')
  assert.deepEqual(seen, ['reset started'])
  assert.ok(server.requests[1].at - server.requests[0].at >= 990)
  stop()
})

test('listeners of the same time and filter share a stream', async () => {
  const server = await serveStreams()
  const { db } = client(server)
  const [a, b, c, d] = [listen(db.products), listen(db.authors), listen(db.products), listen(db.products, { status: 'open' })]
  await until(() => server.streams.length === 2 && [a, b, c, d].every((each) => each.seen.length), 'both streams')
  assert.deepEqual(
    server.requests.map((each) => each.query).sort((x, y) => Object.keys(x).length - Object.keys(y).length),
    [{ entities: 'products,authors' }, { entities: 'products', 'filter[status]': 'open' }],
  )
  const shared = server.streams[server.requests.findIndex((each) => each.query.entities === 'products,authors')]
  shared.write(
    event('created', { entity: 'products', id: 1, record: { id: 1 } }, '2') +
      event('reset', { entity: 'authors', reason: 'model' }, '3') +
      event('reset', { entity: null, reason: 'rights' }, '4'),
  )
  await until(() => b.seen.length === 3, 'all events')
  assert.deepEqual(
    [a.seen, b.seen, c.seen, d.seen],
    [
      ['reset started', 'created 1', 'reset rights'],
      ['reset started', 'reset model', 'reset rights'],
      ['reset started', 'created 1', 'reset rights'],
      ['reset started'],
    ],
  )
  const late = listen(db.authors)
  await until(() => late.seen.length, 'the late listener')
  assert.deepEqual([late.seen, server.requests.length], [['reset started'], 2])
  const other = listen(db.tags) // the open stream keeps its entities
  await until(() => other.seen.length, 'a third stream')
  assert.equal(server.requests[2].query.entities, 'tags')
  for (const each of [a, b, c]) each.stop()
  await wait(20)
  assert.ok(!shared.destroyed)
  late.stop()
  await until(() => shared.destroyed, 'the shared stream is closed')
  d.stop()
  other.stop()
})

test('refusals end the listeners', async () => {
  const server = await serveStreams()
  const { db } = client(server)
  const [a, b] = [listen(db.products), listen(db.authors)]
  await until(() => a.seen.length && b.seen.length, 'the stream')
  server.streams[0].write(event('closed', { entity: 'products', code: 'forbidden' }))
  await until(() => a.seen.length === 2, 'closed')
  server.streams[0].write(event('end', { code: 'unauthorized' }))
  await until(() => b.seen.length === 2, 'end')
  assert.deepEqual(
    [a.seen, b.seen],
    [
      ['reset started', 'end forbidden'],
      ['reset started', 'end unauthorized'],
    ],
  )
  const refused = await serve(() => problem(403, 'forbidden'))
  const { seen } = listen(client(refused).db.products)
  await until(() => seen.length, 'the refusal')
  await wait(20)
  assert.deepEqual([seen, refused.requests.length], [['end forbidden'], 1])
  await wait(600)
  assert.equal(server.requests.length, 1)
})

test('the end of a token is not the end of the stream', async () => {
  const stream = (text) => ({ headers: { 'content-type': 'text/event-stream' }, body: (response) => response.end(text) })
  const answers = [
    stream(hello('1') + event('end', { code: 'token_expired' })),
    problem(401, 'token_expired'),
    tokens(),
    stream(hello('2') + event('deleted', { entity: 'products', id: 3 }, '3')),
  ]
  const server = await serve((_, n) => answers[n - 1] ?? stream(hello('4')))
  const store = keep(session(3600))
  const { seen, stop } = listen(client(server, { apiKey: undefined, session: store }).db.products)
  await until(() => seen.length === 2, 'a change after the refresh')
  stop()
  assert.deepEqual(seen, ['reset started', 'deleted 3'])
  assert.deepEqual(
    server
      .paths()
      .slice(0, 4)
      .map((each) => each.split('/').at(-1)),
    ['realtime', 'realtime', 'refresh', 'realtime'],
  )
  assert.equal(server.requests[3].headers.authorization, `Bearer ${store.stored.access_token}`)
  assert.equal(server.requests[3].headers['last-event-id'], '1')
})

test('a sign-out ends all streams', async () => {
  const server = await serve((request) =>
    request.path.endsWith('/logout')
      ? { status: 204 }
      : { headers: { 'content-type': 'text/event-stream' }, body: (response) => response.write(hello('1')) },
  )
  const gw = client(server, { apiKey: undefined, session: keep(session(3600)) })
  const { seen } = listen(gw.db.products)
  await until(() => seen.length, 'the stream')
  await gw.auth.signOut()
  assert.deepEqual(seen, ['reset started', 'end unauthorized'])
})

test('a signal, and a stop before the stream begins', async () => {
  const server = await serveStreams()
  const { db } = client(server)
  const controller = new AbortController()
  const { seen } = listen(db.products, {}, { signal: controller.signal })
  await until(() => seen.length, 'the stream')
  controller.abort()
  await until(() => server.streams[0].destroyed, 'the stream is closed')
  listen(db.products, {}, { signal: controller.signal })
  listen(db.products).stop()
  await wait(30)
  assert.deepEqual([seen, server.requests.length], [['reset started'], 1])
})

test('a filter without a value is refused at once', async () => {
  assert.throws(() => client({ url: 'http://127.0.0.1:1' }).db.products.live({ status: undefined }, () => {}), TypeError)
})

test('an error of a listener stops nothing, and a silent stream is replaced', async (t) => {
  const thrown = []
  const { setTimeout: start } = globalThis
  t.mock.method(globalThis, 'setTimeout', (run, ms, ...rest) => {
    if (ms === undefined && !String(run).includes('follow')) return thrown.push(run)
    return start(run, ms === 45_000 ? 1000 : ms, ...rest)
  })
  const server = await serveStreams((n) => hello(`${n}`) + event('deleted', { entity: 'products', id: n }, `${n}0`))
  const stop = client(server).db.products.live({}, () => {
    throw new Error('of the application')
  })
  await until(() => thrown.length === 2, 'two streams')
  stop()
  assert.equal(server.requests[1].headers['last-event-id'], '10')
})
