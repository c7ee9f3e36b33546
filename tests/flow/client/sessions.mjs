// Sign-in, refresh (one at a time, in one tab and in several), and the identity provider.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { createClient, keep, page, problem, serve, session, tokens, until, wait } from './support.mjs'

const client = (server, options = {}) => createClient(server.url, { warnWhenOutdated: false, ...options })
/** Answers refreshes by `refreshed`, and lists only for the newest token. */
const service = (refreshed, valid = () => true) =>
  serve((request) => {
    if (request.path.endsWith('/auth/v1/refresh')) return refreshed(request)
    return valid(request.headers.authorization) ? page([]) : problem(401, 'token_expired')
  })
const refreshes = (server) => server.requests.filter((each) => each.path.endsWith('/refresh'))
const watch = (gw) => {
  const seen = []
  gw.auth.onChange((next, why) => seen.push([why, next?.user.email ?? null]))
  return seen
}

test('sign in, call, sign out', async () => {
  const server = await serve((request) =>
    request.path.endsWith('/token') ? tokens() : request.path.endsWith('/logout') ? { status: 204 } : page([]),
  )
  const gw = client(server)
  const seen = watch(gw)
  assert.equal(gw.auth.user, null)
  await gw.db.products.list()
  const made = await gw.auth.signIn({ email: 'a', password: 'b' })
  assert.ok(Math.abs(made.expires_at - Date.now() / 1000 - 3600) < 5)
  assert.equal(gw.auth.user.email, 'user1@example.com')
  await gw.db.products.list()
  await gw.auth.signOut('others')
  assert.ok(gw.auth.user)
  await gw.auth.signOut()
  assert.equal(gw.auth.user, null)
  const [, token, , others, local] = server.requests
  assert.deepEqual([token.body, token.headers.authorization], [{ email: 'a', password: 'b' }, undefined])
  assert.deepEqual(
    server.requests.map((each) => each.headers.authorization),
    [undefined, undefined, ...Array(3).fill(`Bearer ${made.access_token}`)],
  )
  assert.deepEqual([others.query, local.query], [{ scope: 'others' }, { scope: 'local' }])
  assert.deepEqual(seen, [
    ['in', 'user1@example.com'],
    ['out', null],
  ])
})

test('a sign-out without the service is a sign-out here', async () => {
  const server = await serve(() => undefined)
  const store = keep(session(3600))
  const gw = client(server, { session: store })
  await assert.rejects(gw.auth.signOut(), { code: 'network' })
  assert.deepEqual([gw.auth.user, store.stored], [null, null])
})

test('a wrong password is no reason to refresh', async () => {
  const server = await serve(() => problem(401, 'invalid_credentials'))
  await assert.rejects(client(server, { session: keep(session(3600)) }).auth.signIn({ email: 'a', password: 'b' }), {
    code: 'invalid_credentials',
  })
  assert.equal(server.requests.length, 1)
})

test('one refresh for all calls, shortly before the end', async () => {
  const server = await service(() => tokens())
  const store = keep(session(10))
  const gw = client(server, { session: store })
  const seen = watch(gw)
  const { refresh_token } = store.stored
  await Promise.all([1, 2, 3, 4, 5].map(() => gw.db.products.list()))
  assert.deepEqual(
    refreshes(server).map((each) => [each.body, each.headers.authorization]),
    [[{ refresh_token }, undefined]],
  )
  assert.ok(server.requests.slice(1).every((each) => each.headers.authorization === `Bearer ${store.stored.access_token}`))
  assert.deepEqual(seen, [['refreshed', 'user1@example.com']])
})

test('an expired token: one refresh, and each call again, a POST too', async () => {
  let now = ''
  const server = await service(
    () => {
      const next = tokens()
      now = `Bearer ${next.body.access_token}`
      return next
    },
    (token) => token === now,
  )
  const gw = client(server, { session: keep(session(3600)) })
  await Promise.all([gw.db.products.create({}), gw.db.products.list(), gw.db.products.update(1, {}, { ifMatch: '"1-a"' })])
  assert.equal(refreshes(server).length, 1)
  assert.equal(server.requests.filter((each) => each.headers.authorization === now).length, 3)
})

test('a token that stays invalid: one refresh for the call', async () => {
  const server = await service(
    () => tokens(),
    () => false,
  )
  await assert.rejects(client(server, { session: keep(session(3600)) }).db.products.list(), { code: 'token_expired' })
  assert.deepEqual(
    server.paths().map((each) => each.split('/').at(-1)),
    ['items', 'refresh', 'items'],
  )
})

test('a refused refresh signs out', async () => {
  for (const [status, code] of [[401, 'session_expired'], [401, 'refresh_token_reused'], [403, 'user_suspended']]) {
    const server = await service(
      () => problem(status, code),
      () => false,
    )
    const store = keep(session(3600))
    const gw = client(server, { session: store })
    const seen = watch(gw)
    const ends = await Promise.allSettled([gw.db.products.list(), gw.db.products.list()])
    assert.deepEqual(
      ends.map((each) => each.reason.code),
      [code, code],
    )
    assert.deepEqual([gw.auth.user, store.stored, seen, refreshes(server).length], [null, null, [['out', null]], 1])
  }
})

test('a session that is newer in the store, but has expired too', async () => {
  const server = await service(() => tokens())
  const store = keep(session(-5))
  const gw = client(server, { session: store })
  const newer = (store.stored = { ...session(-5), refresh_token: 'newer' })
  await gw.db.products.list()
  assert.deepEqual(
    refreshes(server).map((each) => each.body.refresh_token),
    [newer.refresh_token],
  )
})

test('a refresh without an answer does not', async () => {
  const server = await service(() => undefined)
  const early = client(server, { session: keep(session(10)) })
  await early.db.products.list() // with the old token, which is valid for ten seconds more
  const late = client(server, { session: keep(session(-5)) })
  const seen = watch(late)
  await assert.rejects(late.db.products.list(), { code: 'network' })
  assert.ok(late.auth.user)
  assert.deepEqual(seen, [])
  assert.equal(refreshes(server).length, 2)
})

test('a sign-out during a refresh is final', async () => {
  let gw
  let signingOut
  const server = await serve((request) => {
    if (!request.path.endsWith('/refresh')) return { status: 204 }
    signingOut = gw.auth.signOut()
    return tokens()
  })
  const store = keep(session(-5))
  gw = client(server, { session: store })
  await gw.db.products.list()
  await signingOut
  assert.deepEqual([gw.auth.user, store.stored, refreshes(server).length], [null, null, 1])
})

test('a sign-in during a refresh is final', async () => {
  for (const refreshed of [tokens(3600, 1), problem(401, 'session_expired')]) {
    let gw
    const server = await serve(async (request) => {
      if (request.path.endsWith('/token')) return tokens(3600, 2)
      if (!request.path.endsWith('/refresh')) return page([])
      await gw.auth.signIn({ email: 'b', password: 'b' })
      return refreshed
    })
    const store = keep(session(-5))
    gw = client(server, { session: store })
    await gw.db.products.list().catch((e) => assert.equal(e.status, 401))
    assert.deepEqual([gw.auth.user.id, store.stored.user.id], [2, 2])
  }
})

test('a store that answers later', async () => {
  const server = await service(() => tokens())
  const stored = session(3600)
  const gw = client(server, { session: { get: async () => stored, set: async () => {} } })
  assert.equal(gw.auth.user, null)
  await gw.db.products.list()
  assert.equal(server.requests[0].headers.authorization, `Bearer ${stored.access_token}`)
  const other = client(server, { session: { get: async () => stored, set: async () => {} } })
  await other.auth.ready
  assert.equal(other.auth.user.id, 1)
  const signing = await serve(() => tokens(3600, 2))
  const slow = client(signing, { session: { get: () => wait(200).then(() => stored), set: async () => {} } })
  await slow.auth.signIn({ email: 'a', password: 'b' })
  await wait(300)
  assert.equal(slow.auth.user.id, 2)
})

test('an API key in place of a session', async () => {
  const server = await service(() => tokens())
  await client(server, { apiKey: 'ak_1', session: keep(session(5)) }).db.products.list()
  assert.deepEqual([server.requests[0].headers['x-api-key'], server.requests[0].headers.authorization], ['ak_1', undefined])
})

test('tabs', async (t) => {
  // The parts of a browser that several tabs share.
  const stored = new Map()
  const channels = new Set()
  let lock = Promise.resolve()
  let held = 0
  const browser = {
    location: { href: 'http://localhost/', hostname: 'localhost' },
    localStorage: {
      getItem: (name) => stored.get(name) ?? null,
      setItem: (name, value) => stored.set(name, value),
      removeItem: (name) => stored.delete(name),
    },
    navigator: {
      locks: {
        request: (_, run) =>
          (lock = lock
            .catch(() => {})
            .then(async () => {
              assert.equal(++held, 1)
              return run().finally(() => held--)
            })),
      },
    },
    BroadcastChannel: class {
      constructor(name) {
        this.name = name
        channels.add(this)
      }
      postMessage(message) {
        for (const each of channels) if (each !== this && each.name === this.name) setTimeout(() => each.onmessage({ data: message }))
      }
    },
  }
  for (const [name, value] of Object.entries(browser))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
  const server = await service(() => tokens())
  const open = () => client(server, { session: 'local' })
  const name = `groundwork:${server.url}`

  await t.test('one refresh over all tabs', async () => {
    stored.set(name, JSON.stringify(session(5)))
    const tabs = [open(), open(), open()]
    const seen = tabs.map(watch)
    assert.ok(tabs.every((each) => each.auth.user.id === 1))
    await Promise.all(tabs.flatMap((each) => [each.db.products.list(), each.db.products.list()]))
    assert.equal(refreshes(server).length, 1)
    await until(() => seen.every((each) => each.length === 1), 'all tabs know the new session')
    assert.deepEqual(seen[2], [['refreshed', 'user1@example.com']])
    const { access_token } = JSON.parse(stored.get(name))
    await tabs[1].db.products.list()
    assert.equal(server.requests.at(-1).headers.authorization, `Bearer ${access_token}`)
  })

  await t.test('the other tabs follow a sign-out and a sign-in', async () => {
    const signing = await serve((request) => (request.path.endsWith('/token') ? tokens(3600, 2) : { status: 204 }))
    const [a, b] = [1, 2].map(() => client(signing, { session: 'local' }))
    const seen = watch(b)
    await a.auth.signIn({ email: 'x', password: 'y' })
    await until(() => b.auth.user?.id === 2, 'b is signed in')
    await b.auth.signOut()
    await until(() => !a.auth.user, 'a is signed out')
    assert.deepEqual(seen, [
      ['in', 'user2@example.com'],
      ['out', null],
    ])
    assert.equal(stored.has(`groundwork:${signing.url}`), false)
  })

  await t.test('a store that is blocked or broken', async () => {
    stored.set(name, '{')
    assert.equal(open().auth.user, null)
    Object.defineProperty(globalThis, 'localStorage', {
      get() {
        throw new Error('blocked')
      },
      configurable: true,
    })
    const signing = await serve(() => tokens())
    const gw = client(signing, { session: 'local' })
    await gw.auth.signIn({ email: 'x', password: 'y' })
    assert.equal(gw.auth.user.id, 1)
  })

  await t.test('memory is not shared', async () => {
    const before = channels.size
    client(server)
    assert.equal(channels.size, before)
  })
  for (const each of Object.keys(browser)) if (each !== 'BroadcastChannel') delete globalThis[each]
})

test('the identity provider', async () => {
  const kept = new Map()
  let left = ''
  let shown = ''
  Object.assign(globalThis, {
    sessionStorage: {
      getItem: (name) => kept.get(name) ?? null,
      setItem: (name, value) => kept.set(name, value),
      removeItem: (name) => kept.delete(name),
    },
    location: {
      href: 'https://app.example/in?x=1',
      hostname: 'app.example',
      assign: (url) => {
        left = url
      },
    },
    history: {
      state: 5,
      replaceState: (state, _, url) => {
        shown = `${state} ${url}`
      },
    },
  })
  const server = await serve((request) => (request.method === 'GET' ? { body: { url: 'https://issuer.example/?state=s1' } } : tokens()))
  const gw = client(server)
  gw.auth.signInWith('google', { redirect_to: 'https://app.example/in', login_hint: 'a@b.c' })
  await until(() => left, 'the page is left')
  const [verifier] = kept.values()
  const { query, headers } = server.requests[0]
  assert.deepEqual(query, {
    redirect_to: 'https://app.example/in',
    login_hint: 'a@b.c',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  })
  assert.ok(headers.accept === 'application/json' && verifier.length === 43 && left === 'https://issuer.example/?state=s1')

  assert.equal(await gw.auth.completeRedirect(), null)
  globalThis.location.href = 'https://app.example/in?x=1&code=c1&state=s1&scope=openid'
  const made = await gw.auth.completeRedirect()
  assert.deepEqual(server.requests[1].body, { code: 'c1', state: 's1', code_verifier: verifier })
  assert.equal(shown, '5 https://app.example/in?x=1')
  assert.equal(gw.auth.user.id, made.user.id)
  assert.equal(await gw.auth.completeRedirect(), null) // the verifier is used up: this tab began no other sign-in
  assert.equal(server.requests.length, 2)

  kept.set(`groundwork:${server.url}`, 'v')
  await gw.auth.completeRedirect('https://app.example/in?error=access_denied&state=s2')
  assert.deepEqual(server.requests[2].body, { error: 'access_denied', state: 's2', code_verifier: 'v' })
  for (const each of ['sessionStorage', 'location', 'history']) delete globalThis[each]
  await assert.rejects(gw.auth.signInWith('google', { redirect_to: 'x' }), TypeError)
})

test('mails', async () => {
  const server = await serve((request) =>
    request.path.endsWith('/verify')
      ? tokens()
      : request.path.endsWith('/confirm')
        ? { body: { status: 'waiting', email: 'a' } }
        : { status: 202 },
  )
  const gw = client(server)
  assert.equal(await gw.auth.magicLink('a@b.c', { redirect_to: 'https://app.example/' }), undefined)
  await gw.auth.recover('a@b.c')
  await gw.auth.verify({ type: 'recovery', token: 't', password: 'p' })
  await gw.auth.changeEmail({ email: 'd@e.f' })
  assert.equal((await gw.auth.confirmEmailChange('t2')).status, 'waiting')
  assert.deepEqual(
    server.requests.map((each) => [each.path.split('/auth/v1/')[1], each.body, !!each.headers.authorization]),
    [
      ['magic-link', { email: 'a@b.c', redirect_to: 'https://app.example/' }, false],
      ['recover', { email: 'a@b.c' }, false],
      ['verify', { type: 'recovery', token: 't', password: 'p' }, false],
      ['email-change', { email: 'd@e.f' }, true],
      ['email-change/confirm', { token: 't2' }, false],
    ],
  )
})

test('an error of a watcher stops nothing', async (t) => {
  const server = await serve(() => tokens())
  const gw = client(server)
  const thrown = []
  const { setTimeout: start } = globalThis
  t.mock.method(globalThis, 'setTimeout', (run, ms, ...rest) => (ms === undefined ? thrown.push(run) : start(run, ms, ...rest)))
  gw.auth.onChange(() => {
    throw new Error('of the application')
  })
  const seen = watch(gw)
  await gw.auth.signIn({ email: 'a', password: 'b' })
  assert.deepEqual([thrown.length, seen.length], [1, 1])
  assert.throws(thrown[0], /of the application/)
})
