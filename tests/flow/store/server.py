"""A store to develop against: its server API on a loopback port, and the notifications that it sends.

    store = Store()                     # store.production_url, store.sandbox_url, store.root_pem
    store.register("Sandbox", url)      # where notifications go, as on the store's own pages
    store.key()                         # {"issuer_id", "key_id", "private_key"}: what an administrator uploads
    app = store.app("Sandbox")
    store.send(app, *Subscription(app).buy())
"""
import base64
import http.server
import json
import re
import threading
import time
import uuid

import jwt
import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from .app import App, now_ms
from .chain import Chain

ENVIRONMENTS = ("Production", "Sandbox")


class StoreError(Exception):
    def __init__(self, status, code=None, text=None):
        super().__init__(text)
        self.status, self.code, self.text = status, code, text


class Store:
    def __init__(self, port=0, bundle=None, app_id=None, chain=None):
        self.chain = chain or Chain()
        self.own = {name: value for name, value in (("bundle", bundle), ("app_id", app_id)) if value}
        self.keys = {}      # key_id -> (issuer_id, public key)
        self.urls = {}      # environment -> address for notifications
        self.tests = {}     # token -> {"signedPayload", "sendAttempts"}
        self.sent = []      # (environment, notificationUUID, status) of every notification
        self.calls = []     # (method, path) of every call
        self.transactions = {}  # transaction id -> signed
        self.subscriptions = {}  # transaction id -> (original id, signed transaction, signed renewal, status)
        self.control = None     # function that carries out a line posted to /_control and returns a text
        self.fail_with = None   # status of all answers, as when the store is down
        self.delay = 0
        self.lock = threading.Lock()
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", port), self.handler())
        self.http.daemon_threads = True
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    @property
    def production_url(self):
        return f"http://127.0.0.1:{self.port}/production"

    @property
    def sandbox_url(self):
        return f"http://127.0.0.1:{self.port}/sandbox"

    @property
    def root_pem(self):
        return self.chain.root_pem

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    # --- actions of an administrator on the store's pages ---

    def key(self):
        """Makes a new key for the server API."""
        private = ec.generate_private_key(ec.SECP256R1())
        issuer, ident = str(uuid.uuid4()), uuid.uuid4().hex[:10].upper()
        self.keys[ident] = (issuer, private.public_key())
        pem = private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
        return {"issuer_id": issuer, "key_id": ident, "private_key": pem}

    def register(self, environment, url):
        self.urls[environment] = url

    def app(self, environment="Sandbox"):
        return App(self.chain, environment, **self.own)

    # --- notifications ---

    def post(self, environment, token, url=None):
        """Makes one attempt to deliver. Returns the status of the answer, 0 if there is none."""
        try:
            status = requests.post(url or self.urls[environment], json={"signedPayload": token}, timeout=60).status_code
        except requests.RequestException:
            status = 0
        return status

    def send(self, app, kind, subtype=None, options=None, url=None):
        """Sends one notification, without repeating it. Returns the status of the answer."""
        options = options or {}
        payload = app.notification(kind, subtype, **options)
        self.record_transaction(app, options)
        status = self.post(app.environment, app.chain.sign(payload), url)
        with self.lock:
            self.sent.append((app.environment, payload["notificationUUID"], status))
        return status

    def record_transaction(self, app, options):
        transaction = options.get("transaction")
        if not transaction:
            return
        signed = app.chain.sign(transaction)
        with self.lock:
            self.transactions[transaction["transactionId"]] = signed
            if options.get("renewal"):
                self.subscriptions[transaction["originalTransactionId"]] = (
                    signed, app.chain.sign(options["renewal"]), options.get("status") or 1)

    def send_test(self, environment, token):
        app = self.app(environment)
        signed = app.chain.sign(app.notification("TEST"))
        test = {"signedPayload": signed, "sendAttempts": []}
        status = self.post(environment, signed)
        result = "SUCCESS" if 200 <= status <= 206 else "NO_RESPONSE" if status == 0 else "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
        test["sendAttempts"].append({"attemptDate": now_ms(), "sendAttemptResult": result})
        with self.lock:
            self.tests[token] = test

    # --- the server API ---

    def check_token(self, header):
        """Checks the caller's JWT. Any fault is refused with 401 and an empty body."""
        try:
            token = re.fullmatch(r"Bearer (\S+)", header or "")[1]
            head = jwt.get_unverified_header(token)
            assert head["alg"] == "ES256" and head["typ"] == "JWT"
            issuer, public = self.keys[head["kid"]]
            claims = jwt.decode(token, public, algorithms=["ES256"], audience="appstoreconnect-v1", issuer=issuer,
                                options={"require": ["iss", "iat", "exp", "aud", "bid"]})
            assert claims["exp"] - claims["iat"] <= 3600 and abs(claims["iat"] - time.time()) < 300
            assert claims["bid"] == self.app().bundle
        except (AssertionError, KeyError, TypeError, jwt.InvalidTokenError):
            raise StoreError(401) from None

    def call(self, method, path, authorization):
        found = re.match(r"/(production|sandbox)(/.*)$", path)
        if not found:
            raise StoreError(404)
        environment, path = found[1].capitalize(), found[2].split("?")[0]
        with self.lock:
            self.calls.append((method, path))
        if self.delay:
            time.sleep(self.delay)
        if self.fail_with:
            raise StoreError(self.fail_with, 5000000, "An unknown error occurred.")
        self.check_token(authorization)
        for known, pattern, answer in self.routes():
            matched = re.fullmatch(pattern, path)
            if known == method and matched:
                return answer(environment, *matched.groups())
        raise StoreError(404)

    def routes(self):
        return (
            ("POST", r"/inApps/v1/notifications/test", self.test_begin),
            ("GET", r"/inApps/v1/notifications/test/([^/]+)", self.test_outcome),
            ("GET", r"/inApps/v1/transactions/([^/]+)", self.transaction),
            ("GET", r"/inApps/v1/subscriptions/([^/]+)", self.statuses),
        )

    def test_begin(self, environment):
        if environment not in self.urls:
            raise StoreError(404, 4040007, "No App Store Server Notification URL found for provided app. "
                                           "Check that a URL is configured in App Store Connect for this environment.")
        token = f"{uuid.uuid4()}_{now_ms()}"
        threading.Thread(target=self.send_test, args=(environment, token), daemon=True).start()
        return {"testNotificationToken": token}

    def test_outcome(self, _, token):
        with self.lock:
            if token not in self.tests:
                raise StoreError(404, 4040008, "Either the test notification token is expired or the notification and "
                                               "status are not yet available.")
            return self.tests[token]

    def transaction(self, _, ident):
        if ident not in self.transactions:
            raise StoreError(404, 4040010, "Transaction id not found.")
        return {"signedTransactionInfo": self.transactions[ident]}

    def statuses(self, environment, ident):
        if ident not in self.subscriptions:
            raise StoreError(404, 4040010, "Transaction id not found.")
        transaction, renewal, status = self.subscriptions[ident]
        app = self.app(environment)
        return {"environment": environment, "bundleId": app.bundle, "appAppleId": app.app_id, "data": [{
            "subscriptionGroupIdentifier": "20000001", "lastTransactions": [{
                "status": status, "originalTransactionId": ident, "signedTransactionInfo": transaction,
                "signedRenewalInfo": renewal}]}]}

    def handler(store):  # noqa: N805 (the handler's own self is another)
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                try:
                    if store.control and self.path in ("/", "/_control"):
                        told = store.control(text.decode()) if self.path != "/" else "a test app store"
                        status, body = 200, {"result": told}
                    else:
                        status, body = 200, store.call(self.command, self.path, self.headers.get("Authorization"))
                except StoreError as refused:
                    status = refused.status
                    body = {"errorCode": refused.code, "errorMessage": refused.text} if refused.code else None
                data = b"" if body is None else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        return Handler


def decode_payload(token):
    """Returns the payload of a JWS without verifying it."""
    body = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
