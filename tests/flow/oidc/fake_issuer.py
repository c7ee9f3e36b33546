"""An issuer whose documents, codes, keys and ID tokens a test can falsify."""
import base64
import gzip
import hashlib
import hmac
import http.server
import itertools
import json
import secrets
import threading
import time
import urllib.parse

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

_numbers = itertools.count(1)
_rsa_keys = {}


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def part(value):
    return b64(json.dumps(value, separators=(",", ":")).encode())


def number(value):
    return b64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def rsa_key(bits=2048, name="main"):
    """Returns an RSA key; each key is made once, because that takes long."""
    if (bits, name) not in _rsa_keys:
        _rsa_keys[bits, name] = rsa.generate_private_key(public_exponent=65537, key_size=bits)
    return _rsa_keys[bits, name]


def rsa_jwk(key, kid, **changes):
    numbers = key.public_key().public_numbers()
    return {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": kid, "n": number(numbers.n), "e": number(numbers.e),
            **changes}


def ec_jwk(key, kid):
    numbers = key.public_key().public_numbers()
    return {"kty": "EC", "use": "sig", "alg": "ES256", "crv": "P-256", "kid": kid,
            "x": b64(numbers.x.to_bytes(32, "big")), "y": b64(numbers.y.to_bytes(32, "big"))}


def sign_rs256(key):
    return lambda data: key.sign(data, padding.PKCS1v15(), hashes.SHA256())


def sign_es256(key):
    def sign(data):
        r, s = decode_dss_signature(key.sign(data, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    return sign


def sign_hs256(secret):
    return lambda data: hmac.new(secret, data, hashlib.sha256).digest()


class Issuer:
    """An issuer with a path of its own, so that no cached document of another issuer is used for it."""

    client_id = "the-client"
    client_secret = "the client's secret & more"

    def __init__(self, server):
        self.path = f"/i{next(_numbers)}"
        self.url = f"http://127.0.0.1:{server.port}{self.path}"
        self.key = rsa_key()
        self.jwks = [rsa_jwk(self.key, "k1")]
        self.header = {"alg": "RS256", "kid": "k1", "typ": "JWT"}
        self.sign = sign_rs256(self.key)
        self.discovery = {}  # changes to the discovery document; the value ... leaves a member out
        self.claims = {}  # changes to every ID token
        self.tamper = lambda token: token
        self.packed = False  # answers come as gzip, with a byte order mark and a number beyond 64 bits
        self.answer = None  # (status, body) in place of the token endpoint's own answer
        self.codes = {}
        self.hits = {"discovery": 0, "jwks": 0, "token": 0}
        server.issuers[self.path] = self

    @property
    def settings(self):
        return {"oidc_issuer": self.url, "oidc_client_id": self.client_id, "oidc_client_secret": self.client_secret}

    def approve(self, url, **claims):
        """Does what the provider does when a person consents at `url`; returns the parameters of the callback."""
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query, strict_parsing=True))
        assert url.startswith(f"{self.url}/authorize?") and asked["client_id"] == self.client_id
        assert asked["response_type"] == "code" and asked["scope"] == "openid email profile"
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        self.codes[code] = (asked, claims)
        return {"code": code, "state": asked["state"], "iss": self.url}

    def document(self):
        document = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/jwks",
            **self.discovery,
        }
        return {name: value for name, value in document.items() if value is not ...}

    def token(self, form):
        self.hits["token"] += 1
        if self.answer:
            return self.answer
        if form.get("client_id") != self.client_id or form.get("client_secret") != self.client_secret:
            return 401, {"error": "invalid_client"}
        asked, claims = self.codes.pop(form.get("code"), (None, None))
        verifier = form.get("code_verifier", "")
        if not asked or asked["redirect_uri"] != form.get("redirect_uri") or form.get("grant_type") != "authorization_code":
            return 400, {"error": "invalid_grant", "error_description": "Bad Request"}
        if b64(hashlib.sha256(verifier.encode()).digest()) != asked["code_challenge"]:
            return 400, {"error": "invalid_grant", "error_description": "verifier"}
        access = secrets.token_urlsafe(16)
        return 200, {"access_token": access, "token_type": "Bearer", "expires_in": 3599, "scope": "openid",
                     "id_token": self.tamper(self.id_token(asked, access, claims))}

    def id_token(self, asked, access, claims):
        now = int(time.time())
        body = {"iss": self.url, "aud": self.client_id, "azp": self.client_id, "nonce": asked["nonce"], "iat": now,
                "exp": now + 3600, "at_hash": b64(hashlib.sha256(access.encode()).digest()[:16]),
                "email_verified": True, **claims, **self.claims}
        body = {name: value for name, value in body.items() if value is not ...}
        header = {name: value for name, value in self.header.items() if value is not ...}
        text = f"{part(header)}.{part(body)}"
        return f"{text}.{b64(self.sign(text.encode()))}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body, **headers):
        issuer, _ = self.issuer()
        if issuer and issuer.packed:
            body = gzip.compress(b"\xef\xbb\xbf" + json.dumps({**body, "serial": 1 << 64}).encode())
            headers["Content_Encoding"] = "gzip"
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def issuer(self):
        prefix, _, rest = self.path[1:].partition("/")
        return self.server.issuers.get("/" + prefix), "/" + rest

    def do_GET(self):
        issuer, rest = self.issuer()
        if issuer and rest == "/.well-known/openid-configuration":
            issuer.hits["discovery"] += 1
            return self.reply(200, issuer.document(), Cache_Control="public, max-age=3600")
        if issuer and rest == "/jwks":
            issuer.hits["jwks"] += 1
            return self.reply(200, {"keys": issuer.jwks}, Cache_Control="public, max-age=3600")
        return self.reply(404, {})

    def do_POST(self):
        issuer, rest = self.issuer()
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if not issuer or rest != "/token":
            return self.reply(404, {})
        return self.reply(*issuer.token(dict(urllib.parse.parse_qsl(body, keep_blank_values=True))))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.issuers = {}
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()
