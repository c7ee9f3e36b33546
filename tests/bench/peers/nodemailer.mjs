// node nodemailer.mjs PORT COUNT CONNECTIONS WARM [nodelay]: COUNT mails into the sink over a pool, after WARM of them.
// By default its sockets delay the final dot until the server has acknowledged the text before it, which takes 40 ms; with nodelay
// they do not.
import net from "node:net";
import nodemailer from "nodemailer";
import { sent } from "./meter.mjs";

const [port, count, connections, warm] = process.argv.slice(2).map(Number);
const getSocket = (options, done) => {
  const connection = net.connect({ port, host: "127.0.0.1", noDelay: true }, () => done(null, { connection }));
};
const transport = nodemailer.createTransport({
  host: "127.0.0.1", port, secure: false, ignoreTLS: true, pool: true, maxConnections: connections, maxMessages: Infinity,
  ...(process.argv[6] === "nodelay" ? { getSocket } : {}),
});
const text = "Are you coming? ".repeat(60);

await sent(count, async (begin, end) => {
  let next = begin;
  const slot = async () => {
    while (next < end) {
      const to = `n${next++}@example.org`;
      await transport.sendMail({ from: "bench@example.org", to, subject: "Dinner", text });
    }
  };
  await Promise.all(Array.from({ length: connections * 4 }, slot)); // enough slots that nodemailer's pool never waits for this program
}, warm);
transport.close();
process.exit(0);
