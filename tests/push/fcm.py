"""A simulation of Firebase Cloud Messaging: the token endpoint and messages:send, on one HTTP/2 server."""
import asyncio
import collections
import functools
import itertools
import json
import pathlib
import re
import secrets
import tempfile
import threading
import time
import urllib.parse

import h2.errors
import jsonschema
import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from . import certificates
from .faults import Faults
from .http2 import Answer, Drop, GoAway, Reset, Server

TOKEN_URL = "https://oauth2.googleapis.com/token"
SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
SCHEMA = pathlib.Path(__file__).resolve().parents[2].parent / "shared/reference/data/fcm-send-request.schema.json"
FCM_ERROR = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
STATUS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
          429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}
PAGE = b"<!DOCTYPE html><html><head><title>Error</title></head><body><h1>That's an error.</h1></body></html>"
SEND_PATH = re.compile(r"/v1/projects/([^/]+)/messages:send")
PAYLOAD_MAX = 4096
TTL_MAX = 2419200
KEYS = 8  # of new accounts, in turn: a new key takes a sixth of a second


@functools.cache
def rsa_key(number):
    return rsa.generate_private_key(65537, 2048)


class FcmError(Exception):
    def __init__(self, status, code, message, about=None):
        super().__init__(message)
        self.status, self.code, self.about = status, code, about


class Fcm:
    """A server that listens on its own port as soon as it is created. The authority `ca_file` signs its certificate."""

    # The methods that POST /_control/<name> may call (control.py).
    REMOTE = frozenset("""new_account has_account kill revive fault release clear_faults faults_left sends messages violations stats
        revoke_tokens expire_account forget grants ping""".split())

    def __init__(self, port=0, host="127.0.0.1", streams_max=100, token_seconds=3599, schema=SCHEMA):
        self.lock = threading.Lock()
        self.accounts, self.tokens, self.dead = {}, {}, set()
        self.numbers = itertools.count()  # of accounts with a key of KEYS
        self.faults = Faults("goaway", "reset", "refuse", "huge", "redirect")
        self.token_seconds = token_seconds
        self._sends, self._violations, self._grants = [], [], []
        self.validator = None
        if schema and pathlib.Path(schema).is_file():
            self.validator = jsonschema.Draft202012Validator(json.loads(pathlib.Path(schema).read_text()))
        self.folder = tempfile.TemporaryDirectory(prefix="push-fcm-")
        self.ca_file, server = certificates.make(pathlib.Path(self.folder.name))
        self.server = Server(self.answer, certificates.server_context(server, "h2"), port, host, streams_max)
        self.port = self.server.port
        self.url = f"https://{host}:{self.port}"
        self.token_url = f"{self.url}/token"

    def close(self):
        self.server.close()
        self.folder.cleanup()

    def ping(self):
        return "pong"

    # --- methods that change the state ---

    def new_account(self, project_id=None, key=None):
        """A service account file, as text, of a Firebase project; `key`: PEM, else another key than those of the seven accounts before."""
        project_id = project_id or f"shop-{secrets.token_hex(4)}"
        if key:
            private = serialization.load_pem_private_key(key.encode(), None)
        else:
            private = rsa_key(next(self.numbers) % KEYS)
        email = f"firebase-adminsdk-{secrets.token_hex(3)}@{project_id}.iam.gserviceaccount.com"
        pem = private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                    serialization.NoEncryption()).decode()
        with self.lock:
            self.accounts[email] = {"project": project_id, "key": private.public_key()}
        return json.dumps({
            "type": "service_account", "project_id": project_id, "private_key_id": secrets.token_hex(20),
            "private_key": pem, "client_email": email, "client_id": str(secrets.randbelow(10**20)),
            "auth_uri": "https://accounts.google.com/o/oauth2/auth", "token_uri": TOKEN_URL,
            "universe_domain": "googleapis.com"}, indent=2)

    def has_account(self, email):
        with self.lock:
            return email in self.accounts

    def expire_account(self, email):
        """Simulates a deletion in Google's console: no further tokens are issued, and existing tokens become invalid."""
        with self.lock:
            account = self.accounts.pop(email)
            self.tokens = {token: each for token, each in self.tokens.items() if each["project"] != account["project"]}

    def revoke_tokens(self):
        with self.lock:
            self.tokens.clear()

    def kill(self, token):
        """Simulates that the app of a token was uninstalled."""
        with self.lock:
            self.dead.add(token)

    def revive(self, token):
        with self.lock:
            self.dead.discard(token)

    def fault(self, kind, **more):
        self.faults.add(kind, **more)

    def release(self):
        """Continues the requests that a fault holds."""
        self.faults.release_held()

    def clear_faults(self):
        self.faults.clear()

    def faults_left(self):
        return self.faults.remaining()

    # --- methods that report ---

    def sends(self, token=None):
        """Every request to messages:send, in order, with status and code; faults too."""
        with self.lock:
            return [dict(each) for each in self._sends if token in (None, each["token"])]

    def messages(self, token=None):
        """The accepted messages, as they would be sent to the device."""
        return [each["message"] for each in self.sends(token) if each["acted"]]

    def grants(self):
        with self.lock:
            return [dict(each) for each in self._grants]

    def violations(self):
        """Requests that the real FCM would refuse, or that a client must never send."""
        with self.lock:
            return list(self._violations)

    def stats(self):
        counts = collections.Counter(each["status"] for each in self.sends())
        return {**self.server.stats(), "sends": sum(counts.values()), "statuses": {str(k): v for k, v in counts.items()}}

    def forget(self):
        with self.lock:
            self._sends.clear()
            self._violations.clear()
            self._grants.clear()

    # --- requests ---

    async def answer(self, request):
        path = urllib.parse.urlsplit(request.path).path
        if path == "/token" and request.method == "POST":
            return await self.grant(request)
        found = SEND_PATH.fullmatch(path)
        if found and request.method == "POST":
            return await self.send(request, found[1])
        self.violation(request.path, f"{request.method}: no such path")
        return Answer(404, PAGE, {"Content-Type": "text/html; charset=UTF-8"})

    def violation(self, where, text):
        with self.lock:
            self._violations.append([where, text])

    async def misbehave(self, fault):
        """Causes a fault: returns an Answer, None to continue, or raises."""
        if not fault:
            return None
        kind = fault["kind"]
        if kind == "delay":
            await asyncio.sleep(fault["seconds"])
            return None
        if kind == "hold":
            await asyncio.shield(asyncio.wrap_future(fault["held"]))
            return None
        if kind == "hang":
            await asyncio.sleep(86400)
        if kind == "drop":
            raise Drop
        if kind == "goaway":
            raise GoAway
        if kind in ("reset", "refuse"):
            raise Reset(h2.errors.ErrorCodes.INTERNAL_ERROR if kind == "reset" else h2.errors.ErrorCodes.REFUSED_STREAM)
        if kind == "huge":
            return Answer(200, b'{"name": "' + b"x" * 10_000_000 + b'"}', {"Content-Type": "application/json"})
        if kind == "redirect":  # a client that follows the redirect causes a violation
            return Answer(307, b"", {"Location": f"{self.url}/elsewhere"})
        if kind == "garbage":
            return Answer(200, PAGE, {"Content-Type": "text/html; charset=UTF-8"})
        headers = {} if fault["retry_after"] is None else {"Retry-After": str(fault["retry_after"])}
        if fault["html"]:
            return Answer(fault["status"], PAGE, {"Content-Type": "text/html; charset=UTF-8", **headers})
        if fault["on"] == "token":
            return json_answer(fault["status"], {"error": fault["code"] or "internal_failure"}, headers)
        return error_answer(fault["status"], fault["code"], "told to fail", headers)

    # --- POST /token ---

    async def grant(self, request):
        record = {"at": time.time(), "connection": request.connection, "status": 0, "email": None}
        with self.lock:
            self._grants.append(record)
        answer = await self.misbehave(self.faults.claim("token", None))
        if not answer:
            try:
                answer = json_answer(200, self.grant_token(request, record))
            except (FcmError, jwt.InvalidTokenError) as error:
                answer = json_answer(400, {"error": "invalid_grant", "error_description": str(error)})
        record["status"] = answer.status
        return answer

    def grant_token(self, request, record):
        form = dict(urllib.parse.parse_qsl(request.body.decode(), strict_parsing=True))
        if request.headers.get("content-type", "").split(";")[0] != "application/x-www-form-urlencoded":
            raise FcmError(400, None, "the body must be a form")
        if form.get("grant_type") != GRANT:
            raise FcmError(400, None, "unsupported grant_type")
        assertion = form.get("assertion", "")
        record["email"] = email = jwt.decode(assertion, options={"verify_signature": False}).get("iss")
        with self.lock:
            account = self.accounts.get(email)
        if not account:
            raise FcmError(400, None, "Invalid grant: account not found")
        claims = jwt.decode(assertion, account["key"], algorithms=["RS256"], audience=TOKEN_URL, leeway=60,
                            options={"require": ["iss", "aud", "iat", "exp"]})
        if claims.get("scope") != SCOPE:
            raise FcmError(400, None, "Invalid OAuth scope or ID token audience provided.")
        if claims["exp"] - claims["iat"] > 3600:
            raise FcmError(400, None, "Invalid JWT: Token must be a short-lived token (60 minutes).")
        token = "ya29." + secrets.token_urlsafe(90)
        with self.lock:
            self.tokens[token] = {"project": account["project"], "expires": time.time() + self.token_seconds}
        return {"access_token": token, "expires_in": self.token_seconds, "token_type": "Bearer"}

    # --- POST messages:send ---

    async def send(self, request, project):
        record = {"at": time.time(), "project": project, "token": None, "message": None, "status": 0, "code": None,
                  "acted": False, "fault": None, "connection": request.connection, "stream": request.stream}
        try:
            record["message"] = json.loads(request.body)["message"]
            record["token"] = record["message"].get("token")
        except (ValueError, KeyError, TypeError, AttributeError):
            pass
        with self.lock:
            self._sends.append(record)
        fault = self.faults.claim("send", record["token"])
        record["fault"] = fault and fault["kind"]
        if fault and fault["act"]:
            self.deliver(request, project, record)
        answer = await self.misbehave(fault) or self.deliver(request, project, record)
        record["status"] = answer.status
        return answer

    def deliver(self, request, project, record):
        try:
            self.authorize(request, project)
            self.check(request, record["message"])
            with self.lock:
                if record["token"] in self.dead:
                    raise FcmError(404, "UNREGISTERED", "Requested entity was not found.")
        except FcmError as error:
            record["code"] = error.code or STATUS.get(error.status)
            if error.status in (400, 403):
                self.violation(error.about or "send", str(error))
            return error_answer(error.status, error.code, str(error))
        record["acted"] = True
        return json_answer(200, {"name": f"projects/{project}/messages/0:{int(time.time() * 1e6)}%{secrets.token_hex(8)}"})

    def authorize(self, request, project):
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        with self.lock:
            known = self.tokens.get(token)
        if scheme != "Bearer" or not known or known["expires"] < time.time():
            raise FcmError(401, None, "Request had invalid authentication credentials.")
        if known["project"] != project:
            raise FcmError(403, None, "Permission denied on resource project.", project)

    def check(self, request, message):
        if request.headers.get("content-type", "").split(";")[0] != "application/json":
            raise FcmError(400, None, "Content-Type must be application/json", "content-type")
        if not isinstance(message, dict):
            raise FcmError(400, None, "Invalid JSON payload received.", "message")
        if self.validator:
            for error in self.validator.iter_errors(json.loads(request.body)):
                raise FcmError(400, None, error.message, ".".join(map(str, error.absolute_path)))
        if [name for name in ("token", "topic", "condition") if message.get(name)] != ["token"]:
            raise FcmError(400, "INVALID_ARGUMENT", "exactly one of token, topic or condition", "message")
        data = message.get("data") or {}
        for name in data:
            if name in ("from", "message_type") or name.startswith(("google", "gcm")):
                raise FcmError(400, "INVALID_ARGUMENT", f"Invalid data payload key: {name}", f"message.data.{name}")
        travels = json.dumps([message.get("notification"), data], ensure_ascii=False, separators=(",", ":"))
        if len(travels.encode()) > PAYLOAD_MAX:
            raise FcmError(400, "INVALID_ARGUMENT", "Message is too big", "message")
        ttl = (message.get("android") or {}).get("ttl", "0s")
        if not re.fullmatch(r"\d+(\.\d{1,9})?s", ttl) or float(ttl[:-1]) > TTL_MAX:
            raise FcmError(400, "INVALID_ARGUMENT", "Invalid ttl", "message.android.ttl")


def json_answer(status, value, headers=None):
    return Answer(status, json.dumps(value, indent=2).encode(), {"Content-Type": "application/json; charset=UTF-8", **(headers or {})})


def error_answer(status, code, message, headers=None):
    error = {"code": status, "message": message, "status": STATUS.get(status, "UNKNOWN")}
    if code:
        error["details"] = [{"@type": FCM_ERROR, "errorCode": code}]
    return json_answer(status, {"error": error}, headers)
