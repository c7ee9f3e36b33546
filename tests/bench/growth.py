"""Search as an entity grows: compares a million records with a hundred thousand and with ten million; the cost of building such an index."""
from memory import peak_mb
from searches import RECORDS, Corpus, Shelf, http, median, run_rounds

MILLION, TIMES = 1_000_000, 10
HOURS = 2 * 3600  # the time limit of indexing ten million


def multiply(world, shelf, times):
    """Copies all records `times` - 1 times; each copy combines the text of a field with texts of other records in the other fields."""
    title, *others = shelf.columns.values()
    first, last = world.sql(f"select min(id), max(id) from {shelf.table}")[0]
    for n in range(1, times):
        texts = ", ".join(f"t{i}.{column}" for i, column in enumerate(others))
        joins = " ".join(f"join {shelf.table} t{i} on t{i}.id = {first} + (t.id + {n * 7919 * (i + 1)}) %% {last - first + 1}" for i in range(len(others)))
        world.sql(f"insert into {shelf.table} (created_by, {title}, {', '.join(others)}) select t.created_by, t.{title}, {texts}"
                  f" from {shelf.table} t {joins} where t.id between {first} and {last} order by t.id")
    world.vacuum(shelf.table)


def build_index(world, shelf, out, say, name, least=0):
    """Builds another index of all records with an idle indexer; `least` is the required rate, if any."""
    indexer = world.start("search-indexer")
    (pid,) = indexer.workers()
    say(f"  index of {name} records")
    shelf.build(HOURS)
    rate = shelf.rate()
    out.add(f"rebuild of {name} records", f"{rate:,.0f}/s", f">= {least}" if least else "-", rate >= least)
    out.add("memory of an indexer during a rebuild", f"{peak_mb(pid):.0f} MB", "<= 128 MB", peak_mb(pid) <= 128)
    indexer.stop()


def growth(world, folder, args, out, say):
    corpus = Corpus()
    small, large = Shelf(world, "books-100k"), Shelf(world, "books-1m")
    small.fill(corpus, RECORDS)
    say("  1,000,000 records")
    large.fill(corpus, MILLION)
    indexer = world.start("search-indexer")
    small.build()
    large.build(HOURS)  # measure after this build, because the first build also waits for late writers
    indexer.stop()
    build_index(world, large, out, say, "1,000,000", least=20000)
    few, many = run_rounds(args, lambda: http(world, folder, small, "cotton", args.seconds), lambda: http(world, folder, large, "cotton", args.seconds))
    ratio = median(many) / median(few)
    out.add("search of 1,000,000 records / of 100,000", f"{ratio:.1f} x", "<= 2", ratio <= 2, f"p50 {median(many):.2f} ms")
    say("  10,000,000 records")
    multiply(world, large, TIMES)
    build_index(world, large, out, say, "10,000,000")
    newest, exact = run_rounds(args, lambda: http(world, folder, large, "cotton", args.seconds), lambda: http(world, folder, large, "linen", args.seconds))
    for name, results in (("20 % of them, the newest looked at", newest), ("5 %, their total exact", exact)):
        p50 = median(results)
        out.add(f"search of 10,000,000 records, term in {name}", f"{p50:.2f} ms", "<= 10 ms", p50 <= 10, f"{sum(r['errors'] for r in results)} errors")
