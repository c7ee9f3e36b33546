"""The stand-ins in another process: POST /_control/<fcm or webpush>/<method> {arguments}, from this machine alone. GET /fcm and
GET /webpush tell their addresses."""
import http.server
import json
import threading
import time
import urllib.error
import urllib.request


def serve(parts, port=0, host="127.0.0.1"):
    """`parts`: {"fcm": Fcm, "webpush": PushService}. Returns the server; it runs in a thread of its own."""

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


class Remote:
    """Remote(url, "fcm").new_account(project_id="shop")"""

    def __init__(self, url, part):
        self.url, self.part = url, part

    def __getattr__(self, name):
        def call(**arguments):
            request = urllib.request.Request(f"{self.url}/_control/{self.part}/{name}", json.dumps(arguments).encode(),
                                             method="POST")
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return json.loads(answer.read())["result"]
            except urllib.error.HTTPError as error:
                raise AssertionError(f"{name}: {error.code} {error.read().decode(errors='replace')}") from None

        return call

    def wait(self, seconds=10):
        """Until it answers."""
        end = time.monotonic() + seconds
        while True:
            try:
                return self.ping()
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)
