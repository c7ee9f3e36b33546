"""A simulation of a web push service (RFC 8030) and its browsers: verifies VAPID (RFC 8292), decrypts (RFC 8291, 8188)."""
import base64
import collections
import http.server
import json
import re
import secrets
import socket
import struct
import threading
import time

import jwt
from cryptography.hazmat.primitives import hashes, hmac, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from .faults import Faults

BODY_MAX = 4096
DAY = 86400
TTL_MAX = 2419200


class WebPushError(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _hmac(key, data):
    made = hmac.HMAC(key, hashes.SHA256())
    made.update(data)
    return made.finalize()


def _point(key):
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def decrypt(body, private, auth):
    """The text of an aes128gcm body of one record or more, as a browser reads it; ValueError when it cannot."""
    if len(body) < 21:
        raise ValueError("no header")
    salt, record_size, key_length = body[:16], struct.unpack(">I", body[16:20])[0], body[20]
    if key_length != 65 or record_size < 18:
        raise ValueError("no public key in the header, or records too small")
    sender_point = body[21:86]
    sender = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender_point)
    shared = private.exchange(ec.ECDH(), sender)
    info = b"WebPush: info\0" + _point(private.public_key()) + sender_point
    keying = _hmac(_hmac(auth, shared), info + b"\1")
    extracted = _hmac(salt, keying)
    key = _hmac(extracted, b"Content-Encoding: aes128gcm\0\1")[:16]
    nonce = int.from_bytes(_hmac(extracted, b"Content-Encoding: nonce\0\1")[:12], "big")
    text, rest = b"", body[86:]
    for sequence in range(len(rest) // record_size + 1):
        record, rest = rest[:record_size], rest[record_size:]
        plain = AESGCM(key).decrypt((nonce ^ sequence).to_bytes(12, "big"), record, None).rstrip(b"\0")
        if not plain or plain[-1] != (1 if rest else 2):
            raise ValueError("wrong delimiter")
        text += plain[:-1]
        if not rest:
            return text
    raise ValueError("no last record")


class PushService:
    """A server that listens on its own port as soon as it is created."""

    REMOTE = frozenset("""subscribe has_subscription unsubscribe fault release clear_faults faults_left sends messages violations stats forget
        ping""".split())

    def __init__(self, port=0, host="127.0.0.1"):
        self.lock = threading.Lock()
        self.subscriptions = {}
        self.faults = Faults("reset", "drip", "redirect")
        self._sends, self._violations = [], []
        self.open = self.peak = 0
        self.closing = threading.Event()
        self.server = make_server(self, host, port)
        self.port = self.server.server_address[1]
        self.origin = self.url = f"http://{host}:{self.port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()

    def ping(self):
        return "pong"

    # --- methods that change the state ---

    def subscribe(self, key=None):
        """PushManager.subscribe() and JSON.stringify(): a browser that accepts messages signed with `key`
        (applicationServerKey, base64url; None: with any key)."""
        identity, auth, private = secrets.token_urlsafe(24), secrets.token_bytes(16), ec.generate_private_key(ec.SECP256R1())
        with self.lock:
            self.subscriptions[identity] = {"private": private, "auth": auth, "key": key, "gone": None}
        return json.dumps({"endpoint": f"{self.url}/push/{identity}", "expirationTime": None,
                           "keys": {"p256dh": b64(_point(private.public_key())), "auth": b64(auth)}})

    def has_subscription(self, subscription):
        with self.lock:
            return identity_of(subscription) in self.subscriptions

    def secrets(self, subscription):
        """The secrets of the browser: its private key and the authentication secret."""
        kept = self.subscriptions[identity_of(subscription)]
        return {"private": b64(kept["private"].private_numbers().private_value.to_bytes(32, "big")), "auth": b64(kept["auth"])}

    def unsubscribe(self, subscription, status=410):
        """Simulates that the user revoked the permission; `status`: 404 or 410."""
        with self.lock:
            self.subscriptions[identity_of(subscription)]["gone"] = status

    def fault(self, kind, token="*", **more):
        """`token`: a subscription, or its id with * and ?."""
        self.faults.add(kind, token=identity_of(token), **more)

    def release(self):
        """Continues the requests that a fault holds."""
        self.faults.release_held()

    def clear_faults(self):
        self.faults.clear()

    def faults_left(self):
        return self.faults.remaining()

    # --- methods that report ---

    def sends(self, subscription=None):
        """All requests, in order, with headers, status and decrypted text."""
        wanted = subscription and identity_of(subscription)
        with self.lock:
            return [dict(each) for each in self._sends if wanted in (None, each["id"])]

    def messages(self, subscription=None):
        """The messages that the service worker received, as parsed JSON."""
        return [each["message"] for each in self.sends(subscription) if each["acted"]]

    def violations(self):
        with self.lock:
            return list(self._violations)

    def stats(self):
        counts = collections.Counter(each["status"] for each in self.sends())
        tokens = {each["authorization"] for each in self.sends()}
        return {"sends": sum(counts.values()), "statuses": {str(k): v for k, v in counts.items()}, "peak": self.peak,
                "tokens": len(tokens)}

    def forget(self):
        with self.lock:
            self._sends.clear()
            self._violations.clear()

    # --- a request ---

    def receive(self, path, headers, body, record):
        """Verifies and decrypts a request and completes its record; raises Refused with the status of an error."""
        with self.lock:
            subscription = self.subscriptions.get(record["id"])
        if not subscription:
            raise WebPushError(404, "no such subscription")
        self.check_headers(headers, body)
        record["vapid"] = self.check_vapid(headers, subscription)
        if subscription["gone"]:
            raise WebPushError(subscription["gone"], "gone")
        try:
            text = decrypt(body, subscription["private"], subscription["auth"])
            record["text"] = text.decode()
            record["message"] = json.loads(text)
        except Exception as error:  # InvalidTag, no point, no UTF-8, no JSON: each is an error of the sender
            raise WebPushError(400, f"cannot be read: {error!r}") from None
        record["acted"] = True

    def check_headers(self, headers, body):
        if len(body) > BODY_MAX:
            raise WebPushError(413, "too large")
        if headers.get("Content-Encoding") != "aes128gcm":
            raise WebPushError(400, "Content-Encoding must be aes128gcm")
        if not re.fullmatch(r"\d{1,9}", headers.get("TTL") or "") or int(headers["TTL"]) > TTL_MAX:
            raise WebPushError(400, "TTL is missing or wrong")
        if headers.get("Urgency", "normal") not in ("very-low", "low", "normal", "high"):
            raise WebPushError(400, "no such Urgency")
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", headers.get("Topic", "t")):
            raise WebPushError(400, "no such Topic")

    def check_vapid(self, headers, subscription):
        found = re.fullmatch(r"vapid t=([A-Za-z0-9_.-]+), ?k=([A-Za-z0-9_-]+)", headers.get("Authorization", ""))
        if not found:
            raise WebPushError(401, "Authorization must be vapid t=..., k=...")
        try:
            key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), unb64(found[2]))
            claims = jwt.decode(found[1], key, algorithms=["ES256"], audience=self.origin,
                                options={"require": ["aud", "exp", "sub"]})
        except (ValueError, jwt.InvalidTokenError) as error:
            raise WebPushError(403, f"VAPID: {error!r}") from None
        if claims["exp"] > time.time() + DAY:
            raise WebPushError(403, "VAPID: exp is more than a day away")
        if not claims["sub"].startswith(("mailto:", "https://")):
            raise WebPushError(403, "VAPID: sub is no contact")
        if subscription["key"] not in (None, found[2]):
            raise WebPushError(403, "VAPID: another key than the subscription was made for")
        return {**claims, "key": found[2]}

    def record_refusal(self, record, error):
        record["reason"] = str(error)
        if error.status not in (404, 410):
            with self.lock:
                self._violations.append([record["id"], f"{error.status}: {error}"])


def identity_of(subscription):
    """The id of a subscription, given as JSON text, as an object, as an endpoint or as the id."""
    if isinstance(subscription, str) and subscription.startswith("{"):
        subscription = json.loads(subscription)
    if isinstance(subscription, dict):
        subscription = subscription["endpoint"]
    return subscription.rpartition("/")[2]


def make_server(service, host, port):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_):
            pass

        def do_POST(self):
            with service.lock:
                service.open += 1
                service.peak = max(service.peak, service.open)
            try:
                self.handle_push()
            finally:
                with service.lock:
                    service.open -= 1

        def handle_push(self):
            body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), 1 << 20))
            record = {"at": time.time(), "id": self.path.rpartition("/")[2], "path": self.path, "status": 0, "bytes": len(body),
                      "ttl": self.headers.get("TTL"), "urgency": self.headers.get("Urgency"), "topic": self.headers.get("Topic"),
                      "authorization": self.headers.get("Authorization"), "body": b64(body), "vapid": None, "text": None, "message": None,
                      "acted": False, "reason": None, "fault": None}
            with service.lock:
                service._sends.append(record)
            fault = service.faults.claim("send", record["id"])
            record["fault"] = fault and fault["kind"]
            if fault and fault["act"]:
                self.work(body, record)
            if fault and fault["kind"] not in ("delay", "hold"):
                self.misbehave(fault, record)
                return
            if fault and fault["kind"] == "hold":
                fault["held"].result()
            elif fault:
                time.sleep(fault["seconds"])
            status = self.work(body, record)
            headers = {"Location": f"{service.url}/message/{secrets.token_urlsafe(9)}"} if status == 201 else {}
            self.reply(record, status, headers)

        def work(self, body, record):
            try:
                service.receive(self.path, self.headers, body, record)
                return 201
            except WebPushError as error:
                service.record_refusal(record, error)
                return error.status

        def reply(self, record, status, headers, body=b""):
            record["status"] = status
            lines = [f"HTTP/1.1 {status} Answer", *(f"{name}: {value}" for name, value in headers.items()),
                     f"Content-Length: {len(body)}", "", ""]
            try:
                self.wfile.write("\r\n".join(lines).encode() + body)
            except OSError:
                self.close_connection = True

        def misbehave(self, fault, record):
            kind = fault["kind"]
            headers = {} if fault["retry_after"] is None else {"Retry-After": str(fault["retry_after"])}
            if kind == "status":
                page = b"<html>That's an error.</html>" if fault["html"] else b""
                self.reply(record, fault["status"], headers, page)
            elif kind == "garbage":
                self.reply(record, 200, {"Content-Type": "text/html"}, b"<html>a captive portal</html>")
            elif kind == "redirect":
                self.reply(record, 307, {"Location": f"{service.url}/push/elsewhere"})
            else:
                self.close_connection = True
                self.end(kind, fault)

        def end(self, kind, fault):
            if kind == "hang":
                service.closing.wait(86400)
            elif kind == "drip":
                self.drip(fault["seconds"])
            elif kind in ("reset", "drop"):
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", int(kind == "reset"), 0))

        def drip(self, seconds):
            """Sends an endless answer, one byte at a time."""
            try:
                for byte in b"HTTP/1.1 201 Created\r\nX-Slow: ":
                    self.wfile.write(bytes([byte]))
                while not service.closing.wait(seconds):
                    self.wfile.write(b".")
            except OSError:
                pass  # the client has closed the connection

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 1024
        daemon_threads = True

        def handle_error(self, *_):
            pass  # the client has disconnected

    return Server((host, port), Handler)
