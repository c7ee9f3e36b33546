"""python3 tests/shop [--port N] [--host H]

Serves the page of the project `demo` until SIGTERM or SIGINT.
"""
import argparse
import http.server
import pathlib
import signal

PAGE = pathlib.Path(__file__).parent / "shop.html"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        status, body = (200, PAGE.read_bytes()) if self.path.split("?")[0] == "/" else (404, b"")
        self.send_response(status)
        for name, value in {"Content-Type": "text/html; charset=utf-8", "Content-Length": len(body), "X-Content-Type-Options": "nosniff",
                            "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--host", default="127.0.0.1")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with http.server.ThreadingHTTPServer((options.host, options.port), Handler) as server:
        server.daemon_threads = True
        print(f"http://{options.host}:{server.server_port}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
