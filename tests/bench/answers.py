"""The peak memory of a worker when clients request the largest answers: wide lists, expanded lists, slow exports."""
import concurrent.futures
import socket
import time
import urllib.parse

from groundwork.client import Client

MOST_MB = 128
ROWS, ROW_BYTES = 240, 1_000_000
EXPORTS, EXPORT_ROWS = 33, 13  # of 1 MB each
SECONDS = 10


def peak_kb(world, clear=False):
    """The peak memory of any worker since the peaks were cleared."""
    most = 0
    for pid in world.gateway.workers():
        if clear:
            with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as file:
                file.write("5")
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            most = max(most, next(int(line.split()[1]) for line in status if line.startswith("VmHWM")))
    return most


def table(world, slug, entity):
    field = next(field for field in entity["fields"] if field["name"] == "text")
    return f"{world.schema(slug)}.e_{entity['id']}", f"f_{field['id']}"


def fill(world, slug, entity, rows):
    name, column = table(world, slug, entity)
    world.sql(f"alter table {name} alter {column} set storage external")  # do not measure decompression
    world.sql(f"insert into {name} ({column}) select repeat('x', {ROW_BYTES}) from generate_series(1, {rows}) n")


def ask(client, path, statuses, ends):
    while time.monotonic() < ends:
        statuses.append(client.get(path).status_code)


def slow_export(world, admin):
    address = urllib.parse.urlsplit(world.gateway.url)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect((address.hostname, address.port))
    path = urllib.parse.urlsplit(admin.base_url).path + "/entities/exported/items/export"
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {admin.token}\r\n\r\n".encode())
    return connection


def answers(world, folder, args, out, say):
    """Uses two projects at once, so that the share of one project is not the limit."""
    paths, admins, held = [], [], []
    for slug in ("wide-a", "wide-b"):
        admin = world.project(slug)
        text = {"name": "text", "type": "text", "public": True}
        fill(world, slug, admin.post("/entities", {"name": "wide", "fields": [text], "public_read": True},
                                     expect=201).json(), ROWS)
        fill(world, slug, admin.post("/entities", {"name": "exported", "fields": [text]}, expect=201).json(),
             EXPORT_ROWS)
        link = {"name": "wide", "type": "relation", "options": {"entity": "wide"}}
        admin.post("/entities", {"name": "links", "fields": [link]}, expect=201)
        ids = [item["id"] for item in admin.get("/entities/wide/items?limit=500&fields=id", expect=200).json()["items"]]
        admin.post("/entities/links/items/bulk", {"items": [{"wide": id} for id in ids]})
        anyone = Client(admin.base_url)
        admins.append(admin)
        paths += 3 * [(anyone, "/entities/wide/public/items?limit=500")]
        paths += 2 * [(anyone, "/entities/wide/public/items?limit=14")]
        paths += 2 * [(Client(admin.base_url, token=admin.token), "/entities/links/items?limit=500&expand=wide")]
    statuses = []
    before = peak_kb(world, clear=True)
    ends = time.monotonic() + SECONDS
    try:
        held += [slow_export(world, admins[n % 2]) for n in range(EXPORTS)]
        with concurrent.futures.ThreadPoolExecutor(len(paths)) as pool:
            for client, path in paths:
                pool.submit(ask, Client(client.base_url, token=client.token), path, statuses, ends)
    finally:
        for connection in held:
            connection.close()
    megabytes = peak_kb(world) / 1024
    seen = ", ".join(f"{statuses.count(status)} x {status}" for status in sorted(set(statuses)))
    say(f"  {before / 1024:.0f} MB before; {seen}")
    out.add("a worker's peak under the widest answers", f"{megabytes:.0f} MB", f"<= {MOST_MB} MB", megabytes <= MOST_MB)
