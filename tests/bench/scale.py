"""Does the rate stay flat with the number of projects and of entities?

Each count requests the same RECORDS, spread evenly over the tables, with requests that are prepared before
the measurement. Only warm caches are measured: the same requests run before until every token, permission
and plan is cached. pgbench runs with as many clients on the same tables, one at random per transaction, to
show the part of the slope that PostgreSQL causes.
"""
import pathlib
import re
import statistics
import time

from tools import CLIENTS, lua, pgbench_steady, wrk
from world import standard_user

SPREAD = 0.2
RECORDS = 10_000
PROJECTS = (1, 10, 100, 1000)
ENTITIES = (1, 100, 1000)
WARM_SECONDS = 30  # permissions are read every five seconds, and PostgreSQL plans a statement again the first five times
WARM_AT_MOST = 120
WINDOW = 5


def spread(rates):
    return 1 - min(rates.values()) / max(rates.values())


def report(out, name, ours, theirs):
    """Reports the rates by size: the lowest may be 20 % below the highest."""
    drop = spread(ours)
    text = ", ".join(
        f"{size}: {ours[size]:,.0f}/s ({ours[size] / theirs[size]:.2f} x pgbench's {theirs[size]:,.0f}/s)" for size in ours
    )
    out.add(name, f"{drop:.0%} spread", f"<= {SPREAD:.0%}", drop <= SPREAD, f"{text}; pgbench's own spread {spread(theirs):.0%}")


class Table:
    """One entity, with its requests over HTTP and in SQL."""

    def __init__(self, world, slug, client, entity, owner=1):
        self.owner = owner  # of the records: by the row rule no other user sees them
        self.path = f"/org/{slug}/entities/{entity['name']}/items/"
        self.token = client.token
        self.name = f"{world.schema(slug)}.e_{entity['id']}"
        self.column = next(f"f_{field['id']}" for field in entity["fields"] if field["name"] == "name")

    def select(self):
        columns = f"id, version, {self.column}, created_at, updated_at, created_by"
        return f"select {columns} from {self.name} where id = :id;"

    def fill(self, world, count):
        world.sql(
            f"insert into {self.name} (created_by, {self.column}) select {self.owner}, 'Number ' || n from generate_series(1, {count}) n"
        )
        world.vacuum(self.name)


def fill(world, tables, sizes, say):
    """Fills each table with its share of RECORDS at the smallest count that uses the table."""
    for number, table in enumerate(tables):
        table.fill(world, RECORDS // next(size for size in sizes if number < size))
    say(f"  {len(tables)} tables filled")


def script(folder, tables):
    """Prepares RECORDS requests, round-robin over all tables, one per record."""
    lines = ",\n".join(f'{{"{table.path}", "Bearer {table.token}"}}' for table in tables)
    return lua(
        folder, "scale",
        f"local tables = {{{lines}}}\nlocal made, n = {{}}, 0\n"
        f"function init(args)\n  for i = 0, {RECORDS - 1} do\n    local table = tables[i % #tables + 1]\n"
        "    made[i + 1] = wrk.format('GET', table[1] .. math.floor(i / #tables) + 1, {Authorization = table[2]})\n"
        "  end\nend\nfunction request() n = n % #made + 1 return made[n] end\n",
    )


def token_misses(world):
    """The number of tokens that had to be verified so far."""
    return float(re.search(r"^groundwork_token_cache_misses_total\S* (\S+)", world.gateway.metrics(), re.M).group(1))


def warm_up(world, requests):
    """Sends requests until all tokens are cached and the rate no longer rises."""
    begun, last = time.monotonic(), 0.0
    while time.monotonic() - begun < WARM_AT_MOST:
        before = token_misses(world)
        rate = wrk(world.gateway.url, WINDOW, requests)["rate"]
        if time.monotonic() - begun >= WARM_SECONDS and token_misses(world) == before and rate < last * 1.05:
            return
        last = max(last, rate)


def run_pgbench(world, folder, tables, args):
    """Runs pgbench. It accepts at most 128 scripts, so each script chooses among a share of the tables."""
    groups = min(len(tables), 100)
    share = len(tables) // groups
    scripts = []
    for group in range(groups):
        lines = [f"\\set id random(1, {RECORDS // len(tables)})", f"\\set one random(1, {share})"]
        for number, table in enumerate(tables[group * share : (group + 1) * share]):
            lines += [f"\\{'if' if number == 0 else 'elif'} :one = {number + 1}", table.select()]
        path = pathlib.Path(folder) / f"scale-{group}.sql"
        path.write_text("\n".join([*lines, "\\endif", ""]))
        scripts.append(path)
    return pgbench_steady(world.servers, scripts, args.rounds * args.seconds)["rate"]


def measure(world, folder, tables, sizes, args, out, say, name):
    fill(world, tables, sizes, say)
    rates, others = {}, {}
    for size in sizes:
        requests = script(folder, tables[:size])
        warm_up(world, requests)
        results = [wrk(world.gateway.url, args.seconds, requests) for _ in range(args.rounds)]
        errors = sum(result["errors"] for result in results)
        if errors:
            raise RuntimeError(f"{errors} errors at {size} {name}")
        rates[size] = statistics.median(result["rate"] for result in results)
        others[size] = run_pgbench(world, folder, tables[:size], args)
        say(f"  {size} {name}: {rates[size]:,.0f}/s; pgbench with {CLIENTS} clients {others[size]:,.0f}/s")
    report(out, f"get, by number of {name}", rates, others)


FIELDS = [{"name": "name", "type": "varchar"}]


def by_projects(world, folder, args, out, say):
    """Each project with its own user, token and table."""
    tables = []
    while len(tables) < max(PROJECTS):
        slug = f"scale-{len(tables)}"
        admin = world.project(slug)
        entity = admin.post("/entities", {"name": "things", "fields": FIELDS}, expect=201).json()
        user = standard_user(admin, "things")
        tables.append(Table(world, slug, user, entity, user.user_id))
        if len(tables) % 100 == 0:
            say(f"  {len(tables)} projects")
    measure(world, folder, tables, PROJECTS, args, out, say, "projects")


def by_entities(world, folder, args, out, say):
    """All entities in one project."""
    admin = world.project("wide")
    tables = []
    while len(tables) < max(ENTITIES):
        entity = admin.post("/entities", {"name": f"thing_{len(tables)}", "fields": FIELDS}, expect=201).json()
        tables.append(Table(world, "wide", admin, entity))
        if len(tables) % 100 == 0:
            say(f"  {len(tables)} entities")
    measure(world, folder, tables, ENTITIES, args, out, say, "entities")


def run(world, folder, args, out, say):
    say("scale: projects")
    by_projects(world, folder, args, out, say)
    say("scale: entities")
    by_entities(world, folder, args, out, say)
