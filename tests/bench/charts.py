"""Charts over a million records: compares cached data with GET of one record, and computed data with the same statement in psql."""
import time

from world import PASSWORD, products  # first: it makes the flow tests' library importable
from groundwork.client import Client
from tools import lua, requests_lua, wrk

RECORDS = 1_000_000
CHART = {"name": "Prices", "kind": "bar", "entity": "products", "aggregates": [
    {"function": "count"}, {"function": "sum", "field": "price"}], "group_by": [{"field": "in_stock"}]}


def seconds_each(call, times):
    """{"rate"} of consecutive calls, and their durations."""
    taken = []
    for _ in range(times):
        begun = time.monotonic()
        call()
        taken.append(1000 * (time.monotonic() - begun))
    taken.sort()
    return {"rate": 1000 * times / sum(taken), "p50": taken[times // 2], "p99": taken[-1]}


def charts(world, folder, args, out, say):
    user, table, columns = products(world, "charts")
    names = ", ".join(columns.values())
    world.sql(f"insert into {table} (created_by, {names}) select t.created_by, {', '.join(f't.{name}' for name in columns.values())}"
              f" from {table} t, generate_series(1, {RECORDS // 100_000 - 1}) n")
    world.vacuum(table)
    admin = Client(user.base_url).sign_in("admin@example.com", PASSWORD)
    limits = {"rate_read": 0, "rate_write": 0, "rate_heavy": 0}
    admin.put("/", {"settings": limits}, expect=200)
    admin.put("/entities/products", {"row_level_security": False}, expect=200)
    number = admin.post("/charts", CHART, expect=201).json()["id"]
    path = f"/charts/{number}/data"
    headers = {"Authorization": f"Bearer {admin.token}"}
    one = lua(folder, "chart_one", requests_lua(
        f"wrk.format('GET', '/org/charts/entities/products/items/' .. math.random(1, {RECORDS}))"))
    kept = lua(folder, "chart_kept", requests_lua(f"wrk.format('GET', '/org/charts{path}')"))
    statement = (f"select {columns['in_stock']}, count(*), sum({columns['price']}) from {table} t"
                 f" group by 1 order by 1 limit 101")
    pairs = {"kept": [], "one": [], "computed": [], "psql": []}
    with world.servers.connect() as connection, connection.cursor() as cursor:
        cursor.execute("set max_parallel_workers_per_gather = 0")  # like the gateway: one core per project
        for turn in range(args.rounds):
            say(f"  round {turn + 1} of {args.rounds}")
            pairs["kept"].append(wrk(world.gateway.url, args.seconds, kept, headers))
            pairs["one"].append(wrk(world.gateway.url, args.seconds, one, headers))
            pairs["computed"].append(seconds_each(
                lambda: admin.get(f"{path}?fresh=true", expect=200), 10))
            pairs["psql"].append(seconds_each(lambda: (cursor.execute(statement), cursor.fetchall()), 10))
    out.ratio("chart of 1,000,000 records, kept / get one record", 0.5, pairs["kept"], pairs["one"])
    out.ratio("chart of 1,000,000 records, computed / psql", 0.9, pairs["computed"], pairs["psql"])
