"""Sends raw bytes to a server and splits the answers into responses; counts requests in the gateway's access log."""
import collections
import json
import re
import socket

from groundwork.deadline import until

Answer = collections.namedtuple("Answer", "status id body")


def connect(port, timeout=60):
    sock = socket.create_connection(("127.0.0.1", port), timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def send(sock, data):
    """False when the peer has closed already."""
    try:
        sock.sendall(data)
        return True
    except OSError:
        return False


class Answers:
    """Reads one response after another; `ended` is true when the peer has closed the connection."""

    def __init__(self, sock):
        self.sock, self.data, self.ended = sock, b"", False
        self.patience = sock.gettimeout()

    def receive(self):
        try:
            piece = self.sock.recv(65536)
        except ConnectionError:
            piece = b""
        self.data += piece
        self.ended = not piece
        return bool(piece)

    def next(self, within=None):
        """The next Answer; None at the end. Skips interim answers (1xx). Raises TimeoutError when the answer does not begin within
        `within` seconds (None: the timeout of the socket)."""
        self.sock.settimeout(within or self.patience)
        while b"\r\n\r\n" not in self.data:
            if not self.receive():
                return None
        head, self.data = self.data.split(b"\r\n\r\n", 1)
        status = int(head.split(b" ", 2)[1])
        if status < 200:
            return self.next(within)
        self.sock.settimeout(self.patience)
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        body = self.body(fields) if status not in (204, 304) else b""
        return Answer(status, re.sub(rb"(?i)^.*\r\nx-request-id: ([^\r]*).*$", rb"\1", head, flags=re.S).decode()
                      if b"x-request-id" in fields else None, body)

    def body(self, fields):
        if b"content-length" in fields:
            return self.read_bytes(int(fields[b"content-length"]))
        if fields.get(b"transfer-encoding") != b"chunked":
            while self.receive():
                pass
            return self.read_bytes(len(self.data))
        whole = b""
        while True:
            while b"\r\n" not in self.data:
                if not self.receive():
                    return whole
            size, self.data = self.data.split(b"\r\n", 1)
            piece = self.read_bytes(int(size, 16) + 2)[:-2]
            whole += piece
            if not piece:
                return whole

    def read_bytes(self, count):
        while len(self.data) < count and self.receive():
            pass
        taken, self.data = self.data[:count], self.data[count:]
        return taken


class AccessLog:
    """Counts requests by id in the log lines since the last call of start()."""

    def __init__(self, gateway):
        self.gateway, self.at = gateway, 0
        self.start()

    def start(self):
        self.at = self.gateway.log_path.stat().st_size

    def ids(self):
        with open(self.gateway.log_path, "rb") as log:
            log.seek(self.at)
            whole_lines = log.read().split(b"\n")[:-1]  # a line may be half written
        lines = [line for line in whole_lines if b'"event":"access"' in line]
        return collections.Counter(json.loads(line)["request_id"] for line in lines)

    def ids_until(self, *wanted):
        """Waits until the log has all `wanted` ids and returns the counts: a request is logged a moment after its answer."""
        until(lambda: self.ids().keys() >= set(wanted), lambda: f"never logged: {sorted(set(wanted) - self.ids().keys())}")
        return self.ids()
