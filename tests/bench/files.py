"""Files, compared with nginx on the same disk: downloads under token and row rule, ranges, uploads; the memory of hundreds of large transfers."""
import hashlib
import os
import pathlib
import selectors
import socket
import subprocess
import threading
import time

import requests
from groundwork.client import Client
from groundwork.daemon import free_port
from tools import lua, wrk
from world import standard_user

import memory

SMALL, LARGE, HUGE = 100_000, 10_000_000, 1 << 30
CROWD = 200
MOST_MB = 30
FEW = 8  # connections for requests that take milliseconds


class Nginx:
    """nginx: serves the gateway's folder of files by sendfile, and accepts PUT into a separate folder."""

    def __init__(self, folder, files):
        self.port = free_port()
        root = pathlib.Path(folder) / "nginx-files"
        for name in ("put", "body"):
            (root / name).mkdir(parents=True)
        conf = root / "nginx.conf"
        conf.write_text(
            f"worker_processes 1;\nuser root;\npid {root}/pid;\nerror_log {root}/error.log;\ndaemon off;\nevents {{ worker_connections 4096; }}\n"
            "http { access_log off; sendfile on; tcp_nopush on; open_file_cache max=100; keepalive_requests 1000000000;"
            f" client_max_body_size 2g; client_body_temp_path {root}/body; client_body_in_file_only clean;"
            f" server {{ listen 127.0.0.1:{self.port}; location /get/ {{ alias {files}/; }}"
            f" location /put/ {{ root {root}; dav_methods PUT; create_full_put_path on; }} }} }}\n")
        self.folder = root / "put"
        self.process = subprocess.Popen(["nginx", "-c", conf], stderr=subprocess.DEVNULL)
        time.sleep(0.5)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def stop(self):
        self.process.terminate()
        self.process.wait(5)


def upload(client, content):
    return client.put("/files/upload/x.bin", data=content, expect=201).json()


def find_path(folder, made, content):
    """The path of a file in the gateway's folder, found by its bytes."""
    for path in pathlib.Path(folder).rglob("*"):
        if path.is_file() and path.stat().st_size == made["size"] and hashlib.sha256(path.read_bytes()).digest() == hashlib.sha256(content).digest():
            return path.relative_to(folder)
    raise AssertionError("the file is not in the gateway's folder")


def downloads(world, nginx, folder, user, args, out, say):
    for name, size, bar in (("100 KB", SMALL, 0.6), ("10 MB", LARGE, 0.8)):
        content = os.urandom(size)
        made = upload(user, content)
        path = find_path(world.files, made, content)
        headers = {"Authorization": f"Bearer {user.token}"}
        ours_url, theirs_url = f"{user.base_url}/files/{made['id']}/get", f"{nginx.url}/get/{path}"
        assert requests.get(theirs_url, timeout=10).content == content
        clients = 64 if size == SMALL else FEW
        ours, theirs = alternate(args.rounds, lambda: wrk(ours_url, args.seconds, headers=headers, clients=clients),
                                 lambda: wrk(theirs_url, args.seconds, clients=clients), say)
        ratio(out, f"download of {name} / nginx sendfile", bar, ours, theirs)
        if size == LARGE:
            script = lua(folder, "range", "wrk.headers['Range'] = 'bytes=5000000-5065535'\n")
            ours, theirs = alternate(args.rounds, lambda: wrk(ours_url, args.seconds, script, headers), lambda: wrk(theirs_url, args.seconds, script), say)
            ratio(out, "64 KB in the middle of it / nginx", 0.6, ours, theirs)


def alternate(rounds, ours, theirs, say):
    left, right = [], []
    for number in range(rounds):
        say(f"  round {number + 1} of {rounds}")
        left.append(ours())
        right.append(theirs())
    return left, right


def ratio(out, name, bar, ours, theirs):
    ratios = sorted(o["rate"] / t["rate"] for o, t in zip(ours, theirs))
    middle, errors = ratios[len(ratios) // 2], sum(o.get("errors", 0) for o in ours)
    rates = [sorted(each["rate"] for each in side)[len(side) // 2] for side in (ours, theirs)]
    out.add(name, f"{middle:.2f} x [{ratios[0]:.2f} .. {ratios[-1]:.2f}]", f">= {bar}", middle >= bar and not errors,
            f"{rates[0]:,.1f}/s against {rates[1]:,.1f}/s" + (f"; {errors} errors" if errors else ""))


def put_loop(url, headers, body, ends, done, fsync):
    session = requests.Session()
    session.trust_env = False
    number = 0
    while time.monotonic() < ends:
        number += 1
        target = url(number)
        answer = session.put(target[0], data=body, headers=headers, timeout=60)
        assert answer.status_code in (201, 204), answer.text
        if fsync:
            fsync(target[1])
        done.append(1)


def flush(path):
    """Flushes the file and its folder: nginx does not, but the gateway guarantees that a file is on the disk."""
    for each in (path, path.parent):
        fd = os.open(each, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)


def put_rate(seconds, target, headers, body, fsync=None):
    done, since = [], time.monotonic()
    threads = [threading.Thread(target=put_loop, args=(lambda number, n=n: target(n, number), headers, body, since + seconds, done, fsync)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"rate": len(done) / (time.monotonic() - since)}


def uploads(world, nginx, user, args, out, say):
    body = os.urandom(LARGE)
    headers = {"Authorization": f"Bearer {user.token}"}
    seconds = max(args.seconds, 4)
    ours, theirs = alternate(
        args.rounds,
        lambda: put_rate(seconds, lambda client, number: (f"{user.base_url}/files/upload/{client}-{number}", None), headers, body),
        lambda: put_rate(seconds, lambda client, number: (f"{nginx.url}/put/{client}-{number}", nginx.folder / f"{client}-{number}"), {}, body, flush), say)
    ratio(out, "upload of 10 MB / nginx PUT and fsync", 0.7, ours, theirs)


class TransferSet:
    """Uploads and downloads of 1 GB each on one thread, as fast as both sides can, until it is stopped."""

    def __init__(self, world, user, file_id):
        self.selector = selectors.DefaultSelector()
        self.block = os.urandom(1 << 16)
        self.bytes = self.refused = 0
        self.answers = {}  # a download's socket -> its status line
        address = ("127.0.0.1", world.gateway.port)
        path = user.base_url.partition(f":{world.gateway.port}")[2]
        for number in range(2 * CROWD):
            sock = socket.create_connection(address)
            head = f"Host: x\r\nAuthorization: Bearer {user.token}\r\n"
            if number % 2:
                sock.sendall(f"GET {path}/files/{file_id}/get HTTP/1.1\r\n{head}\r\n".encode())
            else:
                sock.sendall(f"PUT {path}/files/upload/{number} HTTP/1.1\r\n{head}Content-Length: {HUGE}\r\n\r\n".encode())
            sock.setblocking(False)
            self.selector.register(sock, selectors.EVENT_READ if number % 2 else selectors.EVENT_WRITE)

    def run(self, seconds, most_bytes):
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and self.bytes < most_bytes:
            for key, event in self.selector.select(0.5):
                if event == selectors.EVENT_READ:
                    got = key.fileobj.recv(1 << 16)
                    if key.fd not in self.answers:
                        self.answers[key.fd] = got[:12]
                else:
                    got = self.send(key.fileobj)
                self.bytes += len(got)

    def send(self, sock):
        """The number of bytes sent; counts and ends an upload that was refused."""
        try:
            return self.block[:sock.send(self.block)]
        except (BrokenPipeError, ConnectionResetError):
            self.selector.unregister(sock)
            sock.close()
            self.refused += 1
            return b""

    def close(self):
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()


def measure_transfers(world, user, out, say):
    (file_id,), = world.sql(f"select id from {world.schema('files')}.files where size = {HUGE}") or [(None,)]
    worker = world.gateway.workers()[0]
    for _ in range(20):
        Client(user.base_url, token=user.token).get("/files")
    before = memory.resident_kb(world) / 1024
    memory.reset_peak(worker)
    held = TransferSet(world, user, file_id)
    try:
        held.run(20, 8 << 30)
        peak = memory.peak_mb(worker)
    finally:
        held.close()
    good = sum(answer.endswith(b" 200") for answer in held.answers.values())
    say(f"  {held.bytes / 1e9:.1f} GB went through; {good} of {CROWD} downloads had begun, {held.refused} uploads were refused")
    out.add(f"{CROWD} uploads and {CROWD} downloads of 1 GB", f"{peak - before:.1f} MB above rest", f"<= {MOST_MB} MB", peak - before <= MOST_MB,
            f"{before:.1f} MB before")


def upload_huge(user):
    """Uploads a file of 1 GB, generated while it is sent."""
    block = b"\0" * (1 << 20)
    user.put("/files/upload/huge", data=(block for _ in range(HUGE >> 20)), expect=201)


def files(world, folder, args, out, say):
    admin = world.project("files")
    admin.post("/entities", {"name": "notes", "fields": [{"name": "text", "type": "text"}]}, expect=201)
    user = standard_user(admin, "notes")
    time.sleep(1.2)
    nginx = Nginx(folder, world.files)
    try:
        downloads(world, nginx, folder, user, args, out, say)
        uploads(world, nginx, user, args, out, say)
    finally:
        nginx.stop()
    upload_huge(user)
    measure_transfers(world, user, out, say)
