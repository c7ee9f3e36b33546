// Decrypts and verifies messages to browsers with independent libraries: one JSON line in, one JSON line out.
// {"body", "private", "auth": base64url, "authorization", "origin"} -> {"text", "claims"} or {"why"}
import crypto from "node:crypto";
import readline from "node:readline";
import ece from "http_ece";
import * as jose from "jose";

// The header has the key as an uncompressed point.
async function claims(authorization, origin) {
  const [, token, key] = /^vapid t=([^,]+), ?k=(.+)$/.exec(authorization);
  const point = Buffer.from(key, "base64url");
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) => half.toString("base64url"));
  const imported = await jose.importJWK({ kty: "EC", crv: "P-256", x, y }, "ES256");
  return (await jose.jwtVerify(token, imported, { algorithms: ["ES256"], audience: origin, requiredClaims: ["exp", "sub"] })).payload;
}

function decrypt(body, privateKey, authSecret) {
  const key = crypto.createECDH("prime256v1");
  key.setPrivateKey(Buffer.from(privateKey, "base64url"));
  return ece.decrypt(Buffer.from(body, "base64url"), { version: "aes128gcm", privateKey: key, authSecret }).toString();
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const one = JSON.parse(line);
  try {
    console.log(JSON.stringify({ text: decrypt(one.body, one.private, one.auth), claims: await claims(one.authorization, one.origin) }));
  } catch (error) {
    console.log(JSON.stringify({ why: String(error) }));
  }
}
