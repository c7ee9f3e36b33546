// Parse Server with LiveQuery in one process: PORT DATABASE-URL.
import http from 'node:http'
import express from 'express'
import {ParseServer} from 'parse-server'

const [port, databaseURI] = process.argv.slice(2)
const server = new ParseServer({
  databaseURI,
  appId: 'bench',
  masterKey: 'bench-master-key',
  serverURL: `http://127.0.0.1:${port}/parse`,
  liveQuery: {classNames: ['Orders']},
  allowClientClassCreation: true,
  logLevel: 'error',
})
await server.start()
const app = express()
app.use('/parse', server.app)
const listening = http.createServer(app)
await ParseServer.createLiveQueryServer(listening)
listening.listen(Number(port), '127.0.0.1', 4096)
