// Serves the built console under /console with the headers that the gateway sends, and passes all other paths to a gateway.
// GATEWAY_URL (default http://127.0.0.1:8080), PORT (default 8090), CONSOLE_OUT (default build/console).
import { createServer, request } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };
export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-hashes' 'sha256-iaOezIDcQIoxCULa6FBKKuLUu09R7kG+Mlu+JVfU3Rw=' 'sha256-tcbDxjMo+xKqM21aCGYbs/QAJqB7yUXC06oPWDapBgc='; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html console";

/** `cutAfter`, a member of the server, cuts the next upload (but no preview) after this number of bytes, as a proxy does that loses
 * the gateway. */
export function serve(gateway, folder) {
  const server = createServer((incoming, outgoing) => {
    const path = new URL(incoming.url, 'http://localhost').pathname;
    if (path === '/console' || path.startsWith('/console/')) void sendFile(path.slice('/console'.length), folder, outgoing);
    else {
      const passed = pass(gateway, incoming, outgoing);
      if (server.cutAfter && !incoming.url.includes('dry_run') && Number(incoming.headers['content-length'] ?? 0) > server.cutAfter) cut(server, incoming, passed, outgoing);
    }
  });
  return server;
}

function cut(server, incoming, passed, outgoing) {
  let rest = server.cutAfter;
  server.cutAfter = undefined;
  incoming.on('data', (chunk) => {
    if ((rest -= chunk.length) > 0 || outgoing.headersSent) return;
    passed.destroy();
    outgoing.writeHead(502).end();
  });
}

async function sendFile(path, folder, outgoing) {
  const isAsset = path.startsWith('/assets/');
  const name = normalize(path).replace(/^(\.\.[/\\])+/, '');
  const found = extname(name) ? await readFile(join(folder, name)).catch(() => undefined) : undefined;
  if (!found && isAsset) return outgoing.writeHead(404).end();
  const body = found ?? (await readFile(join(folder, 'index.html')));
  outgoing.writeHead(200, {
    'Content-Type': TYPES[found ? extname(name) : '.html'] ?? 'application/octet-stream',
    'Content-Security-Policy': POLICY,
    'Cache-Control': isAsset ? 'public, max-age=31536000, immutable' : 'no-cache',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), microphone=(), geolocation=()',
  });
  outgoing.end(body);
}

function pass(gateway, incoming, outgoing) {
  const { hostname, port } = new URL(gateway);
  const passed = request({ hostname, port, method: incoming.method, path: incoming.url, headers: incoming.headers }, (answer) => {
    outgoing.writeHead(answer.statusCode, answer.headers);
    answer.pipe(outgoing);
  });
  passed.on('error', () => outgoing.headersSent || outgoing.destroy());
  incoming.on('error', () => passed.destroy());
  outgoing.on('close', () => passed.destroy());
  incoming.pipe(passed);
  return passed;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.env.CONSOLE_OUT ?? fileURLToPath(new URL('../../../../build/console', import.meta.url));
  const port = Number(process.env.PORT ?? 8090);
  serve(process.env.GATEWAY_URL ?? 'http://127.0.0.1:8080', folder).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/console/`));
}
