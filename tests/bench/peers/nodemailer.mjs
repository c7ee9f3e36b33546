// node nodemailer.mjs PORT COUNT CONNECTIONS: COUNT mails into the sink over a pool.
import nodemailer from "nodemailer";
import { sent } from "./meter.mjs";

const [port, count, connections] = process.argv.slice(2).map(Number);
const transport = nodemailer.createTransport({
  host: "127.0.0.1", port, secure: false, ignoreTLS: true, pool: true, maxConnections: connections, maxMessages: Infinity,
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
