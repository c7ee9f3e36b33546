"""Floods with which one hostile project attacks all others: each attacks one queue, pool, slot, cache or buffer that projects
share.

    with slow_exports(hostile, 40): ...

A flood runs in threads of this process until the block ends, and accepts any answer. `count` is how many requests run
concurrently. Rows, models and workflows that a flood needs are created before it begins: prepare_rows(), prepare_model(), ...
"""
import collections
import contextlib
import json
import secrets
import socket
import threading
import time

import requests
import requests.adapters

from .project import PASSWORD
from .records import column, execute, rows, table
from .runs import condition
from .soon import await_status
from .workflows import add_jobs, cancel_jobs, event, workflow

SOURCE_ADDRESS = ("127.0.0.2", 0)  # not the address of the neighbours: some limits count by address
UNLIMITED = {"rate_read": 0, "rate_write": 0, "rate_heavy": 0, "rate_sign_in_account": 1000000, "rate_sign_in_address": 1000000}


def raise_limits(project):
    """Raises the project's own limits as far as the service allows; a limit stays when the operator's ceiling refuses the new
    value."""
    for name, value in UNLIMITED.items():
        project.admin.put("/", {"settings": {name: value}})


class AttackThreads:
    """Runs `count` threads that call attack(number, stop) repeatedly; each `with` starts new threads. `answers` counts the
    results of these calls, mostly statuses; 0 is a failed connection."""

    def __init__(self, count, attack):
        self.count, self.attack, self.answers = count, attack, collections.Counter()

    def run(self, number, stop):
        while not stop.is_set():
            try:
                answer = self.attack(number, stop)
            except (OSError, requests.RequestException):
                answer = 0
                stop.wait(0.05)
            self.answers[getattr(answer, "status_code", answer)] += 1

    def __enter__(self):
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(number, self.stop), daemon=True) for number in range(self.count)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *error):
        """Waits at most 15 seconds for the threads, and abandons those that still wait for an answer."""
        self.stop.set()
        limit = time.monotonic() + 15
        for thread in self.threads:
            thread.join(max(0, limit - time.monotonic()))


def slow_readers(readers):
    """Reads a little from each of these sockets: the service closes a connection whose client reads nothing for five seconds."""

    def sip(number, stop):
        for reader in readers:
            with contextlib.suppress(BlockingIOError, ConnectionError):
                reader.recv(2000, socket.MSG_DONTWAIT)
        stop.wait(0.2)

    return AttackThreads(1, sip)


class SourceAdapter(requests.adapters.HTTPAdapter):
    def init_poolmanager(self, *arguments, **options):
        super().init_poolmanager(*arguments, source_address=SOURCE_ADDRESS, **options)


class Sessions:
    """A keep-alive connection for each thread."""

    def __init__(self):
        self.local = threading.local()

    def __getattr__(self, method):
        if not hasattr(self.local, "session"):
            self.local.session = requests.Session()
            self.local.session.trust_env = False
            self.local.session.mount("http://", SourceAdapter())
        return lambda *arguments, **options: getattr(self.local.session, method)(*arguments, **{"timeout": 60, **options})


def bearer(client):
    return {"Authorization": f"Bearer {client.token}"}


def connect(project, receive_bytes=None):
    sock = socket.socket()
    if receive_bytes:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    sock.settimeout(10)
    sock.bind(SOURCE_ADDRESS)
    host, port = project.base_url.split("//")[1].split("/")[0].split(":")
    sock.connect((host, int(port)))
    return sock


def head(project, method, path, token=None, more=""):
    authorization = f"Authorization: Bearer {token}\r\n" if token else ""
    return f"{method} /org/{project.id}{path} HTTP/1.1\r\nHost: localhost\r\n{authorization}{more}\r\n".encode()


# --- helpers of floods -------------------------------------------------------------------------------


def prepare_rows(project, db, count, size, name="big"):
    """Creates an entity with `count` rows of `size` bytes of text, publicly readable."""
    entity = project.entity(name, [{"name": "text", "type": "text", "public": True}, {"name": "n", "type": "integer"}],
                            public_read=True)
    execute(db, f"insert into {table(project, db, entity)} ({column(entity, 'text')}, {column(entity, 'n')})"
                " select repeat(md5(n::text), %s), n from generate_series(1, %s) n", max(1, size // 32), count)
    execute(db, f"analyze {table(project, db, entity)}")
    return entity


def prepare_model(project, entities, fields):
    """Creates a model with long documents."""
    for number in range(entities):
        body = {"name": f"wide{number}", "fields": [{"name": f"field{n}", "type": "varchar"} for n in range(fields)]}
        await_status(lambda: project.admin.post("/entities", body), (201, 409))


def prepare_fan_out(project, width):
    """Creates an event whose job creates `width` records, each of which is again such an event."""
    project.entity("spawn", [{"name": "name", "type": "varchar"}])
    items = [{"name": "x"}] * width
    return workflow(project.admin, {"kind": "event", "event": "EntityCreated", "entity": "spawn"},
                    [{"key": "more", "action": "BulkCreateData", "params": {"entity": "spawn", "items": items}}])


# --- floods ------------------------------------------------------------------------------------------


def slow_exports(project, count=40, entity="big"):
    """Clients that each read an export a few bytes at a time."""

    def attack(number, stop):
        with connect(project, receive_bytes=1) as sock:
            sock.sendall(head(project, "GET", f"/entities/{entity}/items/export?format=jsonl", project.admin.token))
            status = None
            while not stop.is_set():
                piece = sock.recv(400)
                if not piece:
                    return status
                status = status or int(piece.split(b" ")[1])
                stop.wait(0.2)
            return status

    return AttackThreads(count, attack)


def announced_bodies(projects, count=400):
    """Requests that announce a body and send one byte of it; each thread holds ten."""
    paths = [("POST", "/auth/v1/token", False), ("PUT", "/users/me", True), ("POST", "/auth/v1/refresh", False)]

    def attack(number, stop):
        project = projects[number % len(projects)]
        socks = []
        try:
            for n in range(10):
                method, path, signed = paths[(number + n) % len(paths)]
                sock = connect(project)
                socks.append(sock)
                sock.sendall(head(project, method, path, project.admin.token if signed else None,
                                  "Content-Type: application/json\r\nContent-Length: 9000\r\n") + b" ")
            stop.wait(5)
        finally:
            for sock in socks:
                sock.close()

    return AttackThreads(count // 10, attack)


def sign_ins(project, count=60):
    http = Sessions()

    def attack(number, stop):
        body = {"email": project.admin.user["email"], "password": PASSWORD if number % 2 else "a wrong password"}
        return http.post(f"{project.base_url}/auth/v1/token", json=body)

    return AttackThreads(count, attack)


def bogus_refreshes(project, count=24):
    http = Sessions()

    def attack(number, stop):
        return http.post(f"{project.base_url}/auth/v1/refresh", json={"refresh_token": secrets.token_urlsafe(32)})

    return AttackThreads(count, attack)


class Tarpit:
    """Accepts connections and never sends anything; the gateway must be allowed to call .port."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self.listener.getsockname()[1]

    def close(self):
        self.listener.close()


def tarpit_provider(projects, tarpit, count=60):
    """Sign-ins with an identity provider that accepts the connection and never answers."""
    for project in projects:
        project.admin.put("/", {"settings": {
            "oidc_issuer": f"http://127.0.0.1:{tarpit.port}", "oidc_client_id": "x",
            "oidc_client_secret": "a secret of the client", "redirect_urls": ["https://app.example.org/signed-in"]}}, expect=200)
    http = Sessions()

    def attack(number, stop):
        answer = http.get(f"{projects[number % len(projects)].base_url}/auth/v1/google/authorize", allow_redirects=False,
                          params={"redirect_to": "https://app.example.org/signed-in"})
        stop.wait(1)  # a client that is refused immediately would only burden this process
        return answer

    return AttackThreads(count, attack)


def aggregates(project, count=40, entity="big"):
    http = Sessions()

    def attack(number, stop):
        return http.get(f"{project.base_url}/entities/{entity}/items/aggregate", headers=bearer(project.admin),
                 params={"group_by": "text", "sum": "n", "avg": "n", "max": "text"})

    return AttackThreads(count, attack)


def documents(project, count=8):
    """Requests without If-None-Match: each answer is the whole document."""
    http = Sessions()

    def attack(number, stop):
        return http.get(f"{project.base_url}/docs", headers=bearer(project.admin))

    return AttackThreads(count, attack)


def cache_drops(project, count=16):
    """Requests of users without permissions that invalidate what the gateway caches for others."""
    tokens = [project.user() for _ in range(4)]
    http = Sessions()

    def attack(number, stop):
        client = tokens[number % len(tokens)]
        if number % 2:
            return http.post(f"{project.base_url}/auth/v1/logout", params={"scope": "others"}, headers=bearer(client))
        return http.put(f"{project.base_url}/users/me", json={"metadata": {"n": secrets.token_hex(8)}}, headers=bearer(client))

    return AttackThreads(count, attack)


def large_lists(project, count=6, entity="large", limit=240):
    """Lists with the largest possible rows, publicly readable."""
    http = Sessions()

    def attack(number, stop):
        with http.get(f"{project.base_url}/entities/{entity}/public/items", params={"limit": limit}, stream=True) as answer:
            for _ in answer.iter_content(1 << 16):
                if stop.is_set():
                    break
            return answer

    return AttackThreads(count, attack)


def unread_lists(project, count=8, entity="large", limit=14):
    """Lists nearly as large as an answer may be, sent back to back on a connection whose client reads almost nothing."""
    request = head(project, "GET", f"/entities/{entity}/items?limit={limit}&count=false", project.admin.token)

    def attack(number, stop):
        with connect(project, receive_bytes=1) as sock:
            sock.sendall(request * 4)
            status = int(sock.recv(400).split(b" ")[1])
            stop.wait(3)
            return status

    return AttackThreads(count, attack)


def large_bodies(project, count=16, entity="large", size=1_000_000):
    """Bodies of the largest allowed size, of text or of as many values as fit into them."""
    bodies = [b'{"items":[%s]}' % b",".join([value] * (size // (len(value) + 1)))
              for value in (b"{}", b"0", b"[]", b'{"n":1}', b'{"text":"%s"}' % (b"x" * 100_000))]
    http = Sessions()

    def attack(number, stop):
        return http.post(f"{project.base_url}/entities/{entity}/items/bulk", data=bodies[number % len(bodies)],
                         headers={"Content-Type": "application/json", **bearer(project.admin)})

    return AttackThreads(count, attack)


def unfinished_bodies(project, count=40, size=1_000_000):
    """Bodies whose last byte never arrives."""
    begun = head(project, "PUT", "/users/me", project.admin.token,
                 f"Content-Type: application/json\r\nContent-Length: {size}\r\n") + b" " * (size - 1)

    def attack(number, stop):
        with connect(project) as sock:
            sock.sendall(begun)
            stop.wait(4)

    return AttackThreads(count, attack)


def large_records(project, db, count=16, size=7_000_000, entity="huge"):
    """Reads and small changes of records of the largest allowed size; half of the readers read only the first bytes of the
    answer."""
    made = prepare_rows(project, db, count, size, entity)
    ids = [row[0] for row in rows(db, f"select id from {table(project, db, made)}")]
    http = Sessions()

    def attack(number, stop):
        path = f"/entities/{entity}/items/{ids[number % len(ids)]}"
        if number % 4 == 0:
            return http.put(project.base_url + path, json={"n": number}, headers=bearer(project.admin))
        if number % 4 == 1:
            return http.get(project.base_url + path, headers=bearer(project.admin))
        with connect(project, receive_bytes=1) as sock:
            sock.sendall(head(project, "GET", path, project.admin.token))
            status = int(sock.recv(400).split(b" ")[1])
            stop.wait(3)
            return status

    return AttackThreads(count, attack)


def growing_records(project, count=4, fields=70, size=170_000, entity="growing"):
    """Partial updates that make records larger, field by field, with text that takes six times its length when escaped."""
    project.entity(entity, [{"name": f"t{n}", "type": "text"} for n in range(fields)])
    workflow(project.admin, event(entity, "EntityUpdated"), [condition()])
    ids = [project.item(entity, t0="x")["id"] for _ in range(count)]
    text = "\x01" * size  # 170,000 of these make a body of a megabyte
    http = Sessions()

    def attack(number, stop):
        for field in range(fields):
            if stop.is_set():
                return
            answer = http.put(f"{project.base_url}/entities/{entity}/items/{ids[number]}", headers=bearer(project.admin),
                              data=json.dumps({f"t{field}": text}).encode())
            if answer.status_code != 200:
                return answer
        return answer

    return AttackThreads(count, attack)


def fan_out(project, count=2):
    http = Sessions()

    def attack(number, stop):
        return http.post(f"{project.base_url}/entities/spawn/items", json={"name": "root"}, headers=bearer(project.admin))
        stop.wait(1)

    return AttackThreads(count, attack)


class backlog(AttackThreads):
    """Keeps a backlog of up to `count` due jobs, refilled as jobs end; the jobs that are left at the end of the block are
    cancelled."""

    def __init__(self, project, db, made, count):
        super().__init__(1, self.refill)
        self.db, self.project, self.workflow, self.jobs = db, project, made, count

    def queued(self):
        return rows(self.db, f"select count(*) from {self.project.schema(self.db)}.job_leases where state = 'queued'")[0][0]

    def add(self):
        add_jobs(self.project, self.db, self.workflow, self.jobs - self.queued())

    def refill(self, number, stop):
        if not stop.wait(0.25) and self.queued() < self.jobs / 2:
            self.add()

    def __enter__(self):
        self.add()
        return super().__enter__()

    def __exit__(self, kind, *error):
        try:
            assert kind or (self.threads[0].is_alive() and self.queued() > 0), "the backlog was empty before the end of the block"
        finally:
            super().__exit__(kind, *error)
            cancel_jobs(self.project, self.db)


def prepare_worst(project, db):
    """Prepares what worst_mix() requests."""
    raise_limits(project)
    prepare_rows(project, db, 3000, 20000)
    prepare_rows(project, db, 40, 1 << 20, "large")
    prepare_model(project, 10, 100)


def worst_mix(project, db):
    """All floods of large requests at once, within every limit and just beyond it; the caller may start a mix for each of
    several projects."""
    return [slow_exports(project, 40), large_lists(project, 6), large_lists(project, 6, limit=14), unread_lists(project, 8),
            aggregates(project, 4), large_bodies(project, 10), unfinished_bodies(project, 20), documents(project, 2),
            announced_bodies([project], 50)]


@contextlib.contextmanager
def run_together(*floods):
    with contextlib.ExitStack() as stack:
        for flood in floods:
            stack.enter_context(flood)
        try:
            yield
        finally:
            for flood in floods:
                flood.stop.set()
