"""Search: the cost of the indexer. When idle, of a rebuild, of new and changed records (compared with GIN without its pending list on the same rows),
and the time until a write is in the index."""
import random
import statistics
import time

from memory import reset_peak, peak_mb

TERMS = 200_000
CHANGES = 20_000
WRITES, WRITES_A_SECOND = 600, 200
FIELDS = (("title", "varchar", 6), ("subtitle", "varchar", 8), ("body", "text", 52), ("tags", "varchar", 4))


def words(count):
    """SQL for `count` random words; the n-th most frequent is about 1/n as frequent as the first, because exp() of a uniform number has that distribution."""
    return (f"(select string_agg(translate(to_hex(floor(exp(random() * ln({TERMS})))::int * 2654435761 %% 4294967296::bigint), '0123456789', "
            f"'ghijklmnop'), ' ') "
            f"from generate_series(1, {count}) k where n > 0)")


class Corpus:
    def __init__(self, world, slug):
        self.world, self.admin = world, world.project(slug)
        self.admin.put("/", {"settings": {"rate_read": 0, "rate_write": 0, "rate_heavy": 0}}, expect=200)
        fields = [{"name": name, "type": kind, "searchable": True} for name, kind, _ in FIELDS]
        entity = self.admin.post("/entities", {"name": "docs", "fields": fields}, expect=201).json()
        self.schema = world.schema(slug)
        self.entity, self.table = entity["id"], f"{self.schema}.e_{entity['id']}"
        self.columns = {f["name"]: f"f_{f['id']}" for f in entity["fields"]}

    def fill(self, count, at_once=50_000):
        names = ", ".join(self.columns[name] for name, _, _ in FIELDS)
        for first in range(1, count + 1, at_once):
            last = min(first + at_once - 1, count)
            self.world.sql(f"insert into {self.table} (created_by, {names}) select 1 + n %% 10, {', '.join(words(size) for _, _, size in FIELDS)} "
                           f"from generate_series({first}, {last}) n")
        self.world.vacuum(self.table)

    def query_value(self, text):
        return self.world.sql(text.format(p=self.schema))[0][0]

    def count_pending(self):
        return self.query_value("select (select count(*) from {p}.outbox where pending & 2 <> 0) + (select count(*) from {p}.search_work) "
                                "+ (select count(*) from {p}.search_indexes where state in ('building', 'dropped'))")

    def settle(self, within=1200):
        end = time.monotonic() + within
        while self.count_pending():
            if time.monotonic() > end:
                raise RuntimeError("the index does not come to rest")
            time.sleep(0.05)

    def build_first(self):
        self.notify()
        while not self.query_value(f"select count(*) from {{p}}.search_indexes where entity_id = {self.entity} and state = 'live'"):
            time.sleep(0.05)
        self.settle()

    def build(self):
        """Documents per second of a rebuild, from its start to its last posting."""
        self.world.sql(f"insert into {self.schema}.search_indexes (entity_id, state) values (%s, 'building')", self.entity)
        self.notify()
        began = time.monotonic()
        while self.query_value(f"select count(*) from {{p}}.search_indexes where entity_id = {self.entity} and state = 'building'"):
            time.sleep(0.02)
        took = time.monotonic() - began
        return self.query_value(f"select documents from {{p}}.search_indexes where entity_id = {self.entity} and state = 'live'") / took

    def notify(self):
        """Sends the notification of a write."""
        self.admin.post("/entities/docs/items", {"title": "bell"}, expect=201)

    def wal(self):
        return self.query_value("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn")

    def index_changes(self, first, count):
        """Indexes rows of the outbox in the form that writers leave: (records per second, WAL bytes per record)."""
        self.world.sql(f"insert into {self.schema}.outbox (pending, event, entity_id, record_id, payload) "
                       f"select 2, 'EntityUpdated', {self.entity}, n, '{{}}' from generate_series({first}, {first + count - 1}) n")
        before, began = self.wal(), time.monotonic()
        self.notify()
        self.settle()
        return count / (time.monotonic() - began), float(self.wal() - before) / count


def gin(corpus, first, count, change=False):
    """Inserts or changes the same records in a table with a tsvector and GIN."""
    table = f"{corpus.schema}.gin"
    text = " || ' ' || ".join(f"coalesce({corpus.columns[name]}, '')" for name, _, _ in FIELDS)
    if not change:
        corpus.world.sql(f"create table if not exists {table} (id bigint primary key, v tsvector)")
        corpus.world.sql(f"create index if not exists gin_v on {table} using gin (v) with (fastupdate = off)")
    before, took = corpus.wal(), 0.0
    for start_at in range(first, first + count, 200):
        source = f"select id, to_tsvector('simple', {text}) from {corpus.table} where id between {start_at} and {start_at + 199}"
        began = time.monotonic()
        corpus.world.sql(f"insert into {table} {source} on conflict (id) do update set v = excluded.v")
        took += time.monotonic() - began
    return count / took, float(corpus.wal() - before) / count


def replace_words(corpus, first, count):
    """Replaces five of seventy words in each record."""
    body = corpus.columns["body"]
    corpus.world.sql(f"update {corpus.table} set {body} = regexp_replace({body}, '^(\\S+ ){{5}}', '') || ' ' || "
                     f"{words(5).replace('n > 0', 'id > 0')} where id between {first} and {first + count - 1}")


def write_to_index_seconds(corpus):
    """Seconds from an answered write to its forward list, at 200 writes per second, polled every two milliseconds."""
    ages, waiting, pause = [], {}, 1 / WRITES_A_SECOND
    for number in range(WRITES):
        began = time.monotonic()
        made = corpus.admin.post("/entities/docs/items", {"title": f"w{random.randrange(1000)} astrolabe {number}"}, expect=201).json()["id"]
        waiting[made] = time.monotonic()
        found = corpus.world.sql(f"select record_id from {corpus.schema}.search_docs where record_id = any(%s)", list(waiting))
        for (record,) in found:
            ages.append(time.monotonic() - waiting.pop(record))
        time.sleep(max(0, began + pause - time.monotonic()))
    while waiting:
        for (record,) in corpus.world.sql(f"select record_id from {corpus.schema}.search_docs where record_id = any(%s)", list(waiting)):
            ages.append(time.monotonic() - waiting.pop(record))
        time.sleep(0.002)
    return sorted(ages)


def indexing(world, folder, args, out, say):
    count = 100_000 if args.quick else 1_000_000
    daemon = world.start("search-indexer")
    (pid,) = daemon.workers()
    time.sleep(2)
    out.add("memory of an idle indexer", f"{peak_mb(pid):.1f} MB", "<= 12 MB", peak_mb(pid) <= 12)
    daemon.stop()
    corpus = Corpus(world, "indexing")
    say(f"  {count:,} records")
    corpus.fill(count)
    daemon = world.start("search-indexer")  # start the indexer only now: earlier it would build the index of the records copied so far, and index the rest one by one
    try:
        corpus.build_first()
        measure(corpus, daemon, count, args, out, say)
    finally:
        daemon.stop()


def measure(corpus, daemon, count, args, out, say):
    (pid,) = daemon.workers()
    reset_peak(pid)
    rates = []
    for _ in range(2 if args.quick else args.rounds):
        rates.append(corpus.build())
        corpus.settle()
        say(f"  rebuild: {rates[-1]:,.0f} records/s")
    rate = statistics.median(rates)
    out.add(f"rebuild of {count:,} records", f"{rate:,.0f} records/s", ">= 20000", rate >= 20000, "read, cut, written")
    out.add("memory of an indexer in a rebuild", f"{peak_mb(pid):.0f} MB", "<= 128 MB", peak_mb(pid) <= 128)
    fresh = count + 1000
    corpus.world.sql(f"select setval('{corpus.table}_id_seq', {fresh})")
    corpus.fill(CHANGES)
    new, new_wal = corpus.index_changes(fresh + 1, CHANGES)
    gin_new, gin_new_wal = gin(corpus, fresh + 1, CHANGES)
    out.add("new records into the index", f"{new:,.0f}/s, {new / gin_new:.2f} x GIN", ">= 0.6 x", new >= 0.6 * gin_new)
    out.add("WAL of a new record", f"{new_wal / 1024:.1f} KB, {new_wal / gin_new_wal:.2f} x GIN", "<= 0.8 x", new_wal <= 0.8 * gin_new_wal)
    replace_words(corpus, fresh + 1, CHANGES)
    changed, changed_wal = corpus.index_changes(fresh + 1, CHANGES)
    gin_changed, gin_changed_wal = gin(corpus, fresh + 1, CHANGES, True)
    out.add("changed records into the index", f"{changed:,.0f}/s, {changed / gin_changed:.2f} x GIN", ">= 1.2 x", changed >= 1.2 * gin_changed)
    out.add("WAL of a changed record", f"{changed_wal / 1024:.1f} KB, {changed_wal / gin_changed_wal:.2f} x GIN", "<= 0.3 x",
            changed_wal <= 0.3 * gin_changed_wal)
    ages = write_to_index_seconds(corpus)
    p50, p99 = ages[len(ages) // 2] * 1000, ages[int(len(ages) * 0.99)] * 1000
    out.add(f"write to searchable at {WRITES_A_SECOND} writes/s, median", f"{p50:.0f} ms", "<= 250 ms", p50 <= 250, f"p99 {p99:.0f} ms")
    out.add(f"write to searchable at {WRITES_A_SECOND} writes/s, p99", f"{p99:.0f} ms", "<= 1000 ms", p99 <= 1000)
