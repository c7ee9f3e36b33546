// Uploads in one request and in parts, links and downloads.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient, keep, problem, serve, session, tokens, until, wait } from './support.mjs'

const client = (server, options = {}) => createClient(server.url, { warnWhenOutdated: false, apiKey: 'ak_1', ...options })
const MB = 1 << 20
const pattern = Uint8Array.from({ length: 65_521 }, (_, i) => (i * 7 + (i >> 8)) & 255)
const blob = (bytes) => new Blob(Array(Math.ceil(bytes / pattern.length)).fill(pattern)).slice(0, bytes)

/** A server of the tus protocol. `fault(request, n)` may answer the n-th part in its place. */
async function serveUploads(fault = () => {}) {
  const state = { received: Buffer.alloc(0), length: null, parts: 0, isGone: false }
  const server = await serve((request) => {
    const { method, path, headers } = request
    if (path.endsWith('/files/tus') && method === 'POST') {
      Object.assign(state, { received: Buffer.alloc(0), length: +headers['upload-length'], isGone: false })
      return { status: 201, headers: { location: 'http://elsewhere/org/shop/files/tus/u1' } }
    }
    if (!path.includes('/files/tus/')) return { body: { id: 12, filename: 'a' } }
    if (headers['tus-resumable'] !== '1.0.0') return problem(412, 'precondition_failed')
    if (state.isGone) return problem(404, 'not_found')
    const done = () => (state.received.length === state.length ? 12 : null)
    if (method === 'GET') return { body: { id: 'u1', length: state.length, offset: state.received.length, file_id: done() } }
    if (method === 'DELETE') return { status: 204 }
    if (+headers['upload-offset'] !== state.received.length) return problem(409, 'conflict')
    state.parts += 1
    const given = fault(request, state.parts, state)
    if (given !== undefined) return given || undefined
    state.received = Buffer.concat([state.received, request.bytes])
    return { status: 204, headers: done() ? { 'content-location': '/org/shop/files/12' } : {} }
  })
  return { ...server, state, sent: (method) => server.requests.filter((each) => each.method === method) }
}
const isWhole = async (server, file) => assert.ok(server.state.received.equals(Buffer.from(await file.arrayBuffer())))

test('a small file is one request', async () => {
  const server = await serve(() => ({ status: 201, body: { id: 3, filename: 'note ä.txt', items: [] } }))
  const seen = []
  const up = client(server).files.upload(new Blob(['hello']), {
    filename: 'note ä.txt',
    folder_id: 4,
    is_public: true,
    attach: { entity: 'products', id: 1, field: 'image' },
  })
  up.onProgress((...now) => seen.push(now))
  assert.equal((await up).id, 3)
  await up.then(() => {})
  const [request] = server.requests
  assert.deepEqual(
    [request.method, request.path, request.query],
    ['POST', '/org/shop/files', { folder_id: '4', is_public: 'true', entity: 'products', entityId: '1', fieldName: 'image' }],
  )
  assert.match(request.body, /name="file"; filename="note ä.txt"[^]*\r\n\r\nhello\r\n/)
  assert.deepEqual([seen, up.resumeToken], [[[5, 5]], ''])
  await client(server).files.upload(new File(['x'], 'of the file.txt'))
  assert.match(server.requests[1].body, /filename="of the file.txt"/)
})

test('a small file is sent once, also when the answer is lost', async () => {
  const server = await serve(() => undefined)
  await assert.rejects(Promise.resolve(client(server).files.upload(new Blob(['x']))), { code: 'network' })
  assert.equal(server.requests.length, 1)
})

test('a large file in parts, attached at the end', async () => {
  const server = await serveUploads()
  const file = blob(3 * MB + 123)
  const seen = []
  const up = client(server)
    .files.upload(file, { filename: 'film ä.mp4', folder_id: 4, attach: { entity: 'products', id: 9, field: 'image' } })
    .onProgress((sent, total) => seen.push([sent, total]))
  assert.equal((await up).id, 12)
  await isWhole(server, file)
  const [create] = server.requests
  assert.deepEqual(
    [create.query, create.headers['upload-length'], create.headers['tus-resumable']],
    [{ folder_id: '4' }, `${file.size}`, '1.0.0'],
  )
  assert.equal(Buffer.from(create.headers['upload-metadata'].split(' ')[1], 'base64').toString(), 'film ä.mp4')
  assert.deepEqual([seen[0], seen.at(-1), up.resumeToken], [[0, file.size], [file.size, file.size], 'u1'])
  assert.ok(seen.length > 2 && seen.every(([sent], i) => i === 0 || sent >= seen[i - 1][0]))
  assert.deepEqual(
    server.sent('PUT').map((each) => [each.path, each.body]),
    [['/org/shop/entities/products/items/9', { image: 12 }]],
  )
  assert.deepEqual(
    [server.paths().at(-1), server.sent('PATCH')[0].headers['content-type']],
    ['GET /files/12', 'application/offset+octet-stream'],
  )
})

test('interruptions: the upload continues where the service is', async () => {
  const half = (request, state) => {
    state.received = Buffer.concat([state.received, request.bytes.subarray(0, 1000)])
    return null
  }
  const faults = {
    1: (request, state) => half(request, state),
    2: () => problem(503, 'x', {}, { 'retry-after': '0' }),
    4: () => problem(409, 'conflict'),
    5: () => null,
  }
  const server = await serveUploads((request, n, state) => faults[n]?.(request, state))
  const file = blob(2 * MB)
  assert.equal((await client(server).files.upload(file)).id, 12)
  await isWhole(server, file)
})

test('a part that is refused ends the upload', async () => {
  const server = await serveUploads(() => problem(413, 'payload_too_large'))
  await assert.rejects(Promise.resolve(client(server).files.upload(blob(2 * MB))), { code: 'payload_too_large' })
  assert.equal(server.sent('PATCH').length, 1)
})

test('a token continues after a reload', async () => {
  const server = await serveUploads((_, n) => (n === 2 ? problem(403, 'forbidden') : undefined))
  const file = blob(3 * MB)
  const first = client(server).files.upload(file)
  await assert.rejects(Promise.resolve(first), { code: 'forbidden' })
  const begun = server.state.received.length
  assert.ok(begun > 0 && begun < file.size)
  const seen = []
  await client(server)
    .files.upload(file, { resumeToken: first.resumeToken })
    .onProgress((sent) => seen.push(sent))
  await isWhole(server, file)
  assert.deepEqual([seen[0], server.sent('POST').length], [begun, 1])
  await client(server).files.upload(file, { resumeToken: 'u1' }) // complete already
  await assert.rejects(Promise.resolve(client(server).files.upload(blob(2 * MB), { resumeToken: 'u1' })), TypeError)
  server.state.isGone = true
  await client(server).files.upload(file, { resumeToken: 'old' }) // expired: it begins again
  assert.equal(server.sent('POST').length, 2)
  await isWhole(server, file)
})

test('pause and resume', async () => {
  const server = await serveUploads()
  const file = blob(3 * MB)
  const up = client(server).files.upload(file)
  up.onProgress((sent) => {
    if (sent > 0 && sent < file.size && server.state.parts === 1) up.pause()
  })
  await until(() => server.state.parts === 1, 'the first part')
  await wait(60)
  assert.equal(server.state.parts, 1)
  up.resume()
  await up
  up.abort() // too late
  await wait(50)
  assert.equal(server.sent('DELETE').length, 0)
  await isWhole(server, file)
})

test('abort removes the upload, also while it is paused', async () => {
  for (const isPaused of [true, false]) {
    const server = await serveUploads(() => (isPaused ? undefined : wait(500).then(() => null)))
    const up = client(server).files.upload(blob(3 * MB))
    if (isPaused) up.pause()
    await until(() => up.resumeToken && (isPaused || server.state.parts), 'the upload has begun')
    up.abort()
    await assert.rejects(Promise.resolve(up), { name: 'AbortError' })
    await until(() => server.sent('DELETE').length === 1, 'the upload is removed')
  }
  const server = await serveUploads(() => wait(500).then(() => null))
  const controller = new AbortController()
  const up = client(server).files.upload(blob(2 * MB), { signal: controller.signal })
  await until(() => server.state.parts, 'the first part')
  controller.abort(new Error('left'))
  await assert.rejects(Promise.resolve(up), /left/)
  assert.equal(server.sent('DELETE').length, 0)
})

test('the token of a user is refreshed between parts', async () => {
  const uploads = await serveUploads((request, n) => (n === 2 ? problem(401, 'token_expired') : undefined))
  const server = await serve(async (request) => (request.path.endsWith('/refresh') ? tokens() : undefined))
  const store = keep(session(3600))
  const both = (request) =>
    fetch(new Request(request.url.includes('/auth/') ? request.url.replace(uploads.url, server.url) : request.url, request))
  const file = blob(3 * MB)
  await createClient(uploads.url, { warnWhenOutdated: false, session: store, fetch: both }).files.upload(file)
  await isWhole(uploads, file)
  assert.equal(server.requests.length, 1)
})

test('addresses, links, downloads and deletions', async () => {
  const server = await serve((request) =>
    request.path.endsWith('/link')
      ? { body: { url: 'http://x/shared?token=t', expires_at: '' } }
      : request.method === 'DELETE'
        ? request.body
          ? { body: { deleted: 2, not_found: [] } }
          : { status: 204 }
        : { body: 'bytes', headers: { 'content-type': 'image/webp' } },
  )
  const { files } = client(server)
  assert.equal(files.url(3, { width: 320, format: 'webp' }), `${server.url}/files/3/public?width=320&format=webp`)
  assert.equal(files.url(3), `${server.url}/files/3/public`)
  assert.equal(await files.link(3, { expires_in: 60, width: 32 }), 'http://x/shared?token=t&width=32')
  assert.equal(await files.link(3), 'http://x/shared?token=t')
  assert.deepEqual(
    server.requests.map((each) => each.body),
    [{ expires_in: 60 }, {}],
  )
  const picture = await files.download(3, { width: 32 })
  assert.deepEqual([await picture.text(), picture.type, server.requests.at(-1).query], ['bytes', 'image/webp', { width: '32' }])
  assert.equal(await files.delete(3), undefined)
  assert.equal(await files.delete([3, 4]), undefined)
  assert.deepEqual(
    server.requests.slice(-2).map((each) => [each.method, each.path, each.body]),
    [
      ['DELETE', '/org/shop/files/3', ''],
      ['DELETE', '/org/shop/files', { ids: [3, 4] }],
    ],
  )
})
