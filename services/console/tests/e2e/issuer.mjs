// An OpenID Connect issuer that signs in its only user without a question.
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { createServer } from 'node:http';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const base64url = (value) => Buffer.from(value).toString('base64url');

export async function startIssuer(port, email) {
  const issuer = `http://127.0.0.1:${port}`;
  const codes = new Map();
  const jwt = (claims) => {
    const text = `${base64url(JSON.stringify({ alg: 'RS256', kid: 'one' }))}.${base64url(JSON.stringify(claims))}`;
    return `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`;
  };
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, issuer);
    const json = (body, status = 200) => response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    if (url.pathname === '/.well-known/openid-configuration') {
      return json({ issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/jwks`, response_types_supported: ['code'], id_token_signing_alg_values_supported: ['RS256'] });
    }
    if (url.pathname === '/jwks') return json({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' }] });
    if (url.pathname === '/authorize') {
      const code = randomBytes(16).toString('hex');
      const asked = url.searchParams;
      codes.set(code, asked);
      const back = new URL(asked.get('redirect_uri'));
      back.searchParams.set('state', asked.get('state'));
      if (server.refuses) back.searchParams.set('error', 'access_denied');
      else back.searchParams.set('code', code);
      return response.writeHead(302, { Location: back.href }).end();
    }
    let text = '';
    for await (const part of request) text += part;
    const form = new URLSearchParams(text);
    const asked = codes.get(form.get('code'));
    codes.delete(form.get('code'));
    const verifier = createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url');
    if (!asked || verifier !== asked.get('code_challenge')) return json({ error: 'invalid_grant' }, 400);
    const now = Math.floor(Date.now() / 1000);
    json({ access_token: 'x', token_type: 'Bearer', id_token: jwt({ iss: issuer, aud: asked.get('client_id'), sub: 'subject', nonce: asked.get('nonce'), email, email_verified: true, iat: now, exp: now + 60 }) });
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  server.issuer = issuer;
  return server;
}
