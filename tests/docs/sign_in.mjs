// sign_in.mjs BASE_URL EMAIL PASSWORD: uses the sign-in routes with a client of GoTrue and a client of OpenID Connect.
import {GoTrueClient} from '@supabase/auth-js';
import * as oidc from 'openid-client';
import {createRemoteJWKSet, jwtVerify} from 'jose';

const [base, email, password] = process.argv.slice(2);
const url = `${base}/auth/v1`;
const told = {};

const client = new GoTrueClient({url, autoRefreshToken: false, persistSession: false});
const wrong = await client.signInWithPassword({email, password: 'wrong password'});
told.wrong = {code: wrong.error?.code, status: wrong.error?.status, message: wrong.error?.message};
const unknown = await client.refreshSession({refresh_token: 'nothing'});
told.unknown = {code: unknown.error?.code, status: unknown.error?.status};
const right = await client.signInWithPassword({email, password});
told.right = {error: right.error, email: right.data.user?.email, token: Boolean(right.data.session?.access_token)};
const user = await client.getUser(right.data.session.access_token);
told.user = {error: user.error, email: user.data.user?.email};
const changed = await client.updateUser({data: {theme: 'dark'}});
told.changed = {error: changed.error, metadata: changed.data.user?.metadata};
const taken = await client.updateUser({password: 'another horse battery'});
told.taken = {code: taken.error?.code, status: taken.error?.status};
const renewed = await client.updateUser({password: 'another horse battery', current_password: password});
told.renewed = {error: renewed.error, email: renewed.data.user?.email};
await client.updateUser({password, current_password: 'another horse battery'});
const bad = await client.getUser('not.a.token');
told.bad = {code: bad.error?.code, status: bad.error?.status};

for (const server of [base, `${url}/.well-known/openid-configuration`]) {
    const configuration = await oidc.discovery(new URL(server), 'any', undefined, oidc.None(),
                                               {execute: [oidc.allowInsecureRequests]});
    const metadata = configuration.serverMetadata();
    const keys = createRemoteJWKSet(new URL(metadata.jwks_uri));
    const {payload} = await jwtVerify(right.data.session.access_token, keys, {issuer: metadata.issuer, typ: 'at+jwt'});
    (told.issuers ??= []).push([metadata.issuer, payload.iss]);
}
console.log(JSON.stringify(told));
