"""Servers that workflows call: an HTTP sink that records every request, a mail sink."""
import collections
import http.server
import json
import threading
import time

Request = collections.namedtuple("Request", "method path headers body at")


class Sink:
    """Answers by path, with the headers in .headers[path], if any: /status/500, /slow/1.5 (seconds), /echo, /hang (until
    .release is set), /hold/600000 (an array with a text of 600,000 bytes, whose last byte comes when .release is set),
    /close (no answer). A path in .answers (such as /json) is answered with the value set there. Any other path is answered
    with 200 {"ok": true}."""

    def __init__(self):
        self.requests = []
        self.answers, self.headers = {}, {}
        self.release = threading.Event()
        self.lock = threading.Lock()
        sink = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                with sink.lock:
                    sink.requests.append(Request(self.command, self.path, dict(self.headers), body, time.time()))
                sink.answer(self, body)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 256
            daemon_threads = True

            def handle_error(self, *_):
                pass  # the client was killed

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, handler, body):
        parts = handler.path.split("?")[0].strip("/").split("/")
        status, data = 200, {"ok": True}
        if handler.path in self.answers:
            data = self.answers[handler.path]
        elif parts[0] == "status":
            status, data = int(parts[1]), {"error": "as asked"}
        elif parts[0] == "slow":
            time.sleep(float(parts[1]))
        elif parts[0] == "hang":
            self.release.wait(60)
        elif parts[0] == "hold":
            data = b'[0,"' + b"x" * int(parts[1]) + b'"]'
        elif parts[0] == "close":
            handler.close_connection = True
            return
        elif parts[0] == "echo":
            data = {"body": json.loads(body) if body else None, "headers": dict(handler.headers)}
        raw = data if isinstance(data, bytes) else json.dumps(data).encode()
        handler.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(raw)), **self.headers.get(handler.path, {})}.items():
            if value is not None:
                handler.send_header(name, value)
        handler.end_headers()
        if parts[0] == "hold":
            handler.wfile.write(raw[:-1])
            self.release.wait(60)
            raw = raw[-1:]
        handler.wfile.write(raw)

    def requests_to(self, path):
        with self.lock:
            return [request for request in self.requests if request.path == path]

    def close(self):
        self.release.set()
        self.server.shutdown()
        self.server.server_close()


class MailSink:
    """Accepts every mail except to reject@..., without TLS."""

    def __init__(self):
        from aiosmtpd.controller import Controller
        from .daemon import free_port

        sink = self
        self.mails = []

        class Handler:
            async def handle_RCPT(self, _server, _session, envelope, address, _options):
                if address.startswith("reject@"):
                    return "550 no such user"
                envelope.rcpt_tos.append(address)
                return "250 OK"

            async def handle_DATA(self, _server, _session, envelope):
                sink.mails.append(envelope)
                return "250 taken"

        self.controller = Controller(Handler(), hostname="127.0.0.1", port=free_port())
        self.controller.start()
        self.url = f"smtp+plain://127.0.0.1:{self.controller.port}"

    def close(self):
        self.controller.stop()
