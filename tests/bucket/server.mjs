// A bucket over a folder that implements the part of S3 that the file store needs. Verifies each signature with an independent
// library (@smithy/signature-v4), and each body's SHA-256, MD5 and length. POST /_control/NAME {...} causes faults.
//   node server.mjs FOLDER KEY_ID SECRET REGION BUCKET    prints its port
import {createHash, createHmac, randomUUID} from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import {SignatureV4} from "@smithy/signature-v4";

const [root, accessKeyId, secretAccessKey, region, bucket] = process.argv.slice(2);
const PENDING = ".uploads";
const SKEW_MS = 15 * 60 * 1000;
const LEAST_PART = 5 << 20;
const uploads = new Map(); // id -> {key, parts: Map(number -> {file, md5, size})}
let faults = [];
let asked = [];
let aheadMs = 0; // offset of the bucket's clock
let gone = false;

class Sha256 {
    constructor(secret) {
        this.hash = secret ? createHmac("sha256", secret) : createHash("sha256");
    }
    update(data) {
        this.hash.update(data);
    }
    async digest() {
        return new Uint8Array(this.hash.digest());
    }
}

const signer = new SignatureV4({credentials: {accessKeyId, secretAccessKey}, region, service: "s3", sha256: Sha256,
                                uriEscapePath: false, applyChecksum: false});

class Refusal extends Error {
    constructor(status, code) {
        super(code);
        this.status = status;
    }
}

function xml(name, inner) {
    return `<?xml version="1.0" encoding="UTF-8"?>\n<${name} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${inner}</${name}>`
        .replace(`<Error xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`, "<Error>");
}

const fileOf = key => path.join(root, key);

async function check(request, url) {
    const given = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/
        .exec(request.headers.authorization ?? "");
    if (!given) throw new Refusal(403, "AccessDenied");
    const [, id, day, where, names, signature] = given;
    if (id !== accessKeyId) throw new Refusal(403, "InvalidAccessKeyId");
    const text = request.headers["x-amz-date"] ?? "";
    const date = new Date(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
    if (!(Math.abs(Date.now() + aheadMs - date) < SKEW_MS) || !text.startsWith(day)) throw new Refusal(403, "RequestTimeTooSkewed");
    const signed = names.split(";");
    for (const name of ["host", "x-amz-content-sha256", "x-amz-date"])
        if (!signed.includes(name)) throw new Refusal(403, "AccessDenied");
    const headers = Object.fromEntries(signed.map(name => [name, request.headers[name]]));
    const query = {};
    for (const [name, value] of url.searchParams) query[name] = value;
    const again = await signer.sign({method: request.method, protocol: "http:", hostname: request.headers.host, path: url.pathname, query,
                                     headers}, {signingDate: date, signingRegion: region});
    if (where !== region || again.headers.authorization.split("Signature=")[1] !== signature)
        throw new Refusal(403, "SignatureDoesNotMatch");
}

// Streams the body into a file; returns its MD5.
async function take(request, file) {
    const length = request.headers["content-length"];
    if (length === undefined) throw new Refusal(411, "MissingContentLength");
    const sha256 = createHash("sha256"), md5 = createHash("md5");
    const out = file ? fs.createWriteStream(file) : null;
    const pieces = [];
    let size = 0;
    for await (const piece of request) {
        sha256.update(piece);
        md5.update(piece);
        size += piece.length;
        if (!out) pieces.push(piece);
        else if (!out.write(piece)) await new Promise(done => out.once("drain", done));
    }
    if (out) await new Promise(done => out.end(done));
    if (size !== Number(length)) throw new Refusal(400, "IncompleteBody");
    const digest = md5.digest();
    if (sha256.digest("hex") !== request.headers["x-amz-content-sha256"]) throw new Refusal(400, "XAmzContentSHA256Mismatch");
    const said = request.headers["content-md5"];
    if (said && said !== digest.toString("base64")) throw new Refusal(400, "BadDigest");
    return {md5: digest, size, text: Buffer.concat(pieces).toString()};
}

const quoted = hex => `"${hex}"`;
const pendingFolder = () => path.join(root, PENDING);

const operations = {
    async put(request, key, query, fault) {
        const temporary = path.join(pendingFolder(), randomUUID());
        const taken = await take(request, temporary);
        if (fault?.kind === "corrupt") fs.writeFileSync(temporary, "something else");
        fs.mkdirSync(path.dirname(fileOf(key)), {recursive: true});
        fs.renameSync(temporary, fileOf(key));
        const md5 = fault?.kind === "corrupt" ? createHash("md5").update("something else").digest() : taken.md5;
        return {headers: {ETag: quoted(fault?.kind === "etag" ? "0123456789abcdef" : md5.toString("hex"))}};
    },
    async part(request, key, query, fault) {
        const upload = uploads.get(query.get("uploadId")), number = Number(query.get("partNumber"));
        if (upload?.key !== key) throw new Refusal(404, "NoSuchUpload");
        if (!(number >= 1 && number <= 10000)) throw new Refusal(400, "InvalidArgument");
        const file = path.join(pendingFolder(), `${query.get("uploadId")}.${number}`);
        const taken = await take(request, file);
        upload.parts.set(number, {file, ...taken});
        return {headers: {ETag: quoted(fault?.kind === "etag" ? "fedcba" : taken.md5.toString("hex"))}};
    },
    async begin(request, key) {
        const id = randomUUID();
        uploads.set(id, {key, parts: new Map()});
        return {body: xml("InitiateMultipartUploadResult", `<Bucket>${bucket}</Bucket><Key>${key}</Key><UploadId>${id}</UploadId>`)};
    },
    async complete(request, key, query, fault) {
        const {text} = await take(request);
        const id = query.get("uploadId"), upload = uploads.get(id);
        if (upload?.key !== key) throw new Refusal(404, "NoSuchUpload");
        const listed = [...text.matchAll(/<Part><PartNumber>(\d+)<\/PartNumber><ETag>([^<]+)<\/ETag><\/Part>/g)];
        const all = createHash("md5"), temporary = path.join(pendingFolder(), randomUUID());
        let last = 0;
        for (const [index, [, number, tag]] of listed.entries()) {
            const part = upload.parts.get(Number(number));
            if (!part || (tag !== quoted(part.md5.toString("hex")) && tag !== quoted("fedcba"))) throw new Refusal(400, "InvalidPart");
            if (Number(number) <= last) throw new Refusal(400, "InvalidPartOrder");
            if (part.size < LEAST_PART && index < listed.length - 1) throw new Refusal(400, "EntityTooSmall");
            last = Number(number);
            all.update(part.md5);
            fs.appendFileSync(temporary, fs.readFileSync(part.file));
        }
        if (!listed.length) throw new Refusal(400, "MalformedXML");
        if (fault?.kind === "corrupt") fs.truncateSync(temporary, 1000);
        fs.mkdirSync(path.dirname(fileOf(key)), {recursive: true});
        fs.renameSync(temporary, fileOf(key));
        forget(id);
        const tag = fault?.kind === "corrupt" ? "0" : `${all.digest("hex")}-${listed.length}`;
        return {body: xml("CompleteMultipartUploadResult", `<Key>${key}</Key><ETag>&quot;${tag}&quot;</ETag>`)};
    },
    async abort(request, key, query) {
        if (uploads.get(query.get("uploadId"))?.key !== key) throw new Refusal(404, "NoSuchUpload");
        forget(query.get("uploadId"));
        return {status: 204};
    },
    async get(request, key) {
        if (!fs.existsSync(fileOf(key))) throw new Refusal(404, "NoSuchKey");
        const {size} = fs.statSync(fileOf(key));
        const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "");
        if (!range) return {file: fileOf(key), headers: {"Content-Length": size}};
        const first = Number(range[1]), end = Math.min(Number(range[2]), size - 1);
        if (first >= size) throw new Refusal(416, "InvalidRange");
        return {status: 206, file: fileOf(key), first, end,
                headers: {"Content-Length": end - first + 1, "Content-Range": `bytes ${first}-${end}/${size}`}};
    },
    async remove(request, key) {
        fs.rmSync(fileOf(key), {force: true});
        return {status: 204};
    },
    async removeMany(request) {
        const {text} = await take(request);
        if (!request.headers["content-md5"]) throw new Refusal(400, "InvalidRequest");
        for (const [, key] of text.matchAll(/<Object><Key>([^<]+)<\/Key><\/Object>/g)) fs.rmSync(fileOf(key), {force: true});
        return {body: xml("DeleteResult", "")};
    },
    async list(request, key, query) {
        const prefix = query.get("prefix") ?? "", most = Number(query.get("max-keys") ?? 1000);
        const keys = fs.readdirSync(root, {recursive: true}).map(String)
            .filter(each => each.startsWith(prefix) && !each.startsWith(PENDING) && fs.statSync(fileOf(each)).isFile()).sort();
        return {body: xml("ListBucketResult", keys.slice(0, most).map(each => `<Contents><Key>${each}</Key><Size>1</Size></Contents>`).join("") +
                          `<IsTruncated>${keys.length > most}</IsTruncated>`)};
    },
    async listUploads(request, key, query) {
        const prefix = query.get("prefix") ?? "", most = Number(query.get("max-uploads") ?? 1000);
        const found = [...uploads].filter(([, upload]) => upload.key.startsWith(prefix));
        return {body: xml("ListMultipartUploadsResult", found.slice(0, most)
            .map(([id, upload]) => `<Upload><Key>${upload.key}</Key><UploadId>${id}</UploadId></Upload>`).join("") +
            `<IsTruncated>${found.length > most}</IsTruncated>`)};
    },
};

function forget(id) {
    for (const part of uploads.get(id).parts.values()) fs.rmSync(part.file, {force: true});
    uploads.delete(id);
}

function operationOf(method, key, query) {
    if (!key) return {GET: query.has("uploads") ? "listUploads" : "list", POST: query.has("delete") ? "removeMany" : undefined}[method];
    return {PUT: query.has("uploadId") ? "part" : "put", GET: "get", DELETE: query.has("uploadId") ? "abort" : "remove",
            POST: query.has("uploads") ? "begin" : query.has("uploadId") ? "complete" : undefined}[method];
}

function faultFor(name) {
    const fault = faults.find(each => each.operation === name && each.count > 0);
    if (fault && fault.skip > 0) {
        fault.skip--;
        return undefined;
    }
    if (fault) fault.count--;
    return fault;
}

async function answer(request, response) {
    const url = new URL(request.url, "http://x");
    const [, first, ...others] = url.pathname.split("/");
    const key = others.join("/"), name = operationOf(request.method, key, url.searchParams);
    if (first !== bucket || gone) throw new Refusal(404, "NoSuchBucket");
    if (!name) throw new Refusal(501, "NotImplemented");
    await check(request, url);
    asked.push(name);
    const fault = faultFor(name);
    if (fault?.kind === "hang") return;
    if (fault?.kind === "refuse") throw new Refusal(fault.status, fault.code);
    if (fault?.kind === "hidden") {
        await take(request);
        response.writeHead(200).end(xml("Error", "<Code>InternalError</Code><Message>try again</Message>"));
        return;
    }
    if (fault?.kind === "junk") return request.socket.end("220 mail.example ESMTP\r\n");
    if (fault?.kind === "flood") return flood(request, response);
    if (fault?.kind === "ignore") delete request.headers.range;
    const made = await operations[name](request, key, url.searchParams, fault);
    if (fault?.kind === "lose") {
        request.socket.destroy();
        return;
    }
    if (fault?.kind === "range") made.headers["Content-Range"] = "bytes 1-9/10";
    if (fault?.kind === "short") shorten(made, fault.bytes);
    response.writeHead(made.status ?? 200, {...(made.body ? {"Content-Type": "application/xml"} : {}), ...made.headers});
    if (!made.file) {
        response.end(made.body);
        return;
    }
    const from = made.first ?? 0, end = made.end ?? Infinity, ends = fault?.kind === "cut" || fault?.kind === "stall";
    const stream = fs.createReadStream(made.file, {start: from, end: ends ? Math.min(end, from + fault.bytes - 1) : end});
    stream.on("end", () => fault?.kind === "cut" && setTimeout(() => request.socket.destroy(), 20));
    stream.pipe(response, {end: !ends});
}

// An object that has lost its end: all lengths are those of the remaining bytes.
function shorten(made, bytes) {
    made.headers["Content-Length"] -= bytes;
    made.end = (made.first ?? 0) + made.headers["Content-Length"] - 1;
    if (made.status === 206) made.headers["Content-Range"] = `bytes ${made.first}-${made.end}/${made.end + 1}`;
}

// Sends an endless text.
function flood(request, response) {
    const block = "<x>".repeat(20000);
    response.writeHead(200, {"Content-Type": "application/xml"});
    const more = () => !response.destroyed && response.write(block, error => error || setImmediate(more));
    request.resume();
    more();
}

const controls = {
    ping: () => true,
    // kind: see README.md; applies to the operation, `count` times after `skip` requests.
    fault: fault => faults.push({count: 1, skip: 0, ...fault}),
    clear: () => {
        faults = [];
        asked = [];
        aheadMs = 0;
        gone = false;
    },
    clock: ({ahead}) => (aheadMs = ahead),
    gone: ({yes}) => (gone = yes),
    asked: () => asked,
    uploads: () => [...uploads.values()].map(upload => upload.key),
};

async function control(request, response) {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const result = controls[request.url.split("/").pop()](JSON.parse(Buffer.concat(pieces).toString() || "{}"));
    response.end(JSON.stringify({result: result ?? null}));
}

fs.mkdirSync(pendingFolder(), {recursive: true});
const server = http.createServer((request, response) => {
    const run = request.url.startsWith("/_control/") ? control : answer;
    run(request, response).catch(error => {
        if (!(error instanceof Refusal)) console.error(error);
        if (response.headersSent) return request.socket.destroy();
        request.resume();
        response.writeHead(error.status ?? 500, {"Content-Type": "application/xml"})
            .end(xml("Error", `<Code>${error instanceof Refusal ? error.message : "InternalError"}</Code>`));
    });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
