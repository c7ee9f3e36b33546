"""python3 tests/push [--fcm-port N] [--webpush-port N] [--port N] [--host H] [--ca FILE]

Runs both simulated push providers until SIGTERM or SIGINT. --port: the port of control.py, which also returns the addresses of both: GET /fcm,
GET /webpush. --ca: the file to write with the certificate authorities that clients must trust: those of the system and the one of FCM.
"""
import argparse
import pathlib
import signal
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from push import Fcm, PushService  # noqa: E402
from push.control import serve  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("fcm-port", "webpush-port", "port"):
        parser.add_argument(f"--{name}", type=int, default=0)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--ca", type=pathlib.Path)
    options = parser.parse_args()
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    fcm = Fcm(options.fcm_port, options.host)
    webpush = PushService(options.webpush_port, options.host)
    if options.ca:
        system = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
        options.ca.write_text((system.read_text() if system.exists() else "") + pathlib.Path(fcm.ca_file).read_text())
    control = serve({"fcm": fcm, "webpush": webpush}, options.port, options.host)
    print(f"fcm {fcm.url} webpush {webpush.url} control http://{options.host}:{control.server_address[1]}", flush=True)
    ended.wait()
    for each in (fcm, webpush):
        each.close()


if __name__ == "__main__":
    main()
