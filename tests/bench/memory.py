"""Memory: a worker at rest, and what an idle keep-alive connection costs."""
import resource
import socket
import time


def resident_kb(world):
    """Resident memory of the workers that is theirs alone or shared by fork, in KB."""
    total = 0
    for pid in world.gateway.workers():
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as text:
            total += sum(int(line.split()[1]) for line in text if line.startswith("Rss:"))
    return total


def at_rest(world, out, say):
    say("memory at rest")
    time.sleep(1)
    megabytes = resident_kb(world) / 1024 / len(world.gateway.workers())
    out.add("memory of a worker at rest", f"{megabytes:.1f} MB", "<= 25 MB", megabytes <= 25)


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
        for _ in range(count):
            connection = socket.create_connection(address)
            connection.sendall(request)
            connection.recv(4096)
            held.append(connection)
        cost = (resident_kb(world) - before) / count
    finally:
        for connection in held:
            connection.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    out.add(f"an idle connection (of {count:,})", f"{cost:.1f} KB", "<= 8 KB", cost <= 8)
