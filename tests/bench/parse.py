"""Parse Server from npm with LiveQuery, installed into build/bench-parse, on the PostgreSQL of the benchmark; and its listeners."""
import json
import pathlib
import shutil
import struct
import subprocess
import time
import urllib.parse

import psycopg2
import requests

from groundwork.daemon import free_port
from groundwork.proxy import Proxy
from peers import npm_install
from world import ROOT

SOURCES = pathlib.Path(__file__).parent / "parse"
FOLDER = ROOT / "build/bench-parse"
START_SECONDS = 120
WRITER = {"X-Parse-Application-Id": "bench", "X-Parse-Master-Key": "bench-master-key"}


def install():
    """Installs Parse Server once; returns "" or the reason why it failed."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = (SOURCES / "package.json").read_text()
    stamp = FOLDER / "installed"
    for source in SOURCES.iterdir():
        shutil.copy(source, FOLDER)
    if stamp.exists() and stamp.read_text() == wanted:
        return ""
    reason = npm_install(FOLDER, "--ignore-scripts")
    if not reason:
        stamp.write_text(wanted)
    return reason


class ParseServer:
    """One process of Parse Server. Reaches PostgreSQL through a proxy because it needs TCP; only writes use this connection."""

    def __init__(self, world, folder):
        host = urllib.parse.parse_qs(urllib.parse.urlsplit(world.servers.database_url).query)["host"][0]
        self.admin = {"host": host, "user": "postgres", "dbname": "postgres"}
        connection = psycopg2.connect(**self.admin)
        connection.autocommit = True
        connection.cursor().execute("create database parse")
        connection.close()
        sockets = pathlib.Path(host).glob(".s.PGSQL.*")
        self.proxy = Proxy(next(path for path in sockets if not path.name.endswith(".lock")))
        self.port = free_port()
        self.log = open(pathlib.Path(folder) / "parse.log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            ["node", "server.mjs", str(self.port), f"postgres://postgres@127.0.0.1:{self.proxy.port}/parse"],
            cwd=FOLDER, stdout=self.log, stderr=self.log)
        self.wait_ready()

    def wait_ready(self):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if requests.get(f"http://127.0.0.1:{self.port}/parse/health", headers=WRITER, timeout=5).status_code == 200:
                    return
            except requests.RequestException:
                pass
            time.sleep(0.2)
        self.log.seek(0)
        reason = self.log.read()[-1000:]
        self.stop()
        raise RuntimeError(f"Parse Server does not start: {reason}")

    def write(self, number):
        """Writes a record."""
        answer = requests.post(f"http://127.0.0.1:{self.port}/parse/classes/Orders", json={"name": "many", "total": number},
                               headers=WRITER, timeout=60)
        assert answer.status_code == 201, answer.text[:500]

    def stop(self):
        self.process.kill()
        self.process.wait(20)
        self.proxy.close()
        self.log.close()


def frame(message):
    """A client's text frame; its mask is of zeros."""
    data = json.dumps(message).encode()
    size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack("!H", len(data))
    return b"\x81" + size + b"\0\0\0\0" + data


def subscribe(connection):
    """Subscribes a LiveQuery client to every record of the class."""
    def wait(word):
        heard = b""
        while word not in heard:
            more = connection.recv(65536)
            assert more, f"it was closed: {heard[-300:]}"
            heard += more

    connection.settimeout(30)
    connection.sendall(b"GET /parse HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                       b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
    wait(b"\r\n\r\n")
    connection.sendall(frame({"op": "connect", "applicationId": "bench"}))
    wait(b'"connected"')
    connection.sendall(frame({"op": "subscribe", "requestId": 1, "query": {"className": "Orders", "where": {}}}))
    wait(b'"subscribed"')
