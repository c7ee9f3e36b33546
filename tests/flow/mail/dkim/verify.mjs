// Prints the results of a third-party library for signed mails: one line of JSON in, one line out for each.
// {"message": base64, "records": {name: [text, ...]}} -> {"results": [{"result", "comment", "domain", "selector"}]}
import readline from "node:readline";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";

const missing = (name) => Object.assign(new Error(`${name} is not there`), { code: "ENOTFOUND" });

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { message, records } = JSON.parse(line);
  const resolver = async (name) => {
    if (!records[name]) throw missing(name);
    return records[name].map((text) => text.match(/.{1,255}/gs)); // as strings of one record
  };
  const { results } = await dkimVerify(Buffer.from(message, "base64"), { resolver });
  console.log(JSON.stringify({
    results: results.map((one) => ({
      result: one.status.result, comment: one.status.comment, domain: one.signingDomain, selector: one.selector,
    })),
  }));
}
