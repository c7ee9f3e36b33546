// A scripted HTTP server, and the client that the environment variable CLIENT names.
import { createServer } from 'node:http'
import { after } from 'node:test'

export const { createClient, Problem, etagOf } = await import(process.env.CLIENT)

/**
 * Starts a server that ends with the file's tests. `answer(request, n)` returns { status, headers, body } for the n-th request; `body`
 * is JSON or a text, or a function that writes to the response. Without a result the connection breaks. Each request is recorded: `body` is the
 * JSON, or the beginning of another body as text.
 */
export async function serve(answer) {
  const requests = []
  const server = createServer(async (incoming, outgoing) => {
    const chunks = []
    for await (const chunk of incoming) chunks.push(chunk)
    const url = new URL(incoming.url, 'http://x')
    const bytes = Buffer.concat(chunks)
    const isJson = incoming.headers['content-type'] === 'application/json'
    const request = {
      method: incoming.method,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: incoming.headers,
      bytes,
      body: isJson ? JSON.parse(bytes) : bytes.subarray(0, 1000).toString(),
      at: Date.now(),
    }
    requests.push(request)
    const given = await answer(request, requests.length)
    if (!given) return void incoming.socket.destroy()
    const { status = 200, headers = {}, body } = given
    const isText = typeof body !== 'object'
    const type = body === undefined ? {} : { 'content-type': isText ? 'text/html' : 'application/json' }
    outgoing.writeHead(status, { ...type, ...headers })
    if (typeof body === 'function') body(outgoing)
    else outgoing.end(isText ? body : JSON.stringify(body))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${server.address().port}/org/shop`,
    requests,
    paths: () => requests.map((each) => `${each.method} ${each.path.slice(9)}`),
  }
}

export const problem = (status, code, more = {}, headers = {}) => ({
  status,
  headers: { 'content-type': 'application/problem+json', ...headers },
  body: { status, code, title: 'Title', detail: `about ${code}`, ...more },
})
export const page = (items, more = {}) => ({
  body: { items, total_items: items.length, page: 1, page_size: 20, has_next_page: false, ...more },
})

let made = 0
/** The answer to a sign-in or a refresh, with new tokens for `seconds`. */
export const tokens = (seconds = 3600, user = 1) => {
  made += 1
  return {
    body: {
      access_token: `access-${made}`,
      refresh_token: `refresh-${made}`,
      expires_in: seconds,
      expires_at: 0,
      token_type: 'bearer',
      user: { id: user, email: `user${user}@example.com` },
    },
  }
}
export const session = (seconds, user = 1) => {
  const { access_token, refresh_token, user: account } = tokens(0, user).body
  return { access_token, refresh_token, expires_at: Math.floor(Date.now() / 1000) + seconds, user: account }
}
/** A store of one session, as a program may give it to several clients. */
export const keep = (stored) => ({
  stored,
  get() {
    return this.stored
  },
  set(next) {
    this.stored = next
  },
})
export const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
export async function until(holds, what) {
  for (const end = Date.now() + 20_000; !holds(); await wait(5)) if (Date.now() > end) throw new Error(`not within 20 s: ${what}`)
}
