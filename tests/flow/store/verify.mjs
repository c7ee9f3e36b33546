// Prints the verdict of the store's own library on signed payloads: one line of JSON in, one line out for each.
// {"root": base64 DER, "bundle", "appId", "environment", "kind": "notification", "token"} -> {"ok", "why"}
import { Environment, SignedDataVerifier, VerificationStatus } from "@apple/app-store-server-library";
import readline from "node:readline";

// Offline (without revocation lists), but at the current time: a date signed with an expired key proves nothing.
class VerifierNow extends SignedDataVerifier {
  extractSignedDate() {
    return new Date();
  }
}

const verifiers = new Map();

function verifier({ root, bundle, appId, environment }) {
  const name = JSON.stringify([root, bundle, appId, environment]);
  if (!verifiers.has(name)) {
    const kind = environment === "Production" ? Environment.PRODUCTION : Environment.SANDBOX;
    verifiers.set(name, new VerifierNow([Buffer.from(root, "base64")], false, kind, bundle, appId));
  }
  return verifiers.get(name);
}

// A notification as its receiver opens it: with what is signed inside.
async function open(order) {
  const one = verifier(order);
  const payload = await one.verifyAndDecodeNotification(order.token);
  const data = payload.data ?? {};
  const transaction = data.signedTransactionInfo && (await one.verifyAndDecodeTransaction(data.signedTransactionInfo));
  const renewal = data.signedRenewalInfo && (await one.verifyAndDecodeRenewalInfo(data.signedRenewalInfo));
  return { type: payload.notificationType, transaction, renewal };
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  try {
    console.log(JSON.stringify({ ok: true, ...(await open(order)) }));
  } catch (error) {
    const why = error.status === undefined ? String(error) : VerificationStatus[error.status];
    console.log(JSON.stringify({ ok: false, why }));
  }
}
