"""Live changes in a chaos run: writers change parcels, their grants and their model. Listeners with different rights reconnect to any gateway with
the id of the last event. A materialised view has the same records."""
import collections
import http.client
import json
import random
import threading
import time
import urllib.parse
import uuid

import requests

from clients import LoggingClient, events

LANES = ("north", "south", "east", "west")
ITEMS = "/entities/parcels/items"
VIEW = "/materialized-views/lanes"
LEAST = 5000  # the lowest n that the listener with a filter sees
MOST = 10_000
SILENCE = 5  # seconds, then the listener connects again; an idle stream sends something every fifteen
STAY = 12  # seconds at one gateway, on average
PERMISSIONS = ["parcels:read", "svc_realtime:read"]
PASSWORD = "correct horse battery"


def grantee(kind, number):
    """A grantee as the log encodes it: a user (1), a group (2), a role (3)."""
    return number * 4 + kind


def make_listener(world, name, role, **more):
    """A signed-in listener, with the data that the check needs."""
    client = world.project.user(role_ids=[role["id"]], email=f"{name}@example.org")
    number = client.user["id"]
    return {"name": name, "client": client, "user": number, "all": False, "grantees": [grantee(1, number), grantee(3, role["id"])],
            "least": None, "fields": ["mark", "lane", "n", "note"], "revoked": False, "ticket": False, **more}


def set_up(world):
    project = world.project
    project.entity("parcels", [{"name": "mark", "type": "varchar"}, {"name": "lane", "type": "varchar"},
                               {"name": "n", "type": "integer"}, {"name": "note", "type": "varchar"}])
    project.admin.post("/materialized-views", {
        "name": "lanes", "entity": "parcels", "group_by": [{"field": "lane"}], "on_change": True,
        "aggregates": [{"function": "sum", "field": "n"}, {"function": "count"}]}, expect=201)
    role = project.role(permissions=PERMISSIONS)
    world.taken = project.role(permissions=PERMISSIONS)
    blind = project.role(permissions=PERMISSIONS, field_access=[{"entity": "parcels", "action": "read", "fields": ["mark", "n"]}])
    maker = project.role(permissions=[*PERMISSIONS, "parcels:create", "parcels:update", "parcels:delete"])
    everybody = make_listener(world, "everything", project.role_named("Admin User"), all=True)
    world.hearers = [
        everybody, {**everybody, "name": "filtered", "least": LEAST}, make_listener(world, "maker", maker), make_listener(world, "guest", role),
        make_listener(world, "member", role, ticket=True), make_listener(world, "blind", blind, fields=["mark", "n"]),
        make_listener(world, "taken", world.taken, revoked=True)]
    by_name = {each["name"]: each for each in world.hearers}
    world.crew = project.admin.post("/groups", {"name": "crew"}, expect=201).json()["id"]
    members = [by_name[name] for name in ("member", "blind")]
    project.admin.post(f"/groups/{world.crew}/members", {"user_ids": [each["user"] for each in members]}, expect=200)
    for each in members:
        each["grantees"].append(grantee(2, world.crew))
    world.maker = by_name["maker"]["client"]
    world.guests = [by_name[name]["user"] for name in ("guest", "taken")]
    world.parcels = []  # ids of records that may exist


class ParcelWriter(LoggingClient):
    """Creates, changes, shares and deletes parcels; sometimes changes the model, or takes a permission from a role."""

    def values(self, mark):
        return {"mark": mark, "lane": self.random.choice(LANES), "n": self.random.randrange(MOST), "note": f"of {mark}"}

    def create(self, mark):
        token = self.world.maker.token if self.random.random() < 0.4 else None
        made = self.call("parcel", mark, "POST", ITEMS, self.values(mark), token)
        if made:
            self.world.parcels.append(made["id"])

    def create_many(self, mark):
        items = [self.values(f"{mark}.{n}") for n in range(self.random.randrange(2, 30))]
        made = self.call("parcels", mark, "POST", f"{ITEMS}/bulk", {"items": items})
        for result in (made or {}).get("results", []):
            if "id" in result:
                self.world.parcels.append(result["id"])

    def grant(self, mark, record):
        if self.random.random() < 0.5:
            guests = self.random.sample(self.world.guests, self.random.randrange(len(self.world.guests) + 1))
            kind, items = "users", [{"user_id": each} for each in guests]
        else:
            kind, items = "groups", [{"group_id": self.world.crew}] if self.random.random() < 0.6 else []
        self.call("show", mark, "PUT", f"{ITEMS}/{record}/rls-{kind}", {"items": items})

    def change_model(self, mark):
        if self.random.random() < 0.5:
            self.call("model", mark, "POST", "/entities/parcels/fields", {"name": "extra", "type": "integer"})
        else:
            self.call("model", mark, "DELETE", "/entities/parcels/fields/extra")

    def change_rights(self, mark, permissions=None):
        permissions = permissions or self.random.choice((PERMISSIONS, PERMISSIONS[1:], PERMISSIONS[:1]))
        return self.call("rights", mark, "PUT", f"/roles/{self.world.taken['id']}", {"permissions": permissions})

    def step(self):
        dice, mark = self.random.random(), uuid.uuid4().hex
        if dice < 0.3 or len(self.world.parcels) < 5:
            self.create(mark)
        elif dice < 0.33:
            self.create_many(mark)
        elif dice < 0.63:
            record = self.random.choice(self.world.parcels[-40:])
            self.call("move", mark, "PUT", f"{ITEMS}/{record}", {"n": self.random.randrange(MOST), "lane": self.random.choice(LANES)})
        elif dice < 0.85:
            self.grant(mark, self.random.choice(self.world.parcels[-40:]))
        elif dice < 0.97:
            gone = self.world.parcels.pop(self.random.randrange(len(self.world.parcels) - 3))  # other threads remove some, too
            self.call("unload", str(gone), "DELETE", f"{ITEMS}/{gone}")
        elif dice < 0.98:
            self.change_model(mark)
        else:
            self.change_rights(mark)


class Listener(threading.Thread):
    """Logs each complete event, disconnects now and then, and continues at another gateway after the last event."""

    def __init__(self, world, hearer, log, stop, seed):
        super().__init__(daemon=True)
        self.world, self.hearer, self.log, self.stop = world, hearer, log, stop
        self.random = random.Random(seed)
        self.client = hearer["client"]
        self.position, self.got_at, self.turn = None, time.time(), 0
        self.began, self.over = threading.Event(), threading.Event()

    def note(self, kind, **more):
        self.log.write("heard", self.hearer["name"], kind, turn=self.turn, **more)

    def path(self, gateway):
        params = {"entities": "parcels"}
        if self.hearer["least"] is not None:
            params["filter[n][gte]"] = self.hearer["least"]
        if self.hearer["ticket"]:
            answer = requests.post(f"{gateway.url}/org/{self.world.project.id}/realtime/ticket", timeout=5,
                                   headers={"Authorization": f"Bearer {self.client.token}"})
            if not answer.ok:
                raise ConnectionError("no ticket")
            params["ticket"] = answer.json()["ticket"]
        return f"/org/{self.world.project.id}/realtime?{urllib.parse.urlencode(params)}"

    def headers(self):
        mine = {} if self.hearer["ticket"] else {"Authorization": f"Bearer {self.client.token}"}
        return {**mine, **({"Last-Event-ID": self.position} if self.position else {})}

    def listen(self, stays):
        """Listens on one connection until stays() is false after a complete event, or the connection breaks."""
        gateway = self.random.choice(self.world.gateways)
        connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=SILENCE)
        self.turn += 1
        try:
            connection.request("GET", self.path(gateway), headers=self.headers())
            answer = connection.getresponse()
            if answer.status != 200:
                self.note("refused", status=answer.status, text=answer.read(300).decode(errors="replace"))
                return
            self.note("connected", position=self.position, got_at=self.got_at)
            self.read(answer, stays)
        except (OSError, http.client.HTTPException, requests.RequestException):
            pass  # the listener connects again
        finally:
            connection.close()

    def read(self, answer, stays):
        for kind, data, position in events(answer):
            self.log_event(kind, data, position)
            if kind == "end" or not stays(kind):
                return

    def log_event(self, kind, data, position):
        """Logs a complete event and remembers its id."""
        if position:
            self.position, self.got_at = position, time.time()
        if data is not None:
            self.note(kind, position=position, data=json.loads(data))
        if kind == "hello":
            self.began.set()

    def run(self):
        while not self.stop.is_set():
            leaves = time.monotonic() + self.random.expovariate(1 / STAY)
            self.listen(lambda _: time.monotonic() < leaves and not self.stop.is_set())
            self.stop.wait(self.random.uniform(0, 1))

    def finish(self, patience):
        """Reads all remaining events, up to the next hello."""
        end = time.monotonic() + patience
        while not self.over.is_set() and time.monotonic() < end:
            self.listen(self.await_hello)
            time.sleep(0.2)
        self.note("over" if self.over.is_set() else "unheard", position=self.position)

    def await_hello(self, kind):
        if kind == "hello":
            self.over.set()
        return kind != "hello"


def start_listeners(world, log, stop, plan):
    """Starts the listeners; each must receive every later change that it may see."""
    made = [Listener(world, each, log, stop, plan.random()) for each in world.hearers]
    for each in made:
        each.start()
    for each in made:
        assert each.began.wait(30), f"{each.hearer['name']} hears nothing"
    return made


def view_rows(world):
    """The rows of the view as {lane: [sum, count]}; None when the view cannot be read now."""
    try:
        answer = world.project.admin.get(f"{VIEW}/rows", params={"limit": 100}, timeout=10)
    except requests.RequestException:
        return None
    if answer.status_code != 200:
        return None
    return {row["lane"]: [row["sum_n"], row["count"]] for row in answer.json()["items"]}


def sums(records):
    found = collections.defaultdict(lambda: [0, 0])
    for record in records:
        found[record["lane"]][0] += record["n"]
        found[record["lane"]][1] += 1
    return dict(found)


def names_of(query, cursor, schema):
    """The entity's id and its columns by their names."""
    found = query(cursor, f"select e.id as entity, f.id as field, f.name from {schema}.entities e "
                          f"join {schema}.fields f on f.entity_id = e.id where e.name = 'parcels'")
    return found[0]["entity"], {row["name"]: f"f_{row['field']}" for row in found}


def settle(world, movers, hearers, say, patience):
    """Restores the permissions, lets all listeners receive the remaining events, and waits until the view can be up to date."""
    end = time.monotonic() + patience
    while movers[0].change_rights("settled", PERMISSIONS) is None and time.monotonic() < end:
        time.sleep(0.5)
    for each in hearers:
        each.finish(max(5, end - time.monotonic()))
    connection = world.servers.connect()
    with connection.cursor() as cursor:
        cursor.execute(f"select id from {world.schema}.entities where name = 'parcels'")
        entity = cursor.fetchone()[0]
        cursor.execute(f"select name, id from {world.schema}.fields where entity_id = {entity} and name in ('lane', 'n')")
        columns = {name: f"f_{number}" for name, number in cursor.fetchall()}
        cursor.execute(f"select {columns['lane']} as lane, {columns['n']} as n from {world.schema}.e_{entity}")
        wanted = sums({"lane": lane, "n": n} for lane, n in cursor.fetchall())
    connection.close()
    while (have := view_rows(world)) != wanted and time.monotonic() < end:
        time.sleep(0.5)
    world.view = have
    say(f"listeners: {sum(each.turn for each in hearers)} connections of {len(hearers)}")


def dump(world, query, cursor, folder, crashes):
    schema = world.schema
    entity, names = names_of(query, cursor, schema)
    fields = ", ".join(f"t.{names[name]} as {name}" for name in ("mark", "lane", "n", "note"))
    data = {
        "hearers": [{key: value for key, value in each.items() if key != "client"} for each in world.hearers],
        "columns": names,
        "log": query(cursor, f"select seq, xid::text::bigint as xid, extract(epoch from at)::float as at, record_id, kind, before, grants "
                             f"from {schema}.live_log where entity_id = {entity} order by seq"),
        "records": query(cursor, f"select t.id, t.version, t.created_by, {fields} from {schema}.e_{entity} t"),
        "grants": query(cursor, f"select record_id, array_agg(grantee_id * 4 + kind) as grants from {schema}.record_grants "
                                f"where entity_id = {entity} group by record_id"),
        "crashes": crashes,
        "view": world.view,
    }
    (folder / "listeners.json").write_text(json.dumps(data))
    return data
