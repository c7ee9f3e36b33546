"""python3 tests/push [--fcm-port N] [--webpush-port N] [--control-port N] [--host H] [--ca FILE]

Runs both stand-ins until it is told to end (SIGTERM, SIGINT). --ca: where the certificate of the authority is copied to
that signs for FCM's. Prints one line with the addresses when it is ready.
"""
import argparse
import pathlib
import shutil
import signal
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from push import Fcm, PushService  # noqa: E402
from push.control import serve  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("fcm", "webpush", "control"):
        parser.add_argument(f"--{name}-port", type=int, default=0)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--ca", type=pathlib.Path)
    options = parser.parse_args()
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    fcm = Fcm(options.fcm_port, options.host)
    webpush = PushService(options.webpush_port, options.host)
    control = serve({"fcm": fcm, "webpush": webpush}, options.control_port, options.host)
    if options.ca:
        shutil.copyfile(fcm.ca_file, options.ca)
    print(f"fcm {fcm.url} webpush {webpush.url} control http://{options.host}:{control.server_address[1]}", flush=True)
    ended.wait()
    for each in (fcm, webpush):
        each.close()


if __name__ == "__main__":
    main()
