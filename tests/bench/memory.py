"""Memory: an idle worker, the cost of an idle keep-alive connection, and the peak during large answers."""
import re
import resource
import socket
import time

from groundwork import floods
from groundwork.client import Client
from groundwork.project import Project
from world import OPERATOR_TOKEN


def resident_kb(world):
    """Resident memory of the workers, private or shared by fork, in KB."""
    total = 0
    for pid in world.gateway.workers():
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as text:
            total += sum(int(line.split()[1]) for line in text if line.startswith("Rss:"))
    return total


def measure_idle(world, out, say):
    say("memory when idle")
    time.sleep(1)
    megabytes = resident_kb(world) / 1024 / len(world.gateway.workers())
    out.add("memory of an idle worker", f"{megabytes:.1f} MB", "<= 25 MB", megabytes <= 25)


def idle_connections(world, out, say, count=10_000):
    say(f"{count} idle connections")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = min(count, hard - 500)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    address = ("127.0.0.1", world.gateway.port)
    request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    before = resident_kb(world)
    held = []
    try:
        for number in range(count):  # from four client addresses: one address may use half of all connections
            connection = socket.create_connection(address, source_address=(f"127.0.0.{2 + number % 4}", 0))
            connection.sendall(request)
            connection.recv(4096)
            held.append(connection)
        cost = (resident_kb(world) - before) / count
    finally:
        for connection in held:
            connection.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    out.add(f"an idle connection (of {count:,})", f"{cost:.1f} KB", "<= 8 KB", cost <= 8)


def peak_mb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1]) / 1024


def reset_peak(pid):
    with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as text:
        text.write("5")


def worst_mix(world, out, say, count=4, seconds=20):
    """Projects request all large resources at once; measures the peaks of the workers."""
    say("memory under the worst mix")
    operator = Client(f"{world.gateway.url}/org", token=OPERATOR_TOKEN)
    projects = [Project(world.gateway, operator, None, name=f"worst{number}") for number in range(count)]
    db = world.servers.connect()
    for project in projects:
        floods.prepare_worst(project, db)
    for pid in world.gateway.workers():
        reset_peak(pid)
    attacks = [attack for project in projects for attack in floods.worst_mix(project, db)]
    with floods.run_together(*attacks):
        time.sleep(seconds)
        most = max(peak_mb(pid) for pid in world.gateway.workers())
    db.close()
    out.add("memory of a worker under the worst mix", f"{most:.0f} MB", "<= 194 MB", most <= 194,
            f"large lists, unread ones, slow exports, aggregates, documents, large bodies and unfinished ones of {count} projects")
