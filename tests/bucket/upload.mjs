// Uploads with npm's tus-js-client. Reads one JSON object from standard input, and writes one with the result.
//   {"endpoint", "token", "file", "filename", "chunk"?, "query"?, "stopAfter"?, "resume"?, "terminate"?}
import fs from "node:fs";
import * as tus from "tus-js-client";

const order = JSON.parse(fs.readFileSync(0, "utf8"));
const seen = {requests: [], location: null, url: null};

function say(outcome) {
    console.log(JSON.stringify({...seen, ...outcome}));
    process.exit(0);
}

const upload = new tus.Upload(fs.createReadStream(order.file), {
    endpoint: order.endpoint,
    uploadUrl: order.resume ?? undefined,
    uploadSize: fs.statSync(order.file).size,
    chunkSize: order.chunk ?? 50 << 20,
    retryDelays: [0, 200, 400, 800, 1600, 3200],
    headers: {Authorization: `Bearer ${order.token}`},
    metadata: {filename: order.filename, filetype: "application/octet-stream"},
    removeFingerprintOnSuccess: true,
    storeFingerprintForResuming: false,
    onAfterResponse(request, response) {
        seen.requests.push([request.getMethod(), response.getStatus()]);
        seen.location = response.getHeader("Content-Location") ?? seen.location;
    },
    onChunkComplete(size, accepted) {
        seen.url = upload.url;
        if (order.stopAfter && accepted >= order.stopAfter)
            upload.abort(Boolean(order.terminate)).then(() => say({stopped: accepted}), error => say({error: String(error)}));
    },
    onSuccess: () => say({url: upload.url, done: true}),
    onError: error => say({error: String(error)}),
});
upload.start();
