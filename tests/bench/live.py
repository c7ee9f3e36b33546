"""Live changes: one change for ten thousand listeners, the cost of listeners for writers, the cost of an idle listener, and a comparison with Parse Server."""
import concurrent.futures
import resource
import selectors
import socket
import threading
import time

import parse
from memory import resident_kb
from world import PASSWORD  # it makes the flow tests' library importable
from groundwork.client import Client

LISTENERS, CHANGES, RULED, ADDRESSES, AT_ONCE = 10_000, 30, 1_000, 8, 500
PEERS, BATCH = 1_000, 50  # in the comparison with another server: listeners, and changes by eight writers
ENTITY = "orders"


class ConnectionSet:
    """Connections of listeners, read by one thread."""

    def __init__(self, port, count):
        self.selector = selectors.EpollSelector()
        self.sockets = [socket.create_connection(("127.0.0.1", port), source_address=(f"127.0.0.{2 + number % ADDRESSES}", 0))
                        for number in range(count)]
        self.join()
        for connection in self.sockets:
            connection.setblocking(False)
            self.selector.register(connection, selectors.EVENT_READ)

    def wait_events(self, count, mark=b"event: created", limit=30):
        """Reads until `count` events have arrived; returns the time of the last."""
        last = end = time.monotonic() + limit
        rest = dict.fromkeys(self.sockets, b"")  # an event may arrive in two reads
        while count > 0:
            assert time.monotonic() < end, f"{count} were not heard"
            for key, _ in self.selector.select(1):
                heard = rest[key.fileobj] + key.fileobj.recv(1 << 20)
                count -= heard.count(mark)
                rest[key.fileobj] = heard[1 - len(mark):]
                last = time.monotonic()
        return last

    def close(self):
        for connection in self.sockets:
            connection.close()
        self.selector.close()


class Streams(ConnectionSet):
    """Groundwork's event streams, one caller per connection."""

    def __init__(self, world, slug, tokens, count):
        self.slug, self.tokens = slug, tokens
        super().__init__(world.gateway.port, count)

    def join(self):
        for first in range(0, len(self.sockets), AT_ONCE):
            coming = self.sockets[first:first + AT_ONCE]
            for number, connection in enumerate(coming, first):
                connection.sendall(f"GET /org/{self.slug}/realtime?entities={ENTITY} HTTP/1.1\r\nHost: x\r\n"
                                   f"Authorization: Bearer {self.tokens[number % len(self.tokens)]}\r\n\r\n".encode())
            for connection in coming:
                connection.settimeout(30)
                heard = b""
                while b"event: hello" not in heard:
                    heard += connection.recv(65536)
                    assert heard.startswith(b"HTTP/1.1 200"), heard


class Queries(ConnectionSet):
    """Parse Server's LiveQuery subscriptions."""

    def join(self):
        for connection in self.sockets:
            parse.subscribe(connection)


def listeners(admin, count=20):
    """Tokens of users who may read the entity, each only its own records."""
    permissions = [f"{ENTITY}:read", "svc_realtime:read"]
    role = admin.post("/roles", {"name": "Listeners", "api_access": True, "permissions": permissions}, expect=201).json()
    emails = [f"listener{n}@example.com" for n in range(count)]
    for email in emails:
        admin.post("/users", {"email": email, "password": PASSWORD, "role_ids": [role["id"]]}, expect=201)
    return [Client(admin.base_url).sign_in(email, PASSWORD).token for email in emails]


def create_rate(admin, seconds):
    """Creates per second, with four writers."""
    counts, end = [], time.monotonic() + seconds

    def write():
        own, count = Client(admin.base_url, token=admin.token), 0
        while time.monotonic() < end:
            own.post(f"/entities/{ENTITY}/items", {"name": "a", "total": count}, expect=201)
            count += 1
        counts.append(count)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


def measure_change(world, admin, out):
    before = resident_kb(world)
    crowd = Streams(world, "live", [admin.token], LISTENERS)
    try:
        each = (resident_kb(world) - before) / LISTENERS
        took = []
        for number in range(CHANGES):
            admin.post(f"/entities/{ENTITY}/items", {"name": "one", "total": number}, expect=201)
            written = time.monotonic()
            took.append((crowd.wait_events(LISTENERS) - written) * 1000)
        begun = time.monotonic()
        admin.post(f"/entities/{ENTITY}/items/bulk", {"items": [{"name": "many", "total": n} for n in range(50)]}, expect=201)
        rate = 50 * LISTENERS / (crowd.wait_events(50 * LISTENERS, limit=120) - begun)
    finally:
        crowd.close()
    took.sort()
    out.add(f"one change to {LISTENERS:,} listeners, the last one", f"{took[-1]:.0f} ms", "<= 250 ms", took[-1] <= 250,
            f"median {took[len(took) // 2]:.0f} ms; the listeners share the machine")
    out.add("changes delivered", f"{rate:,.0f}/s", "", True, f"50 changes to {LISTENERS:,}")
    out.add("an idle listener", f"{each:.1f} KB", "<= 12 KB", each <= 12, f"of {LISTENERS:,}")


def cost_of_writes(world, admin, args, out):
    """Measures one writer alone, then with listeners whose row rules hide the records."""
    schema, ratios, tokens = world.schema("live"), [], listeners(admin)
    for _ in range(args.rounds):
        world.sql(f"delete from {schema}.live_state")
        world.sql(f"update {schema}.meta set model_version = model_version + 1")
        world.sql("update platform.projects set epoch = epoch + 1 where slug = 'live'")
        time.sleep(2.5)
        alone = create_rate(admin, args.seconds)
        crowd = Streams(world, "live", tokens, RULED)
        try:
            ratios.append(create_rate(admin, args.seconds) / alone)
        finally:
            crowd.close()
    ratios.sort()
    middle = ratios[len(ratios) // 2]
    out.add(f"creates with {RULED:,} listeners under row rules / none", f"{middle:.2f} x [{ratios[0]:.2f} .. {ratios[-1]:.2f}]", ">= 0.75",
            middle >= 0.75)


def rate_of(crowd, write, mark):
    """Deliveries per second of one batch, from its first byte to the last delivery."""
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(8) as writers:
        list(writers.map(write, range(BATCH)))
    return BATCH * PEERS / (crowd.wait_events(BATCH * PEERS, mark, 120) - begun)


def compare_parse(world, folder, admin, args, out, say):
    """Sends the same batches to as many listeners of Parse Server's LiveQuery, in alternating rounds."""
    reason = parse.install()
    if not reason:
        try:
            other = parse.ParseServer(world, folder)
        except RuntimeError as error:
            reason = str(error)
    if reason:
        say(f"  Parse Server: {reason}")
        return
    path, ratios, rates = f"/entities/{ENTITY}/items", [], []
    ours = Streams(world, "live", [admin.token], PEERS)
    try:
        other.write(1)  # creates the class
        theirs = Queries(other.port, PEERS)
        for _ in range(args.rounds):
            mine = rate_of(ours, lambda n: admin.post(path, {"name": "many", "total": n}, expect=201), b"event: created")
            rates.append((mine, rate_of(theirs, other.write, b'"op":"create"')))
            ratios.append(rates[-1][0] / rates[-1][1])
        theirs.close()
    finally:
        ours.close()
        other.stop()
    ratios.sort()
    middle = ratios[len(ratios) // 2]
    mine, others = (sorted(each)[len(rates) // 2] for each in zip(*rates))
    out.add(f"changes to {PEERS:,} listeners / Parse Server LiveQuery", f"{middle:.1f} x [{ratios[0]:.1f} .. {ratios[-1]:.1f}]", ">= 10",
            middle >= 10, f"{mine:,.0f}/s against {others:,.0f}/s, {BATCH} written by eight")


def live(world, folder, args, out, say):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    admin = world.project("live")
    admin.post("/entities", {"name": ENTITY, "fields": [{"name": "name", "type": "varchar"}, {"name": "total", "type": "integer"}]}, expect=201)
    try:
        say(f"  {LISTENERS:,} listeners")
        measure_change(world, admin, out)
        say(f"  creates with and without {RULED:,} listeners")
        cost_of_writes(world, admin, args, out)
        say("  comparison with Parse Server")
        compare_parse(world, folder, admin, args, out, say)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
