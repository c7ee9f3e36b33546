// node webpush.mjs ORIGIN COUNT: one message each to COUNT browsers over 100 keep-alive connections.
import { createECDH, randomBytes } from "node:crypto";
import https from "node:https";
import webpush from "web-push";
import { sent } from "./meter.mjs";

const [origin, count] = process.argv.slice(2);
const AT_ONCE = 100;
const keys = webpush.generateVAPIDKeys();
webpush.setVapidDetails("mailto:bench@example.org", keys.publicKey, keys.privateKey);
const browser = createECDH("prime256v1");
const subscriptionKeys = { p256dh: browser.generateKeys("base64url"), auth: randomBytes(16).toString("base64url") };
const payload = JSON.stringify({ title: "Dinner", body: "Are you coming?", data: { notification_id: "t".repeat(64) } });
const agent = new https.Agent({ keepAlive: true, maxSockets: AT_ONCE });

await sent(Number(count), async (begin, end) => {
  let next = begin;
  const slot = async () => {
    while (next < end) await webpush.sendNotification({ endpoint: `${origin}/push/${next++}`, keys: subscriptionKeys }, payload, { agent });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, slot));
});
process.exit(0);
