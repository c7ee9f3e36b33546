"""The assistant in a chaos run: users of two projects ask questions at any gateway and follow their answers at another gateway when theirs stops.
The model server stalls, breaks off and sends wrong answers."""
import contextlib
import http.client
import json
import pathlib
import sys
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "flow"))

from clients import LoggingClient, events  # noqa: E402
from groundwork.project import Project  # noqa: E402

TURNS = 8  # questions in one conversation, then a new conversation begins
PATIENCE = 12  # seconds within which a followed answer must end; an answer without a sign of life for ten seconds is given up
SILENCE = 8
# How the model answers, and how often: say, slow (one word per 50 ms), call (a tool); all further ways are faults.
WAYS = {"say": 5, "slow": 4, "call": 4, "silent": 1, "liar": 1, "stall": 2, "break": 1, "garbage": 1, "failed": 1}
OPEN = {"stall_seconds": 2, "user_answers": 100, "project_answers": 100, "user_daily_tokens": 10**9, "project_daily_tokens": 10**9,
        "tools": True, "default_model": "small"}


def secret(project):
    return f"whisper-of-{project.id}"


def set_up(world):
    operator = world.project.operator
    world.rooms = []
    for project in (world.project, Project(world.gateway, operator, None, name="echo")):
        project.admin.put("/", {"settings": {f"rate_{name}": 1_000_000 for name in ("read", "write", "heavy")}}, expect=200)
        project.entity("whispers", [{"name": "words", "type": "varchar"}])
        project.item("whispers", words=secret(project))
        project.admin.put("/ai/config", {**OPEN, "endpoint": world.model.url, "api_key": f"key-of-{project.id}"}, expect=200)
        connection = world.servers.connect()
        world.rooms.append({"project": project, "schema": project.schema(connection)})
        connection.close()


class Chatter(LoggingClient):
    """An administrator of one of the projects, with its own session and its own conversations."""

    def __init__(self, world, log, stop, seed, rate, number):
        super().__init__(world, log, stop, seed, rate)
        self.room = world.rooms[number % len(world.rooms)]
        self.project = self.room["project"]
        self.client = self.project.user(role_ids=[self.project.role_named("Admin User")["id"]], email=f"chatter{number}@example.org")
        self.conversation, self.turns = None, 0

    def ask(self, method, path, body=None, **headers):
        """Sends a request to any gateway; returns the response and its connection, and raises when no response arrives."""
        gateway = self.random.choice(self.world.gateways)
        connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=SILENCE)
        try:
            connection.request(method, f"/org/{self.project.id}{path}", body=json.dumps(body) if body is not None else None, headers={
                "Authorization": f"Bearer {self.client.token}", "Content-Type": "application/json", **headers})
            return connection.getresponse(), connection
        except (OSError, http.client.HTTPException):
            connection.close()
            raise

    def begin(self):
        """Begins a conversation; None when that is not possible now."""
        try:
            answer, connection = self.ask("POST", "/ai/conversations", {})
            with contextlib.closing(connection):
                return json.loads(answer.read())["id"] if answer.status == 201 else None
        except (OSError, http.client.HTTPException):
            return None

    def content(self, mark):
        way = self.random.choices(list(WAYS), list(WAYS.values()))[0]
        if way == "call":
            return way, "call " + json.dumps([["list_records", json.dumps({"entity": "whispers", "query": f"fields=words&filter[words][ne]={mark}"})]])
        return way, f"{way} {mark} {secret(self.project)} " + " ".join(f"wörd{n}" for n in range(self.random.randrange(2, 30)))

    def step(self):
        if self.conversation is None or self.turns >= TURNS:
            self.conversation, self.turns = self.begin(), 0
        if self.conversation is not None:
            self.turns += 1
            mark = uuid.uuid4().hex
            self.question(mark, *self.content(mark))

    def question(self, mark, way, content):
        """Asks a question and logs it with its outcome for the caller: answered, refused, unknown, wrong."""
        told = {"way": way, "content": content, "project": self.project.id, "user": self.client.user["id"], "conversation": self.conversation}
        self.log.write("chat", mark, "asked", **told)
        heard = {"text": "", "seen": 0, "message": None, "question": None, "done": None}
        try:
            answer, connection = self.ask("POST", f"/ai/conversations/{self.conversation}/messages", {"content": content})
            with contextlib.closing(connection):
                if answer.status != 200:
                    text = answer.read(300).decode(errors="replace")
                    state = "refused" if answer.status in (409, 429) else "unknown" if answer.status in (502, 503, 504) else "wrong"
                    self.log.write("chat", mark, state, status=answer.status, text=text)
                    return
                self.read_events(answer, heard)
        except (OSError, http.client.HTTPException):
            pass
        end = time.monotonic() + PATIENCE + 8
        while heard["message"] and not heard["done"] and time.monotonic() < end:
            time.sleep(0.3)
            self.follow(heard, mark)
        self.log.write("chat", mark, "acked" if heard["done"] else "unknown", **heard)

    def read_events(self, answer, heard):
        for kind, data, position in events(answer):
            data = json.loads(data) if data else {}
            if kind == "start":
                heard["message"], heard["question"] = data["message_id"], data["question_id"]
            elif kind == "delta":
                heard["text"] += data["text"]
                heard["seen"] = int(position)
            elif kind == "done":
                heard["done"] = {name: data[name] for name in ("status", "code", "content")}
                return
            elif kind == "end":
                return

    def follow(self, heard, mark):
        try:
            answer, connection = self.ask("GET", f"/ai/conversations/{self.conversation}/messages/{heard['message']}/events",
                                          **{"Last-Event-ID": str(heard["seen"])})
            with contextlib.closing(connection):
                if answer.status == 200:
                    self.read_events(answer, heard)
                elif answer.status not in (429, 502, 503, 504):
                    self.log.write("chat", mark, "wrong", status=answer.status, text=answer.read(300).decode(errors="replace"))
        except (OSError, http.client.HTTPException):
            pass

    def settle(self, patience):
        """Checks that each conversation can continue."""
        end = time.monotonic() + patience
        while self.conversation is None and time.monotonic() < end:
            self.conversation = self.begin()
        mark = f"settled-{self.client.user['id']}-{self.project.id}"
        while not self.last_was_answered(mark) and time.monotonic() < end:
            time.sleep(0.5)

    def last_was_answered(self, mark):
        self.question(mark, "say", f"say {mark}")
        try:
            answer, connection = self.ask("GET", f"/ai/conversations/{self.conversation}/messages?sort=-id&limit=1")
            with contextlib.closing(connection):
                last = json.loads(answer.read())["items"][0]
        except (OSError, http.client.HTTPException, ValueError, LookupError):
            return False
        return last["content"] == mark and last["status"] == "complete"


def count_running(cursor, room):
    cursor.execute(f"select count(*) from {room['schema']}.ai_running where until >= now()")
    return cursor.fetchone()[0]


def settle(world, chatters, patience):
    """Waits until every conversation can continue; an answer whose process died counts as in progress for half a minute."""
    for each in chatters:
        each.settle(patience)
    connection = world.servers.connect()
    connection.autocommit = True
    end = time.monotonic() + patience
    with connection.cursor() as cursor:
        while any(count_running(cursor, room) for room in world.rooms) and time.monotonic() < end:
            time.sleep(0.5)
    connection.close()


def dump(world, query, cursor, folder):
    """Writes each project's messages, its counted tokens, and the secret words that were sent with its key."""
    secrets = {each["project"].id: secret(each["project"]) for each in world.rooms}
    sent = []
    for body, headers in list(world.model.requests):
        text = json.dumps(body)
        sent.append({"project": headers["authorization"].removeprefix("Bearer key-of-"),
                     "whispers": [name for name, words in secrets.items() if words in text]})
    data = {"secrets": secrets, "sent": sent, "projects": {}}
    for room in world.rooms:
        schema = room["schema"]
        data["projects"][room["project"].id] = {
            "messages": query(cursor, f"select m.id, m.conversation_id as conversation, c.user_id as user, m.role, m.content, m.status, m.code, "
                                      f"m.status = 'streaming' and m.alive_until >= now() as open, m.model, m.prompt_tokens, m.completion_tokens "
                                      f"from {schema}.ai_messages m join {schema}.ai_conversations c on c.id = m.conversation_id order by m.id"),
            "usage": query(cursor, f"select user_id as user, model, sum(requests)::int as requests, sum(reserved)::int as reserved, "
                                   f"sum(prompt_tokens)::int as prompt, sum(completion_tokens)::int as completion "
                                   f"from {schema}.ai_usage group by user_id, model"),
            "running": count_running(cursor, room),
        }
    (folder / "chats.json").write_text(json.dumps(data))
    return data
