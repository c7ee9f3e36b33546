"""python3 tests/mail [--port N] [--smtp-port N] [--host H]

Accepts mail and delivers none, until SIGTERM or SIGINT. --port: the port of a page that shows the received mail; GET /smtp on that port returns
the address of the mail server.
"""
import argparse
import pathlib
import signal
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from mail.catcher import Catcher  # noqa: E402
from mail.page import serve  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("port", "smtp-port"):
        parser.add_argument(f"--{name}", type=int, default=0)
    parser.add_argument("--host", default="127.0.0.1")
    options = parser.parse_args()
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    catcher = Catcher(options.smtp_port, options.host)
    page = serve(catcher, options.port, options.host)
    print(f"smtp {catcher.url} page http://{options.host}:{page.server_address[1]}", flush=True)
    ended.wait()
    page.shutdown()
    catcher.close()


if __name__ == "__main__":
    main()
