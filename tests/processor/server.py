"""The HTTP side: authentication, account, idempotency, faults, the log; then an operation, a page or the control API."""
import base64
import http.server
import json
import secrets
import select
import socket
import struct
import time
import urllib.parse

from . import api, pages
from .context import Context
from .errors import ApiError, invalid, status_error
from .forms import Params, decode
from .render import generation

BODY_MAX = 1 << 20


class ConnectionDropped(Exception):
    """Raised to close the connection without an answer."""


def make_server(processor, host, port):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_):
            pass

        def any(self):
            body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), BODY_MAX))
            parts = urllib.parse.urlsplit(self.path)
            try:
                if parts.path.startswith("/_control/"):
                    answer = control(processor, self, parts.path, body)
                elif parts.path.startswith("/v1/"):
                    answer = Call(processor, self, parts, body).run()
                else:
                    answer = pages.answer(processor, self.command, parts.path, body)
            except ConnectionDropped:
                self.close_connection = True
                return
            self.reply(*answer)

        def reply(self, status, headers, body):
            lines = [f"HTTP/1.1 {status} {http.server.BaseHTTPRequestHandler.responses.get(status, ('Answer',))[0]}",
                     *(f"{name}: {value}" for name, value in headers.items() if value is not None),
                     f"Content-Length: {len(body)}", "", ""]
            try:
                self.wfile.write("\r\n".join(lines).encode() + body)
            except OSError:
                self.close_connection = True

        do_GET = do_POST = do_DELETE = do_PUT = any

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 1024
        daemon_threads = True

        def handle_error(self, *_):
            pass  # the client has disconnected

    return Server((host, port), Handler)


def json_bytes(value):
    return json.dumps(value, indent=2).encode()


def control(processor, handler, path, body):
    """POST /_control/<method of Processor> {arguments}; only from this machine."""
    headers = {"Content-Type": "application/json"}
    if handler.client_address[0] not in ("127.0.0.1", "::1"):
        return 403, headers, b'{"error": "only from this machine"}\n'
    name = path.removeprefix("/_control/")
    run = getattr(processor, name, None) if name in processor.REMOTE else None
    if not run:
        return 404, headers, json_bytes({"error": f"no {name}", "known": sorted(processor.REMOTE)})
    try:
        result = run(**json.loads(body or b"{}"))
    except ApiError as error:
        return error.status, headers, json_bytes(error.body())
    except (AssertionError, TypeError, ValueError) as error:
        return 409, headers, json_bytes({"error": str(error)})
    return 200, headers, json_bytes({"result": result}) + b"\n"


class Call:
    """One request to the API."""

    def __init__(self, processor, handler, parts, body):
        self.processor, self.store, self.handler = processor, processor.store, handler
        self.method, self.path = handler.command, parts.path.rstrip("/")
        self.text = parts.query if self.method in ("GET", "DELETE") else body.decode(errors="replace")
        self.id = "req_" + secrets.token_hex(7)
        self.key = handler.headers.get("Idempotency-Key") if self.method == "POST" else None
        self.account = self.fault = None
        self.replayed = self.acted = False
        self.tree = {}

    def run(self):
        begin = time.time()
        status, body, raw = 0, None, None
        try:
            status, body, raw = self.answer()
        except ApiError as error:
            status, body = error.status, error.body()
        finally:
            self.log(begin, status, body)
        if self.processor.requires_key_on_post and self.method == "POST" and not self.key:
            self.processor.violation(self, "Idempotency-Key", "a POST without an idempotency key")
        headers = {"Content-Type": "application/json", "Request-Id": self.id, "Idempotency-Key": self.key,
                   "Stripe-Version": self.handler.headers.get("Stripe-Version"),
                   "Stripe-Account": self.handler.headers.get("Stripe-Account"),
                   "Idempotent-Replayed": "true" if self.replayed else None,
                   "Stripe-Should-Retry": (self.fault or {}).get("header")}
        return status, headers, json_bytes(body) + b"\n" if raw is None else raw

    def log(self, begin, status, body):
        self.processor.note({
            "id": self.id, "method": self.method, "path": self.path, "params": self.tree, "account": self.account,
            "key": self.key, "status": status, "error": (body or {}).get("error") if isinstance(body, dict) else None,
            "replayed": self.replayed, "acted": self.acted, "fault": self.fault and self.fault["kind"], "at": begin,
            "version": self.handler.headers.get("Stripe-Version"), "seconds": time.time() - begin})

    def answer(self):
        platform = self.authenticate()
        self.account = self.choose_account(platform)
        self.fault = fault = self.processor.faults.claim(self.method, self.path, self.account)
        if fault and not fault["act"] and fault["kind"] != "delay":
            return self.fault_before(fault)
        self.tree = decode(self.text)
        self.validate()
        run, ids = api.find(self.method, self.path)
        if not run:
            raise invalid(f"Unrecognized request URL ({self.method}: {self.path}).", status=404)
        context = Context(self.processor, platform, self.account,
                          generation(self.handler.headers.get("Stripe-Version")), self.id, self.key)
        kept = self.begin()
        if kept:
            self.replayed = True
            return self.fault_after(fault, *kept)
        if fault and fault["kind"] == "delay":
            self.processor.faults.wait(fault)
        return self.fault_after(fault, *self.execute(run, context, ids))

    # --- the parts ---

    def authenticate(self):
        kind, _, credentials = (self.handler.headers.get("Authorization") or "").partition(" ")
        if kind.lower() == "basic":
            try:
                credentials = base64.b64decode(credentials).decode().split(":")[0]
            except ValueError:
                credentials = ""
        with self.store.lock:
            platform = self.store.keys.get(credentials.strip())
        if not platform:
            raise invalid("Invalid API Key provided." if credentials else "You did not provide an API key.", status=401)
        return platform

    def choose_account(self, platform):
        wanted = self.handler.headers.get("Stripe-Account")
        with self.store.lock:
            if wanted and wanted != platform and self.store.parents.get(wanted) != platform:
                raise invalid(f"The provided key does not have access to account '{wanted}' (or that account does not "
                              "exist). Application access may have been revoked.", code="account_invalid", status=403)
        return wanted or platform

    def validate(self):
        problems = self.processor.schemas.check(self.method, self.path, self.tree)
        if problems:
            where, text = problems[0]
            for each in problems:
                self.processor.violation(self, *each)
            raise invalid(f"{text}: {where}", where, "parameter_unknown" if "unknown" in text else None)

    def begin(self):
        if not self.key:
            return None
        with self.store.lock:
            return self.processor.results.begin(self.account, self.key, self.method, self.path, self.tree)

    def execute(self, run, context, ids):
        keep = True
        with self.store.lock:
            try:
                status, body = 200, run(context, Params(self.tree), *ids)
                self.acted = True
            except ApiError as error:
                status, body, keep = error.status, error.body(), error.executed
            except Exception as error:  # a bug of this program: report it
                status, body, keep = 500, {"error": {"type": "api_error", "message": repr(error)}}, False
                self.processor.violation(self, "test processor", repr(error))
            fault = self.fault
            told = (status, body)
            if fault and fault["kind"] == "status":
                told = (fault["status"], status_error(fault["status"]).body())
                if fault["stored"]:
                    status, body = told
            if self.key:
                if keep:
                    self.processor.results.end(self.account, self.key, status, body)
                else:
                    self.processor.results.forget(self.account, self.key)
        return told

    # --- faults ---

    def fault_before(self, fault):
        """Causes a fault before the request is executed."""
        if fault["kind"] == "status":
            error = status_error(fault["status"])
            if fault["stored"] and self.key:
                self.tree = decode(self.text)
                with self.store.lock:
                    kept = self.processor.results.begin(self.account, self.key, self.method, self.path, self.tree)
                    if kept:
                        self.replayed = True
                        return (*kept, None)
                    self.processor.results.end(self.account, self.key, fault["status"], error.body())
            raise error
        return self.fault_after(fault, 200, {})

    def fault_after(self, fault, status, body):
        """Causes a fault after the request was executed."""
        kind = fault and fault["kind"]
        if kind == "timeout":
            self.hold(fault["seconds"])
            raise ConnectionDropped
        if kind == "reset":
            self.handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.handler.connection.close()
            raise ConnectionDropped
        return status, body, b'{"id": "pi_' if kind == "garbage" else None

    def hold(self, seconds):
        """Sends no answer until the client disconnects."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.processor.closing.is_set():
            readable, _, _ = select.select([self.handler.connection], [], [], 0.05)
            if readable:
                try:
                    if not self.handler.connection.recv(1, socket.MSG_PEEK):
                        return
                except OSError:
                    return
                time.sleep(0.05)
