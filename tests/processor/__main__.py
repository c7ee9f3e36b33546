"""python3 tests/processor --port N [--host H] [--state FILE] [--schemas DIR] [--key SK] [--url URL]

Runs the test processor until SIGTERM or SIGINT. --key: the secret key of a platform account that exists from the start.
--url: the address of its pages, if clients do not reach them by host and port.
"""
import argparse
import pathlib
import signal
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from processor import Processor  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--state", type=pathlib.Path)
    parser.add_argument("--schemas", type=pathlib.Path)
    parser.add_argument("--key")
    parser.add_argument("--url")
    options = parser.parse_args()
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    processor = Processor(options.port, options.host, options.state, options.schemas, url=options.url)
    if options.key and options.key not in processor.store.keys:
        processor.new_platform(options.key)
    print(f"listening on {processor.url}", flush=True)
    ended.wait()
    processor.close()


if __name__ == "__main__":
    main()
