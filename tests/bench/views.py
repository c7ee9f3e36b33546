"""The refresh of a materialised view, compared with PostgreSQL's own refresh of the same statement; both stay readable."""
import statistics
import time

from world import PASSWORD, products  # first: it makes the flow tests' library importable
from groundwork.client import Client

RECORDS, PRICES = 250_000, 10_000
VIEW = {"name": "prices", "entity": "products", "group_by": [{"field": "price"}],
        "aggregates": [{"function": "count"}, {"function": "sum", "field": "price"}]}


def refresh_ms(admin, begun_at):
    """Waits for the next refresh; returns its duration in milliseconds, as recorded in the view."""
    admin.post("/materialized-views/prices/refresh", expect=202)
    end = time.monotonic() + 60
    while True:
        shown = admin.get("/materialized-views/prices", expect=200).json()
        if shown["status"] == "ready" and shown["refreshed_at"] != begun_at:
            return shown["refresh_ms"], shown["refreshed_at"]
        assert time.monotonic() < end, shown
        time.sleep(0.02)


def views(world, folder, args, out, say):
    user, table, columns = products(world, "views", RECORDS)
    admin = Client(user.base_url).sign_in("admin@example.com", PASSWORD)
    schema, price = world.schema("views"), columns["price"]
    world.start_runner(SWEEP_MS=100)
    admin.post("/materialized-views", VIEW, expect=201)
    connection = world.servers.connect()
    connection.autocommit = True
    took = {"ours": [], "theirs": []}
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"create materialized view {schema}.beside as select {price}, count(*), sum({price})"
                           f" from {table} group by {price}")
            cursor.execute(f"create unique index on {schema}.beside ({price})")
            last = None
            for turn in range(args.rounds + 1):
                say(f"  round {turn} of {args.rounds}")
                cursor.execute(f"update {table} set {price} = {price} + 1 where id % {PRICES // 100} = 0")
                ours, last = refresh_ms(admin, last)
                begun = time.monotonic()
                cursor.execute(f"refresh materialized view concurrently {schema}.beside")
                if turn > 0:  # the first round warms up both
                    took["ours"].append(ours)
                    took["theirs"].append((time.monotonic() - begun) * 1000)
            cursor.execute(f"drop materialized view {schema}.beside")
    finally:
        connection.close()
        world.stop_runner()
    ratios = sorted(theirs / max(ours, 1) for ours, theirs in zip(took["ours"], took["theirs"]))
    middle = ratios[len(ratios) // 2]
    out.add("refresh of a materialised view / refresh materialized view concurrently", f"{middle:.2f} x [{ratios[0]:.2f} .. {ratios[-1]:.2f}]",
            ">= 1", middle >= 1, f"{statistics.median(took['ours']):.0f} ms against {statistics.median(took['theirs']):.0f} ms, {RECORDS:,} records")
