"""Control of the simulated push providers from another process on this machine: POST /_control/<fcm or webpush>/<method> {arguments}.
GET /fcm and GET /webpush return the addresses."""
import http.server
import json
import threading


def serve(parts, port=0, host="127.0.0.1"):
    """`parts`: {"fcm": Fcm, "webpush": PushService}. Returns the server, which runs in its own thread."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_):
            pass

        def do_GET(self):
            part = parts.get(self.path[1:])
            text = (part.url if part else "fcm webpush").encode()
            self.wfile.write(f"HTTP/1.1 {200 if part or self.path == '/' else 404} Answer\r\nContent-Type: text/plain\r\n"
                             f"Content-Length: {len(text)}\r\n\r\n".encode() + text)

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, value = self.run(body)
            text = json.dumps(value).encode()
            self.wfile.write(f"HTTP/1.1 {status} Answer\r\nContent-Type: application/json\r\n"
                             f"Content-Length: {len(text)}\r\n\r\n".encode() + text)

        def run(self, body):
            _, _, rest = self.path.partition("/_control/")
            part, _, name = rest.partition("/")
            if self.client_address[0] not in ("127.0.0.1", "::1"):
                return 403, {"error": "only from this machine"}
            if part not in parts or name not in parts[part].REMOTE:
                return 404, {"error": f"no {rest}", "known": {each: sorted(parts[each].REMOTE) for each in parts}}
            try:
                return 200, {"result": getattr(parts[part], name)(**json.loads(body or b"{}"))}
            except (AssertionError, KeyError, TypeError, ValueError) as error:
                return 409, {"error": repr(error)}

    server = http.server.ThreadingHTTPServer((host, port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    return server
