"""A stand-in for a third-party API: it records its requests, issues tokens, and accepts them."""
import base64
import collections
import gzip
import hashlib
import http.server
import itertools
import json
import secrets
import threading
import time
import urllib.parse

Request = collections.namedtuple("Request", "method path query headers body")


class Api:
    """Paths: /echo shows the request; /status/404, /slow/2 (seconds), /large/2000000 (bytes), /raw (.raw with .raw_headers),
    /to?url=&status= (a redirect), /guarded (401 without a live token), /oauth/token and /oauth/revoke. Any other path answers
    {"ok": true}."""

    def __init__(self):
        self.requests, self.lock = [], threading.Lock()
        self.raw, self.raw_headers = b"", {}
        self.live, self.grants, self.codes = set(), [], {}  # live tokens; token requests; code -> authorisation request
        self.refresh, self.revoked = {}, []
        self.expires_in, self.delay, self.refuse = 3600, 0, None
        self.packed = False  # whether the token server packs its answers
        self.rotates = True
        self.going = threading.Event()  # while it is not set, the token server holds its answers
        self.going.set()
        numbers = itertools.count(1)
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                split = urllib.parse.urlsplit(self.path)
                request = Request(self.command, split.path, split.query, {k.lower(): v for k, v in self.headers.items()}, body)
                with api.lock:
                    api.requests.append(request)
                    number = next(numbers)
                status, answer, headers = api.answer(request, number)
                raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(raw)

            do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = any

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size, daemon_threads = 128, True

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def requests_to(self, path):
        with self.lock:
            return [request for request in self.requests if request.path == path]

    def answer(self, request, number):
        parts = request.path.strip("/").split("/")
        query = dict(urllib.parse.parse_qsl(request.query))
        if parts[0] == "oauth":
            status, granted, headers = self.oauth(parts[1], request, number)
            if self.packed:
                granted = gzip.compress(b"\xef\xbb\xbf" + json.dumps({**granted, "serial": 1 << 64}).encode())
            return status, granted, {**headers, **({"Content-Encoding": "gzip"} if self.packed else {})}
        if parts[0] == "status":
            return int(parts[1]), {"error": "as asked"}, {}
        if parts[0] == "slow":
            time.sleep(float(parts[1]))
        if parts[0] == "large":
            return 200, b'"' + b"x" * int(parts[1]) + b'"', {}
        if parts[0] == "raw":
            return 200, self.raw, self.raw_headers
        if parts[0] == "to":
            return int(query.get("status", 302)), {"moved": True}, {"Location": query["url"]}
        if parts[0] == "guarded" and request.headers.get("authorization", "")[7:] not in self.live:
            return 401, {"error": "token"}, {}
        if parts[0] in ("echo", "guarded"):
            return 200, {"method": request.method, "path": request.path, "query": request.query, "headers": request.headers,
                         "body": request.body.decode()}, {}
        return 200, {"ok": True}, {}

    # --- tokens ---

    def consent(self, url):
        """Returns the parameters that the user's browser brings back from the authorisation address."""
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
        code = secrets.token_hex(8)
        self.codes[code] = asked
        return {"code": code, "state": asked["state"]}

    def oauth(self, what, request, number):
        form = dict(urllib.parse.parse_qsl(request.body.decode()))
        if what == "revoke":
            self.revoked.append(form["token"])
            return 200, {}, {}
        with self.lock:
            self.grants.append(form)
        if self.delay:
            time.sleep(self.delay)
        self.going.wait(60)
        if self.refuse:
            return self.refuse[0], {"error": self.refuse[1], "error_description": "secret-of-the-server"}, {}
        kind = form.get("grant_type")
        if kind == "authorization_code":
            asked = self.codes.pop(form.get("code"), None)
            challenge = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest()).rstrip(b"=").decode()
            if not asked or asked["code_challenge"] != challenge or asked["redirect_uri"] != form["redirect_uri"]:
                return 400, {"error": "invalid_grant"}, {}
        if kind == "refresh_token":
            with self.lock:
                known = form["refresh_token"] in self.refresh
                if known and self.rotates:
                    del self.refresh[form["refresh_token"]]
            if not known:
                return 400, {"error": "invalid_grant"}, {}
        token, again = f"access-{number}-{secrets.token_hex(6)}", f"refresh-{number}-{secrets.token_hex(6)}"
        self.live.add(token)
        answer = {"access_token": token, "token_type": "Bearer", "expires_in": self.expires_in}
        if kind != "client_credentials":
            self.refresh[again] = token
            answer["refresh_token"] = again
        return 200, answer, {}
