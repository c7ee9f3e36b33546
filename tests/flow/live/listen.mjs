// npm's eventsource: prints each event that arrives on one line. Arguments: URL [HEADER]; without a header the URL has a ticket.
import {EventSource} from 'eventsource'

const [url, authorization] = process.argv.slice(2)
const headers = authorization ? {Authorization: authorization} : {}
const source = new EventSource(url, {
  fetch: (input, init) => fetch(input, {...init, headers: {...init.headers, ...headers}}),
})
const say = (event) => console.log(JSON.stringify({kind: event.type, data: JSON.parse(event.data), id: event.lastEventId}))
for (const kind of ['hello', 'created', 'updated', 'deleted', 'reset', 'closed', 'end']) source.addEventListener(kind, say)
source.onerror = (event) => {
  console.log(JSON.stringify({kind: 'error', data: event.code ?? null}))
  if (source.readyState === EventSource.CLOSED) process.exit(0)
}
