// Queries, answers, problems, retries, limits of time, and the check of the model's version.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createClient, etagOf, page, Problem, problem, serve, session, tokens, until, wait } from './support.mjs'

const client = (server, options = {}) => createClient(server.url, { warnWhenOutdated: false, ...options })

describe('queries', { concurrency: true }, async () => {
  const server = await serve(() => page([]))
  const gw = client(server)
  const cases = [
    [
      { price: 1, name: 'a b&c' },
      { 'filter[price]': '1', 'filter[name]': 'a b&c' },
    ],
    [{ price: { gte: 10, lt: 100 } }, { 'filter[price][gte]': '10', 'filter[price][lt]': '100' }],
    [
      { in_stock: false, name: '' },
      { 'filter[in_stock]': 'false', 'filter[name]': '' },
    ],
    [
      { author: { country: 'BO', best: { name: { starts_with: 'x' } } } },
      { 'filter[author.country]': 'BO', 'filter[author.best.name][starts_with]': 'x' },
    ],
    [
      { author: { ne: 3, country: 'BO' }, tags: { in: [1, 2] } },
      { 'filter[author][ne]': '3', 'filter[author.country]': 'BO', 'filter[tags][in]': '1,2' },
    ],
    [
      { or: [{ status: 'open' }, { and: [{ price: { null: true } }, { count: 2 }] }] },
      { 'filter[or][0][status]': 'open', 'filter[or][1][and][0][price][null]': 'true', 'filter[or][1][and][1][count]': '2' },
    ],
    [{ name: { in: ['a', 'b,c', 'd"e', ' f ', ''] } }, { 'filter[name][in]': 'a,"b,c","d""e"," f ",""' }],
    [{ total: { between: ['0.10', 2] } }, { 'filter[total][between]': '0.10,2' }],
  ]
  for (const [filter, query] of cases)
    test(JSON.stringify(filter), async () => {
      const before = server.requests.length
      await gw.db.products.list({ filter })
      assert.deepEqual(
        server.requests
          .slice(before)
          .map((each) => each.query)
          .find((each) => Object.keys(each)[0] === Object.keys(query)[0]),
        query,
      )
    })
  for (const filter of [
    { price: undefined },
    { price: null },
    { price: { gte: undefined } },
    { id: { in: [] } },
    { or: [] },
    { or: [{}] },
    { author: {} },
  ])
    test(`a filter that would lose a condition: ${JSON.stringify(filter)}`, async () => {
      await assert.rejects(gw.db.products.list({ filter }), TypeError)
    })
})

test('the parameters of a list', async () => {
  const server = await serve(() => page([{ id: 1 }]))
  const found = await client(server).db.products.list({
    sort: ['-created_at', 'author.name'],
    fields: ['name', 'id'],
    expand: ['author', 'tags'],
    limit: 5,
    page: 2,
    count: false,
    signal: undefined,
  })
  assert.deepEqual(found.items, [{ id: 1 }])
  assert.deepEqual(server.requests[0].query, {
    sort: '-created_at,author.name',
    fields: 'name,id',
    expand: 'author,tags',
    limit: '5',
    page: '2',
    count: 'false',
  })
  assert.equal(server.requests[0].path, '/org/shop/entities/products/items')
})

test('all reads page after page by cursor', async () => {
  const server = await serve((request) =>
    page([{ id: server.requests.length }], { next_cursor: { start: 'b', b: 'c', c: null }[request.query.cursor] }),
  )
  const ids = []
  for await (const each of client(server).db.products.all({ filter: { count: 1 } })) ids.push(each.id)
  assert.deepEqual(ids, [1, 2, 3])
  assert.deepEqual(
    server.requests.map((each) => [each.query.cursor, each.query.limit, each.query['filter[count]']]),
    [
      ['start', '200', '1'],
      ['b', '200', '1'],
      ['c', '200', '1'],
    ],
  )
})

test('aggregates always count', async () => {
  const server = await serve(() => ({ body: { items: [{ count: 3, sum: { price: 2 } }], has_next_page: false } }))
  assert.equal((await client(server).db.products.aggregate({ sum: ['price'], group_by: ['status'] })).items[0].count, 3)
  assert.deepEqual(server.requests[0].query, { count: '*', sum: 'price', group_by: 'status' })
})

test('conditional writes, and locks', async () => {
  const server = await serve((request) =>
    request.method === 'DELETE'
      ? { status: 204 }
      : { body: { id: 1, name: 'a' }, headers: { etag: request.method === 'GET' ? 'W/"3-1f"' : '"4-2a"' } },
  )
  const { products } = client(server).db
  const record = await products.get(1)
  assert.equal(etagOf(record), '"3-1f"')
  assert.deepEqual(Object.keys(record), ['id', 'name'])
  const changed = await products.update(1, { name: 'b' }, { ifMatch: record, lock: 'token' })
  await products.delete(1, { ifMatch: changed })
  await products.update(1, {}, { ifMatch: '"x"' })
  assert.deepEqual(
    server.requests.map((each) => [each.method, each.headers['if-match'], each.headers['x-lock-token']]),
    [
      ['GET', undefined, undefined],
      ['PUT', '"3-1f"', 'token'],
      ['DELETE', '"4-2a"', undefined],
      ['PUT', '"x"', undefined],
    ],
  )
  assert.equal(etagOf({ ...record }), undefined)
  await assert.rejects(products.update(1, {}, { ifMatch: { id: 1 } }), TypeError)
  await assert.rejects(products.delete(1, { ifMatch: { id: 1 } }), TypeError)
})

test('a problem', async () => {
  const errors = [{ field: 'sku', code: 'required', message: 'is required' }]
  const server = await serve(() => problem(400, 'validation_failed', { request_id: 'r1', errors }))
  const e = await client(server)
    .db.products.create({})
    .catch((thrown) => thrown)
  assert.ok(Problem.is(e) && Problem.is(e, 'locked', 'validation_failed') && !Problem.is(e, 'locked') && e instanceof Error)
  assert.deepEqual(
    [e.status, e.code, e.message, e.requestId, e.retryAfter, e.field('sku'), e.field('name'), e.name],
    [400, 'validation_failed', 'about validation_failed', 'r1', undefined, 'is required', undefined, 'Problem'],
  )
  assert.ok(!Problem.is(new Error('x')) && !Problem.is(null))
})

test('a problem of a proxy', async () => {
  const server = await serve(() => ({ status: 502, body: '<h1>Bad gateway</h1>', headers: { 'x-request-id': 'p1' } }))
  const e = await client(server)
    .db.products.get(1)
    .catch((thrown) => thrown)
  assert.deepEqual([e.status, e.code, e.requestId, e.errors], [502, 'http_502', 'p1', []])
})

test('any call', async () => {
  const answers = [{ body: { a: 1 } }, { status: 204 }, { status: 202 }, { body: 'id,name\n', headers: { 'content-type': 'text/csv' } }]
  const server = await serve((_, n) => answers[n - 1])
  const gw = client(server, { apiKey: 'ak_1', onRequest: (request) => request.headers.set('x-group-id', '7') })
  assert.deepEqual(
    await gw.request('post', '/a', { query: { b: [1, 2], filter: { c: { gt: 1 } } }, body: [1], headers: { 'x-lock-token': 't' } }),
    { a: 1 },
  )
  assert.equal(await gw.request('PUT', '/b', { body: {} }), undefined)
  assert.equal(await gw.request('POST', '/c'), undefined)
  assert.equal(await (await gw.request('GET', '/d')).text(), 'id,name\n')
  const [first] = server.requests
  assert.deepEqual(
    [
      first.method,
      first.query,
      first.body,
      first.headers['x-api-key'],
      first.headers['x-group-id'],
      first.headers['x-lock-token'],
      first.headers.authorization,
    ],
    ['POST', { b: '1,2', 'filter[c][gt]': '1' }, [1], 'ak_1', '7', 't', undefined],
  )
})

describe('retries', { concurrency: true }, () => {
  const busy = (_, n) => (n < 3 ? problem(503, 'dependency_unavailable') : { body: { id: 1 } })
  const cut = (_, n) => (n < 3 ? undefined : { body: { id: 1 } })
  const count = async (answer, run, options) => {
    const server = await serve(answer)
    const e = await run(client(server, options)).catch((thrown) => thrown)
    return [server.requests.length, Problem.is(e) ? e.code : 'done', server]
  }
  const cases = [
    ['GET, busy', busy, (gw) => gw.db.products.get(1), 3, 'done'],
    ['GET, cut off', cut, (gw) => gw.db.products.get(1), 3, 'done'],
    [
      'GET, rate',
      (_, n) => (n < 2 ? problem(429, 'rate_limited', {}, { 'retry-after': '0' }) : page([])),
      (gw) => gw.db.products.list(),
      2,
      'done',
    ],
    ['GET, still busy', () => problem(503, 'dependency_unavailable'), (gw) => gw.db.products.get(1), 3, 'dependency_unavailable'],
    ['GET, fault', () => problem(500, 'internal'), (gw) => gw.db.products.get(1), 1, 'internal'],
    ['GET without retries', busy, (gw) => gw.db.products.get(1), 1, 'dependency_unavailable', { retries: 0 }],
    ['GET without a limit of time', busy, (gw) => gw.db.products.get(1), 3, 'done', { timeoutMs: 0 }],
    ['PUT', busy, (gw) => gw.db.products.update(1, {}), 3, 'done'],
    ['PUT with If-Match', busy, (gw) => gw.db.products.update(1, {}, { ifMatch: '"1-a"' }), 1, 'dependency_unavailable'],
    ['any PUT with if-match', busy, (gw) => gw.request('PUT', '/x', { headers: { 'IF-MATCH': '"1-a"' } }), 1, 'dependency_unavailable'],
    ['DELETE with If-Match', cut, (gw) => gw.db.products.delete(1, { ifMatch: '"1-a"' }), 1, 'network'],
    [
      'DELETE whose answer was lost',
      (_, n) => (n < 2 ? undefined : problem(404, 'not_found')),
      (gw) => gw.db.products.delete(1),
      2,
      'done',
    ],
    ['DELETE of nothing', () => problem(404, 'not_found'), (gw) => gw.db.products.delete(1), 1, 'not_found'],
    ['POST', busy, (gw) => gw.db.products.create({}), 1, 'dependency_unavailable'],
    ['POST, cut off', cut, (gw) => gw.workflows.trigger(1), 1, 'network'],
    ['POST with a key', cut, (gw) => gw.request('POST', '/x', { idempotencyKey: 'k' }), 3, 'done'],
    ['PATCH', cut, (gw) => gw.request('PATCH', '/x'), 1, 'network'],
  ]
  for (const [name, answer, run, calls, end, options] of cases)
    test(name, async () => assert.deepEqual((await count(answer, run, options)).slice(0, 2), [calls, end]))

  test('money is sent with one key', async () => {
    const answers = [
      undefined,
      problem(409, 'idempotency_in_progress'),
      { status: 201, body: { id: 1, client_secret: 's' } },
      { status: 201, body: { id: 2, client_secret: 's' } },
    ]
    const server = await serve((_, n) => (n > 4 ? { body: {} } : answers[n - 1]))
    const gw = client(server)
    assert.equal((await gw.payments.create({ amount: 1.5, currency: 'usd' })).id, 1)
    assert.deepEqual(server.requests[0].body, { type: 'one_off', mode: 'intent', amount: 1.5, currency: 'usd' })
    await gw.payments.create({ amount: 1.5, currency: 'usd' })
    await gw.payments.create({ amount: 1.5, currency: 'usd' }, { idempotencyKey: 'mine' })
    const [a, b, c, d, e] = server.requests.map((each) => each.headers['idempotency-key'])
    assert.ok(a.length >= 43 && a === b && b === c && c !== d && e === 'mine')
  })
  for (const [path, has] of [
    ['payments/1/refund', true],
    ['payments/charge-payment-method', true],
    ['subscriptions', true],
    ['balances/3/adjust', true],
    ['offers/me/redeem', true],
    ['subscriptions/1/cancel', false],
    ['offers', false],
  ])
    test(`a key for ${path}: ${has}`, async () => {
      const [, , server] = await count(
        () => ({ body: {} }),
        (gw) => gw.request('POST', `/integrations/svcpay/${path}`, { body: {} }),
      )
      assert.equal('idempotency-key' in server.requests[0].headers, has)
    })

  test('Retry-After is obeyed', async () => {
    const [calls, , server] = await count(
      (_, n) => (n < 2 ? problem(503, 'x', {}, { 'retry-after': '1' }) : { body: {} }),
      (gw) => gw.db.products.get(1),
    )
    assert.equal(calls, 2)
    assert.ok(server.requests[1].at - server.requests[0].at >= 990)
  })
  test('a long Retry-After is left to the caller', async () => {
    const server = await serve(() => problem(429, 'rate_limited', {}, { 'retry-after': '60' }))
    const e = await client(server)
      .db.products.get(1)
      .catch((thrown) => thrown)
    assert.deepEqual([e.code, e.retryAfter, server.requests.length], ['rate_limited', 60, 1])
  })
})

describe('limits of time', { concurrency: true }, () => {
  const never = () => new Promise(() => {})
  test('timeoutMs', async () => {
    const server = await serve(never)
    const e = await client(server, { timeoutMs: 50 })
      .db.products.get(1)
      .catch((thrown) => thrown)
    assert.deepEqual([e.code, e.status], ['timeout', 0])
    await wait(600)
    assert.ok(server.requests.length <= 1)
  })
  test('timeoutMs covers the body', async () => {
    const server = await serve(() => ({
      headers: { 'content-type': 'application/json' },
      body: (response) => void response.write('{"id":'),
    }))
    assert.equal(
      (
        await client(server, { timeoutMs: 100 })
          .db.products.get(1)
          .catch((thrown) => thrown)
      ).code,
      'timeout',
    )
  })
  test('timeoutMs of a call covers read', async () => {
    const server = await serve(() => page([]))
    const gw = client(server)
    assert.equal(await gw.request('GET', '/x', { read: async (answer) => `${answer.status} ${(await answer.text()).length > 0}` }), '200 true')
    const late = gw.request('GET', '/x', { timeoutMs: 50, read: (answer) => new Promise((_, reject) => setTimeout(reject, 200, new Error('late'))) })
    assert.equal((await late.catch((thrown) => thrown)).code, 'timeout')
  })
  test('a signal', async () => {
    const server = await serve(never)
    const controller = new AbortController()
    until(() => server.requests.length === 1, 'the call').then(() => controller.abort(new Error('left')))
    await assert.rejects(client(server).db.products.list({ signal: controller.signal }), /left/)
    await assert.rejects(client(server).db.products.list({ signal: controller.signal }), /left/)
    assert.equal(server.requests.length, 1)
  })
  test('a signal between attempts', async () => {
    const server = await serve(() => problem(503, 'x', {}, { 'retry-after': '20' }))
    const controller = new AbortController()
    until(() => server.requests.length === 1, 'the first attempt').then(() => controller.abort(new Error('left')))
    await assert.rejects(client(server).db.products.get(1, { signal: controller.signal }), /left/)
    assert.equal(server.requests.length, 1)
  })
  test('waits end with the job, and by a signal', async () => {
    const server = await serve((_, n) => ({ body: { id: 9, status: n < 3 ? 'running' : 'failed', done: n, steps: [] } }))
    assert.equal((await client(server).workflows.wait(9)).status, 'failed')
    assert.deepEqual(server.paths(), Array(3).fill('GET /workflows/jobs/9'))
    const tasks = await serve((_, n) => ({ body: { id: 4, status: n < 2 ? 'queued' : 'partial', done: n } }))
    const seen = []
    assert.equal((await client(tasks).task(4, (task) => seen.push(task.done))).status, 'partial')
    assert.deepEqual(seen, [1, 2])
    const queued = await serve(() => ({ body: { status: 'queued' } }))
    await assert.rejects(client(queued).workflows.wait(1, { signal: AbortSignal.timeout(80) }), { name: 'TimeoutError' })
  })
})

describe('the version of the model', () => {
  // Waits for `heads` checks and `warned` warnings, and then for a further one.
  const warnings = async (etag, run, options, { heads = 1, warned = 0 } = {}) => {
    const shown = []
    const { warn } = console
    console.warn = (text) => shown.push(text)
    const server = await serve((request) =>
      request.path.endsWith('/docs/client.ts') ? etag : request.path.includes('/auth/') ? tokens() : page([]),
    )
    const checks = () => server.paths().filter((each) => each.startsWith('HEAD'))
    await run(createClient(server.url, { warnWhenOutdated: true, ...options }))
    await until(() => checks().length >= heads && shown.length >= warned, 'the check of the version')
    await wait(60)
    console.warn = warn
    return [shown, checks()]
  }
  const twice = async (gw) => {
    await gw.db.products.list()
    await gw.db.products.list()
  }
  const key = { apiKey: 'ak_1' }
  const byHost = { ...key, warnWhenOutdated: undefined }
  test('another version: one warning', async () => {
    const [shown, heads] = await warnings({ headers: { etag: '"18-abc"' } }, twice, key, { warned: 1 })
    assert.equal(shown.length, 1)
    assert.match(shown[0], /version 17 .* version 18.*scripts\/client/s)
    assert.deepEqual(heads, ['HEAD /docs/client.ts'])
  })
  test('the same version', async () => assert.deepEqual((await warnings({ headers: { etag: 'W/"17-abc"' } }, twice, key))[0], []))
  test('a refusal', async () => assert.deepEqual(await warnings(problem(403, 'forbidden'), twice, key), [[], ['HEAD /docs/client.ts']]))
  test('only with credentials', async () => {
    const [, heads] = await warnings({ headers: { etag: '"18-abc"' } }, (gw) => gw.auth.signIn({ email: 'a', password: 'b' }), {}, { heads: 0 })
    assert.deepEqual(heads, [])
    const [shown] = await warnings({ headers: { etag: '"18-abc"' } }, twice, { session: { get: () => session(3600), set() {} } }, { warned: 1 })
    assert.equal(shown.length, 1)
  })
  test('in development only', async () => {
    const { NODE_ENV } = process.env
    for (const [environment, count] of [
      ['production', 0],
      ['test', 1],
    ]) {
      process.env.NODE_ENV = environment
      const [shown] = await warnings({ headers: { etag: '"18-abc"' } }, twice, byHost, { heads: count, warned: count })
      assert.equal(shown.length, count, environment)
    }
    globalThis.location = { hostname: 'app.example.com' }
    assert.deepEqual((await warnings({ headers: { etag: '"18-abc"' } }, twice, byHost, { heads: 0 }))[0], [])
    globalThis.location = { hostname: 'localhost' }
    assert.equal((await warnings({ headers: { etag: '"18-abc"' } }, twice, byHost, { warned: 1 }))[0].length, 1)
    delete globalThis.location
    if (NODE_ENV === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = NODE_ENV
  })
})
