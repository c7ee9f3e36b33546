// node nodemailer.mjs PORT COUNT CONNECTIONS: COUNT mails into the sink over a pool.
import net from "node:net";
import nodemailer from "nodemailer";
import { sent } from "./meter.mjs";

const [port, count, connections] = process.argv.slice(2).map(Number);
const transport = nodemailer.createTransport({
  host: "127.0.0.1", port, secure: false, ignoreTLS: true, pool: true, maxConnections: connections, maxMessages: Infinity,
  // Its own sockets wait for the server's delayed acknowledgement, 40 ms a mail, between a text and its final dot: not what we measure.
  getSocket: (options, done) => {
    const connection = net.connect({ port, host: "127.0.0.1", noDelay: true }, () => done(null, { connection }));
  },
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
  await Promise.all(Array.from({ length: connections * 4 }, slot)); // its pool never waits for us
});
transport.close();
process.exit(0);
