"""The caught mails, for people (GET /) and for programs (GET /mails, /mails/last?to=, /mails/N, /mails/N/html, /mails/N/raw, DELETE
/mails); and a page for links in mails: GET /link?base=URL of a project."""
import http.server
import json
import pathlib
import threading
import urllib.parse

HERE = pathlib.Path(__file__).parent
# The markup of a mail is untrusted: it may run no scripts and not access this page.
MAIL_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data: https: http:; sandbox allow-popups allow-popups-to-escape-sandbox"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    catcher = None

    def log_message(self, *_):
        pass

    def answer(self, status, body, kind, **headers):
        body = body if isinstance(body, bytes) else body.encode()
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), "X-Content-Type-Options": "nosniff",
                            "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def json(self, value, status=200):
        self.answer(status, json.dumps(value, ensure_ascii=False), "application/json; charset=utf-8")

    def reply_missing(self):
        self.json({"title": "There is no such mail"}, 404)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path == "/":
            self.answer(200, (HERE / "inbox.html").read_bytes(), "text/html; charset=utf-8")
        elif url.path == "/link":
            self.answer(200, (HERE / "link.html").read_bytes(), "text/html; charset=utf-8")
        elif url.path == "/smtp":
            self.answer(200, self.catcher.url, "text/plain")
        elif url.path == "/mails":
            self.json([one.row() for one in self.catcher.list_mails(query.get("to"))])
        elif url.path.startswith("/mails/"):
            self.reply_mail(*(url.path.split("/") + [None])[2:4], query)
        else:
            self.reply_missing()

    def reply_mail(self, which, view, query):
        found = self.catcher.list_mails(query.get("to"))[:1] if which == "last" else [self.catcher.find(int(which))] if which.isdigit() else []
        if not found or found[0] is None:
            self.reply_missing()
        elif view == "html":
            self.answer(200, found[0].body("html") or "", "text/html; charset=utf-8", **{"Content-Security-Policy": MAIL_POLICY})
        elif view == "raw":
            self.answer(200, found[0].raw, "text/plain; charset=utf-8")
        elif view is None:
            self.json(found[0].whole())
        else:
            self.reply_missing()

    def do_DELETE(self):
        self.catcher.clear()
        self.answer(204, b"", "text/plain")


def serve(catcher, port, host):
    server = http.server.ThreadingHTTPServer((host, port), type("Bound", (Handler,), {"catcher": catcher}))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
    return server
