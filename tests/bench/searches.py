"""Search: 100,000 records of a Zipf corpus, over HTTP and in the database, compared with GIN with ts_rank, SQLite FTS5, Groonga and pgbench -S; callers
under row rules, typos, many projects, indexing compared with GIN without its pending list, and the time until a write is found."""
import io
import json
import pathlib
import random
import shutil
import sqlite3
import statistics
import subprocess
import threading
import time
import urllib.parse

from world import PASSWORD, standard_user
from groundwork.client import Client
from memory import peak_mb
from tools import lua, pgbench, requests_lua, wrk

RECORDS, WORDS = 100_000, 200_000
PROJECTS, FEW_PROJECTS, SMALL = 1000, 20, 1000  # FEW_PROJECTS with --quick
NEW, CHANGED = 8_000, 8_000
AT_ONCE = 50_000  # records written at once
FIELDS = {"title": (4, 8), "subtitle": (6, 10), "body": (40, 65), "tags": (3, 6)}
INJECTED = {"cotton": 0.2, "linen": 0.05, "walnut": 0.01, "astrolabe": 0.0004}  # a fifth of each in titles
SELECT_ID = "\\set id random(1, 100000)\nselect id from {table} where id = :id;\n"


class Corpus:
    """Pseudo-words by Zipf-Mandelbrot (s = 1, q = 10)."""

    def __init__(self, seed=1):
        self.chance = random.Random(seed)
        syllables = [a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er", "ol")]
        words = set()
        while len(words) < WORDS:
            words.add("".join(self.chance.choices(syllables, k=self.chance.choice((2, 3, 3, 4)))))
        self.words, total, self.weights = sorted(words), 0.0, []
        self.chance.shuffle(self.words)
        for rank in range(WORDS):
            total += 1 / (rank + 10)
            self.weights.append(total)

    def text(self, least, most):
        return self.chance.choices(self.words, cum_weights=self.weights, k=self.chance.randint(least, most))

    def record(self):
        texts = {name: self.text(*size) for name, size in FIELDS.items()}
        for word, share in INJECTED.items():
            if self.chance.random() < share:
                text = texts["title" if self.chance.random() < 0.2 else "body"]
                text[self.chance.randrange(len(text))] = word
        return {name: " ".join(text) for name, text in texts.items()}


class Shelf:
    """An entity with these fields. Its records are written directly to the database, so that an index of all is built at once."""

    def __init__(self, world, slug):
        self.world, self.slug = world, slug
        self.admin = world.project(slug)
        self.admin.put("/", {"settings": {"rate_read": 0, "rate_write": 0, "rate_heavy": 0}}, expect=200)
        fields = [{"name": name, "type": "text", "searchable": True} for name in FIELDS]
        entity = self.admin.post("/entities", {"name": "books", "fields": fields}, expect=201).json()
        self.columns = {f["name"]: f"f_{f['id']}" for f in entity["fields"] if f["name"] in FIELDS}
        self.id, self.p = entity["id"], world.schema(slug)
        self.table = f"{self.p}.e_{entity['id']}"
        self.user = standard_user(self.admin, "books")
        self.few = self.caller("few")

    def caller(self, name, entities=("books",)):
        """A user with a separate role."""
        permissions = [f"{entity}:read" for entity in entities] + ["svc_search:read"]
        role = self.admin.post("/roles", {"name": name, "api_access": True, "permissions": permissions}, expect=201).json()
        email = f"{name}@example.com"
        user = self.admin.post("/users", {"email": email, "password": PASSWORD, "role_ids": [role["id"]]}, expect=201).json()
        client = Client(self.admin.base_url).sign_in(email, PASSWORD)
        client.user_id, client.role_id = user["id"], role["id"]
        return client

    def grant(self, name, share):
        """A caller whose role may see the oldest `share` of the records; call this before an index is built."""
        caller = self.caller(name)
        first, last = self.world.sql(f"select min(id), max(id) from {self.table}")[0]
        self.admin.put(f"/entities/books/items/{first}/rls-groups", {"items": [{"role_id": caller.role_id}]}, expect=200)
        self.world.sql(f"insert into {self.p}.record_grants (entity_id, record_id, kind, grantee_id) select %s, id, 3, %s from {self.table}"
                       " where id > %s and id <= %s", self.id, caller.role_id, first, first + (last - first) * share)
        self.world.vacuum(f"{self.p}.record_grants")
        return caller

    def fill(self, corpus, count):
        """Fills the entity; one user owns a tenth of the records, another user a thousandth."""
        connection = self.world.servers.connect()
        for first in range(0, count, AT_ONCE):
            lines = io.StringIO()
            for n in range(first, min(first + AT_ONCE, count)):
                record = corpus.record()
                owner = self.user.user_id if n % 10 == 0 else self.few.user_id if n % 1000 == 1 else "\\N"
                lines.write("\t".join([str(owner), *(record[name] for name in FIELDS)]) + "\n")
            lines.seek(0)
            with connection, connection.cursor() as cursor:
                cursor.copy_expert(f"copy {self.table} (created_by, {', '.join(self.columns[n] for n in FIELDS)}) from stdin", lines)
        connection.close()
        self.world.vacuum(self.table)

    def shops(self, corpus, count=2000):
        """Creates another entity to search in."""
        self.admin.post("/entities", {"name": "shops", "fields": [{"name": "name", "type": "text", "searchable": True}]}, expect=201)
        for first in range(0, count, 500):
            items = [{"name": corpus.record()["title"]} for _ in range(500)]
            self.admin.post("/entities/shops/items/bulk", {"items": items}, expect=201)

    def rebuild(self):
        """Records per second of an index that is built while another index answers."""
        self.build()
        self.build()
        return self.rate()

    def rate(self):
        """Records per second of the last build."""
        documents, seconds = self.world.sql(f"select documents, extract(epoch from last_indexed_at - began_at)::float from {self.p}.search_indexes"
                                            " where entity_id = %s and state = 'live'", self.id)[0]
        for table in ("search_postings", "search_terms", "search_lexicon", "search_docs"):
            self.world.vacuum(f"{self.p}.{table}")
        return documents / seconds

    def build(self, within=900):
        """Builds an index of all records, including those that are only found after the build."""
        self.admin.post("/search/rehydrate/books")  # sends a notification; the build may already be in progress
        end = time.monotonic() + within
        while not self.world.sql(f"select 1 from {self.p}.search_indexes where entity_id = %s and state = 'live'", self.id) or self.world.sql(
                f"select 1 from {self.p}.search_work union all select 1 from {self.p}.search_indexes where state = 'dropped'"):
            assert time.monotonic() < end, "the index is not built"
            time.sleep(0.05)
        self.settled(within)

    def pending(self):
        return self.world.sql(f"select count(*) from {self.p}.outbox where pending & 2 <> 0")[0][0]

    def settled(self, within=300):
        end = time.monotonic() + within
        while self.pending() or self.world.sql(f"select 1 from {self.p}.search_indexes where state = 'building'"):
            assert time.monotonic() < end, "the index does not follow"
            time.sleep(0.05)

    def path(self, q, **more):
        query = urllib.parse.urlencode({"q": q, "e": "books", "pageSize": 20, **more})
        return f"/org/{self.slug}/search?{query}"


def http(world, folder, shelf, q, seconds, clients=1, client=None, gateway=None, **more):
    token = (client or shelf.admin).token
    script = lua(folder, "search", requests_lua(f"wrk.format('GET', '{shelf.path(q, **more)}')", count=1))
    return wrk((gateway or world.gateway).url, seconds, script, {"Authorization": f"Bearer {token}"}, clients=clients)


def gin(world, shelf):
    """Searches the same records with PostgreSQL: a weighted tsvector under GIN, the best 20 by ts_rank."""
    weights = zip("ABCD", (shelf.columns[name] for name in FIELDS))
    vector = " || ".join(f"setweight(to_tsvector('simple', {column}), '{weight}')" for weight, column in weights)
    world.sql(f"create table public.gin as select id, {vector} as v from {shelf.table}")
    world.sql("create index gin_v on public.gin using gin (v) with (fastupdate = off)")
    world.sql("alter table public.gin add primary key (id)")
    world.vacuum("public.gin")
    return vector


GIN_QUERY = "select id from public.gin, to_tsquery('simple', '{q}') as q where v @@ q order by ts_rank(v, q) desc limit 20;\n"


STAGE = """with found as (select t.id, t.term, t.df, false as goes_on from {p}.search_terms t where t.term = any(array['{q}'])
union all (select w.id, w.term, w.df, true from (select b.id, b.term, b.df from {p}.search_terms b where b.term > '{q}'
and b.term < '{q}' || chr(1114111) order by b.term limit 4096) w order by w.df desc, w.term limit 64)),
counted as (select f.id, f.term, f.df, f.goes_on, sum(f.df) over () <= 700000 and count(*) over () <= 65 as whole from found f)
select n.live, n.version, c.id, c.term, c.df, c.goes_on, c.whole, l.idx, l.field, l.base, l.n, l.docs
from (select (select count(*) = 1 and coalesce(bool_and(x.id = any('{{{idx}}}')), true) from {p}.search_indexes x
where x.state = 'live' and x.entity_id = {entity}) as live,
(select s.xmin::text || ' ' || s.updated_at::text from {p}.settings s where s.kind = 'search' and s.key = 'settings') as version) n
left join counted c on true left join lateral (select f.idx, f.field, p.base, p.n, p.docs
from unnest('{{{idx}, {idx}, {idx}, {idx}}}'::bigint[], '{{1, 2, 3, 4}}'::bigint[]) as f (idx, field)
cross join lateral (select q.base, q.n, q.docs from {p}.search_postings q
where q.idx = f.idx::integer and q.term_id = c.id and q.field = f.field::smallint order by q.base) p where c.whole offset 0) l on true;
select t.id, {columns} from unnest('{{{ids}}}'::bigint[]) with ordinality c(id, n) join {table} t on t.id = c.id order by c.n;
"""


def stage(world, shelf, q):
    """The database's part of a search without row rules: reading terms and lists, and the page."""
    idx = world.sql(f"select id from {shelf.p}.search_indexes where entity_id = %s and state = 'live'", shelf.id)[0][0]
    ids = world.sql(f"select id from {shelf.table} where {shelf.columns['title']} ~ %s order by id desc limit 28", q)
    text = STAGE.format(p=shelf.p, q=q, idx=idx, entity=shelf.id, table=shelf.table, columns=", ".join("t." + c for c in shelf.columns.values()),
                        ids=", ".join(str(n) for n, in ids))
    return "".join(line.replace("\n", " ").strip() + ";\n" for line in text.split(";\n") if line.strip())


def fts5(world, shelf, rounds):
    """Milliseconds for the best 20 by bm25 in SQLite, in this process and in memory."""
    lite = sqlite3.connect(":memory:")
    lite.execute(f"create virtual table books using fts5({', '.join(FIELDS)})")
    rows = world.sql(f"select {', '.join(shelf.columns[name] for name in FIELDS)} from {shelf.table}")
    lite.executemany(f"insert into books values ({', '.join('?' * len(FIELDS))})", rows)
    taken = []
    for _ in range(5 * rounds):
        began = time.perf_counter()
        lite.execute("select rowid from books where books match 'cotton' order by rank limit 20").fetchall()
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)


GROONGA = """table_create Books TABLE_NO_KEY
{columns}
load --table Books
{records}
table_create Terms TABLE_PAT_KEY ShortText --default_tokenizer TokenDelimit --normalizer NormalizerAuto
column_create Terms books COLUMN_INDEX|WITH_SECTION|WITH_POSITION Books {names}
"""
GROONGA_QUERY = "select Books --match_columns '{fields}' --query cotton --output_columns _id,_score --sort_keys -_score --limit 20 --cache no\n"


def groonga(world, folder, shelf, rounds):
    """Milliseconds for the best 20 in Groonga, by its own measurement; None when Groonga is not installed."""
    program = shutil.which("groonga")
    if not program:
        return None
    rows = world.sql(f"select {', '.join(shelf.columns[name] for name in FIELDS)} from {shelf.table}")
    commands = GROONGA.format(columns="\n".join(f"column_create Books {name} COLUMN_SCALAR Text" for name in FIELDS), names=",".join(FIELDS),
                              records=json.dumps([dict(zip(FIELDS, row)) for row in rows]))
    database = str(pathlib.Path(folder) / "groonga.db")
    subprocess.run([program, "-n", database], input=commands, text=True, check=True, stdout=subprocess.DEVNULL)
    query = GROONGA_QUERY.format(fields="||".join(FIELDS)) * (5 * rounds)
    answers = subprocess.run([program, database], input=query, text=True, check=True, capture_output=True).stdout
    return statistics.median(json.loads(line)[0][2] * 1000 for line in answers.splitlines() if line.startswith("[["))


def median(results, what="p50"):
    return statistics.median(result[what] for result in results)


def run_rounds(args, *runs):
    """Runs each function in turn, args.rounds times; returns a list of results for each."""
    results = [[] for _ in runs]
    for _ in range(args.rounds):
        for run, taken in zip(runs, results):
            taken.append(run())
    return results


def compare_peers(world, folder, shelf, args, out):
    point = SELECT_ID.format(table=shelf.table)
    ours, theirs, select = run_rounds(
        args,
        lambda: pgbench(world.servers, stage(world, shelf, "cotton"), args.seconds, clients=1),
        lambda: pgbench(world.servers, GIN_QUERY.format(q="cotton"), args.seconds, clients=1),
        lambda: pgbench(world.servers, point, args.seconds, clients=1))
    ratio, times = median(theirs) / median(ours), median(ours) / median(select)
    note = f"p50 {median(ours):.2f} ms; GIN {median(theirs):.1f} ms; pgbench -S {median(select):.3f} ms"
    out.add("search in 20 % of 100,000, database: GIN + ts_rank / ours", f"{ratio:.0f} x", ">= 30", ratio >= 30, note)
    out.add("the same, ours / pgbench -S", f"{times:.1f} x", "<= 8", times <= 8)
    alone, = run_rounds(args, lambda: http(world, folder, shelf, "cotton", args.seconds))
    out.add("search over HTTP, one client, p50", f"{median(alone):.2f} ms", "<= 2 ms", median(alone) <= 2,
            f"p99 {median(alone, 'p99'):.1f} ms; 20 records, highlights, exact total; {sum(r['errors'] for r in alone)} errors")
    two = world.gateway_of(2).start()  # two processes, like docker-compose.yml: pgbench also uses both cores
    http(world, folder, shelf, "cotton", 1, clients=4, gateway=two)
    ours, theirs, select = run_rounds(
        args,
        lambda: http(world, folder, shelf, "cotton", args.seconds, clients=4, gateway=two),
        lambda: pgbench(world.servers, GIN_QUERY.format(q="cotton"), args.seconds, clients=4),
        lambda: pgbench(world.servers, point, args.seconds, clients=4))
    two.stop()
    rate, part = median(ours, "rate") / median(theirs, "rate"), median(select, "rate") / median(ours, "rate")
    note = f"{median(ours, 'rate'):,.0f}/s; GIN {median(theirs, 'rate'):,.0f}/s; pgbench -S {median(select, 'rate'):,.0f}/s"
    out.add("searches a second over HTTP / GIN + ts_rank", f"{rate:.0f} x", ">= 40", rate >= 40, note)
    out.add("pgbench -S / searches a second over HTTP", f"1/{part:.0f}", ">= 1/15", part <= 15)
    lite = fts5(world, shelf, args.rounds)
    out.add("SQLite FTS5 in memory, best 20 by bm25", f"{lite:.1f} ms", "-", True, "ids alone, in the process that asks")
    peer = groonga(world, folder, shelf, args.rounds)
    if peer is not None:
        out.add("Groonga, best 20 by score", f"{peer:.1f} ms", "-", True, "ids alone, in the process that asks")


def classes(world, folder, shelf, args, out):
    """Compares searches under row rules and with mistyped words with the same search without them."""
    ruled = {"who owns a tenth": shelf.user, "who owns a thousandth": shelf.few, "whose role has all": shelf.all,
             "whose role has all but the newest": shelf.old}
    plain, *theirs = run_rounds(args, lambda: http(world, folder, shelf, "cotton", args.seconds),
                                *(lambda client=client: http(world, folder, shelf, "cotton", args.seconds, client=client) for client in ruled.values()))
    for name, results in zip(ruled, theirs):
        ratio = median(results) / median(plain)
        out.add(f"search of a caller {name} / of one without rules", f"{ratio:.1f} x", "<= 4", ratio <= 4,
                f"p50 {median(results):.2f} ms; {sum(r['errors'] for r in results)} errors")
    exact, one, two, suggested, searched, both = run_rounds(
        args,
        lambda: http(world, folder, shelf, "astrolabe", args.seconds),
        lambda: http(world, folder, shelf, "astrolab", args.seconds),
        lambda: http(world, folder, shelf, "asrtolabbe", args.seconds),
        lambda: suggest(world, folder, shelf, args.seconds),
        lambda: http(world, folder, shelf, "cott", args.seconds),
        lambda: http(world, folder, shelf, "cotton", args.seconds, e="books,shops"))
    out.add("search of two entities / of one", f"{median(both) / median(plain):.1f} x", "-", True, f"p50 {median(both):.2f} ms, ranked together")
    for name, results, bar in (("one typo", one, 2), ("two typos", two, 3)):
        ratio = median(results) / median(exact)
        out.add(f"search with {name} / exact", f"{ratio:.1f} x", f"<= {bar}", ratio <= bar, f"p50 {median(results):.2f} ms, {WORDS:,} words")
    ratio = median(suggested) / median(searched)
    out.add("suggestions / search", f"{ratio:.2f} x", "<= 0.5", ratio <= 0.5, f"p50 {median(suggested):.2f} ms")


def suggest(world, folder, shelf, seconds):
    script = lua(folder, "suggest", requests_lua(f"wrk.format('GET', '/org/{shelf.slug}/search/suggest?q=cott&e=books')", count=1))
    return wrk(world.gateway.url, seconds, script, {"Authorization": f"Bearer {shelf.admin.token}"}, clients=1)


# --- indexing ---

def wal(world):
    return int(world.sql("select pg_current_wal_insert_lsn() - '0/0'")[0][0])


def checkpoint(world):
    """Runs a checkpoint, so that the first change of a page writes the whole page to the WAL for both."""
    connection = world.servers.connect(superuser=True)
    connection.autocommit = True
    connection.cursor().execute("checkpoint")
    connection.close()


def index_rate(world, shelf, write):
    """(records per second, KB of WAL per record) of the indexer alone, for changes that already wait."""
    indexer = world.start("search-indexer")
    shelf.settled()
    indexer.stop()
    count = write()
    checkpoint(world)
    before, began = wal(world), time.monotonic()
    indexer = world.start("search-indexer")
    while shelf.pending():
        time.sleep(0.02)
    rate = count / (time.monotonic() - began)
    written = (wal(world) - before) / count / 1024
    indexer.stop()
    return {"rate": rate, "wal": written}


def gin_index_rate(world, statement, count):
    checkpoint(world)
    before, began = wal(world), time.monotonic()
    connection = world.servers.connect()
    for first in range(0, count, 200):  # 200 per transaction, like the indexer's smallest batches
        with connection, connection.cursor() as cursor:
            cursor.execute(statement, (first, first + 200))
    connection.close()
    return {"rate": count / (time.monotonic() - began), "wal": (wal(world) - before) / count / 1024}


def indexing(world, shelf, corpus, vector, args, out):
    ids = []

    def write_new():
        for _ in range(NEW // 500):
            items = [corpus.record() for _ in range(500)]
            results = shelf.admin.post("/entities/books/items/bulk", {"items": items}, expect=201).json()["results"]
            ids.extend(result["id"] for result in results)
        return NEW

    def write_changed():
        for number in ids[:CHANGED]:
            shelf.admin.put(f"/entities/books/items/{number}", {"tags": " ".join(corpus.text(5, 5))}, expect=200)
        return CHANGED

    new = index_rate(world, shelf, write_new)
    world.sql(f"create table public.gin_new as select row_number() over () - 1 as n, {vector} as v from {shelf.table}"
              f" order by id desc limit {NEW}")
    their_new = gin_index_rate(world, "insert into public.gin (id, v) select 10000000 + n, v from public.gin_new where n >= %s and n < %s", NEW)
    changed = index_rate(world, shelf, write_changed)
    their_changed = gin_index_rate(
        world, "update public.gin g set v = g.v || to_tsvector('simple', 'neu' || g.id || ' other') from public.gin_new n"
               " where g.id = 10000000 + n.n and n.n >= %s and n.n < %s", CHANGED)
    for name, ours, theirs, speed, size in (("new", new, their_new, 0.6, 0.8), ("changed", changed, their_changed, 1.2, 0.3)):
        rate, ratio = ours["rate"] / theirs["rate"], ours["wal"] / theirs["wal"]
        out.add(f"{name} records a second / GIN without pending list", f"{rate:.2f} x", f">= {speed}", rate >= speed,
                f"{ours['rate']:,.0f}/s against {theirs['rate']:,.0f}/s")
        out.add(f"WAL of a {name} record / GIN without pending list", f"{ratio:.2f} x", f"<= {size}", ratio <= size,
                f"{ours['wal']:.1f} KB against {theirs['wal']:.1f} KB")


def write_to_hit_ms(shelf, seconds, rate=200):
    """Milliseconds from a write to its first search hit, for some of `rate` writes per second."""
    taken, ends = [], time.monotonic() + seconds

    def write(offset):
        client, n = Client(shelf.admin.base_url, token=shelf.admin.token), offset
        while (due := began + n / rate) < ends:
            time.sleep(max(0, due - time.monotonic()))
            client.post("/entities/books/items", {"title": f"quux{n:06d}x linen"}, expect=201)
            n += 4

    began = time.monotonic()
    writers = [threading.Thread(target=write, args=(offset,)) for offset in range(4)]
    for writer in writers:
        writer.start()
    n = 0
    while time.monotonic() < ends - 1:
        word, n = f"probe{n:06d}z", n + 1
        since = time.monotonic()
        shelf.admin.post("/entities/books/items", {"title": word}, expect=201)
        while not shelf.admin.get("/search", params={"q": f'"{word}"', "e": "books"}, expect=200).json()["items"]:
            time.sleep(0.005)
        taken.append((time.monotonic() - since) * 1000)
    for writer in writers:
        writer.join()
    return sorted(taken)


def many_projects(world, folder, corpus, args, out, say):
    """Compares searches in many small projects, in turn, with searches in one of them."""
    count = FEW_PROJECTS if args.quick else PROJECTS
    say(f"  {count:,} projects of {SMALL:,} records")
    shelves = [Shelf(world, f"small-{n}") for n in range(count)]
    for shelf in shelves:
        shelf.fill(corpus, SMALL)
        shelf.admin.post("/search/rehydrate/books", expect=202)
    for shelf in shelves:
        shelf.settled()

    def searched(some):
        asked = ", ".join(f"{{'{shelf.path('cotton')}', '{shelf.admin.token}'}}" for shelf in some)
        line = "wrk.format('GET', asked[i][1], {Authorization = 'Bearer ' .. asked[i][2]})"
        script = lua(folder, "spread", f"local asked = {{{asked}}}\n" + requests_lua(line, count=len(some)))
        return wrk(world.gateway.url, args.seconds, script, clients=4)

    searched(shelves)  # the first search of each project reads its model
    many, one = run_rounds(args, lambda: searched(shelves), lambda: searched(shelves[:1]))
    ratio = median(many, "rate") / median(one, "rate")
    out.add(f"search spread over {count:,} projects / one", f"{ratio:.2f} x", ">= 0.5", ratio >= 0.5 and not sum(r["errors"] for r in many),
            f"{median(many, 'rate'):,.0f}/s against {median(one, 'rate'):,.0f}/s; {sum(r['errors'] for r in many)} errors")


def searches(world, folder, args, out, say):
    corpus = Corpus()
    indexer = world.start("search-indexer")
    (pid,) = indexer.workers()
    time.sleep(2)
    out.add("memory of an idle indexer", f"{peak_mb(pid):.1f} MB", "<= 12 MB", peak_mb(pid) <= 12)
    indexer.stop()
    shelf = Shelf(world, "books")
    shelf.fill(corpus, RECORDS)
    shelf.all, shelf.old = shelf.grant("all", 1), shelf.grant("old", 0.84)
    shelf.shops(corpus)
    indexer = world.start("search-indexer")
    say(f"  rebuilt: {shelf.rebuild():,.0f} records/s")
    vector = gin(world, shelf)
    compare_peers(world, folder, shelf, args, out)
    classes(world, folder, shelf, args, out)
    taken = write_to_hit_ms(shelf, 5 * args.seconds)
    p50, p99 = taken[len(taken) // 2], taken[int(len(taken) * 0.99)]
    out.add("written to found, at 200 writes a second, p50", f"{p50:.0f} ms", "<= 250 ms", p50 <= 250, f"{len(taken)} looked at")
    out.add("written to found, at 200 writes a second, p99", f"{p99:.0f} ms", "<= 1000 ms", p99 <= 1000)
    many_projects(world, folder, corpus, args, out, say)
    indexer.stop()
    indexing(world, shelf, corpus, vector, args, out)
