// The processor's own client: reads commands as JSON lines from stdin and answers each on stdout:
//   {"url", "key", "call": "paymentIntents.create", "args": [...]}    -> {"ok": ...} or {"error": {...}}
//   {"verify": payload, "header", "secret"}                           -> the event, or the error
//   {"sign": payload, "secret", "timestamp"?}                         -> {"ok": a Stripe-Signature header}
import readline from "node:readline";
import Stripe from "stripe";

const local = new Stripe("sk_test_nobody");

async function answer(message) {
  if (message.verify !== undefined)
    return local.webhooks.constructEvent(message.verify, message.header, message.secret, message.tolerance);
  if (message.sign !== undefined)
    return local.webhooks.generateTestHeaderString({
      payload: message.sign, secret: message.secret, timestamp: message.timestamp });
  const url = new URL(message.url);
  const client = new Stripe(message.key, {
    host: url.hostname, port: url.port, protocol: "http", telemetry: false,
    maxNetworkRetries: message.retries ?? 0, timeout: message.timeout ?? 10000,
    stripeAccount: message.account ?? undefined });
  const path = message.call.split(".");
  const method = path.pop();
  let target = client;
  for (const part of path) target = target[part];
  return await target[method](...message.args);
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  let told;
  try {
    told = { ok: await answer(JSON.parse(line)) };
  } catch (error) {
    told = { error: {
      class: error.constructor.name, type: error.type, code: error.code, status: error.statusCode, message: error.message,
      decline_code: error.decline_code, param: error.param, request_id: error.requestId,
      intent: error.payment_intent?.id } };
  }
  process.stdout.write(JSON.stringify(told) + "\n");
}
