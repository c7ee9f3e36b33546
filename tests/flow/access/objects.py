"""The routes that the gateway lists, objects of every kind, and the paths of routes about them."""
import re

from groundwork.push_keys import service_account
from groundwork.workflows import document

ABSENT_ID = "424242"  # an id that no object has
PATHS_WITHOUT_PROJECT = ("/healthz", "/org", "/console")  # of routes that are not below a project
PAY = "/integrations/svcpay"
# The object that the parameter after these segments of a path names, by its name in SharedObjects.
OBJECT_BY_PATH = {
    "/org/{}": "project",
    "/users/{}": "user", "/sessions/{}": "session", "/me/sessions/{}": "own_session", "/user-profiles/{}": "user", "/roles/{}": "role", "/groups/{}": "group", "/members/{}": "user",
    "/api-keys/{}": "api_key", "/entities/{}": "entity", "/fields/{}": "field", "/enums/{}": "enum",
    "/rehydrate/{}": "entity", "/purge/{}": "entity", "/history/{}": "version", "/secrets/{}": "secret",
    "/workflows/{}": "workflow", "/versions/{}": "version", "/jobs/{}": "job", "/workflows/api/{}": "route",
    "/workflows/endpoint/{}": "route", "/files/{}": "file", "/upload/{}": "filename", "/tus/{}": "upload",
    "/folders/{}": "folder", "/menus/{}": "menu", "/charts/{}": "chart", "/materialized-views/{}": "view",
    "/dashboards/{}": "dashboard", "/widgets/{}": "widget", "/integrations/{}": "integration",
    "/operations/{}": "operation", "/connections/{}": "connection", "/conversations/{}": "conversation",
    "/messages/{}": "message", "/devices/{}": "device", "/my/{}": "device", "/push/templates/{}": "push_template",
    "/send-logs/{}": "send", "/credentials/{}": "provider", "/email-templates/{}": "mail_type", "/tasks/{}": "task",
    "/tenant-domains/{}": "mail_domain", "/tenant-sender-addresses/{}": "sender", "/mail/log/{}": "mail",
    "/previews/{}": "preview", "/ui/{}": "asset", "/status/{}": "status", "/balances/{}": "user", "/by-user/{}": "user",
    "/subscription-plans/{}": "plan", "/offers/{}": "offer", "/codes/{}": "code", "/payments/{}": "payment",
    "/payment-intent/{}": "payment", "/payment-methods/{}": "method", "/subscriptions/{}": "subscription",
    "/subscription-templates/{}": "template", "/webhook-events/{}": "webhook", "/audit-log/{}": "audit_entry", "/test-notification/{}": "test",
}
# Objects for which the route also checks the owner.
OWNED = {"record", "version", "file", "upload", "folder", "dashboard", "widget", "connection", "conversation", "message", "api_key",
         "own_session", "device", "job", "task"}
# The statement that writes a record also checks access to it. These bodies are valid, so that the request reaches the statement;
# the test sends them only when the request must be refused.
VALID_BODIES = {
    "PUT /entities/{entity}/items/{id}": {"name": "y"}, "DELETE /entities/{entity}/items/{id}": None,
    "POST /entities/{entity}/items/{id}/lock": {"ttl_seconds": 1}, "DELETE /entities/{entity}/items/{id}/lock": None,
}
FIXED = {"field": "name", "version": "1", "filename": "explained.txt", "provider": "web_push", "mail_type": "invite", "asset": "ui.js",
         "status": "succeeded", "operation": "op"}


def raise_limits(project):
    limits = ("read", "write", "heavy", "sign_in_account", "sign_in_address")
    project.admin.put("/", {"settings": {f"rate_{name}": 1000000 for name in limits}}, expect=200)


class SharedObjects:
    """Objects that no particular user owns."""

    def __init__(self, project, db):
        self.project, self.db, self.admin = project, db, project.admin
        self.admin.put("/push/credentials/fcm", {"service_account_json": service_account()}, expect=200)
        entity = project.entity("things", row_level_security=True, public_read=True, history=True)
        self.made = {**FIXED, "entity": entity["name"], "enum": self.make("/enums", {"name": "colours", "values": ["a", "b"]}, "name")}
        self.made["user"] = self.make("/users", {"email": "once@example.org"})
        self.made["session"] = self.session_of(self.made["user"])
        self.made["role"] = self.make("/roles", {"name": "Once"})
        self.made["group"] = self.make("/groups", {"name": "Once"})
        self.admin.post(f"/groups/{self.made['group']}/members", {"user_ids": [self.made["user"]]}, expect=200)
        self.made["secret"] = self.make("/secrets", {"name": "ONCE", "value": "long enough"}, "name")
        self.made["workflow"] = self.make("/workflows", document())
        trigger = {"kind": "api", "route": "once"}
        self.make("/workflows", document(trigger=trigger))
        self.made["route"] = "once"
        self.made["audit_entry"] = self.admin.get("/audit-log", expect=200).json()["items"][0]["id"]
        self.made["menu"] = self.make("/menus", {"key": "once", "label": "Once"})
        self.made["menu_item"] = self.make(f"/menus/{self.made['menu']}/items", {"label": "Once", "kind": "group"})
        body = {"entity": "things", "aggregates": [{"function": "count"}]}
        self.made["chart"] = self.make("/charts", {"name": "Once", "kind": "metric", **body})
        self.made["view"] = self.make("/materialized-views", {"name": "once", **body}, "name")
        auth = {"scheme": "bearer"}
        operation = {"name": "op", "method": "GET", "path": "/"}
        self.made["integration"] = self.make("/integrations", {"name": "once", "base_url": "http://10.0.0.1", "auth": auth, "operations": [operation]})
        self.made["push_template"] = self.make("/push/templates", {"template_type": "once", "name": "x"}, "template_type")
        self.made["offer"] = self.make(f"{PAY}/offers", {"name": "Once", "kind": "credit", "amount": 5, "currency": "usd"})
        self.made["code"] = self.make(f"{PAY}/offers/{self.made['offer']}/codes", {"count": 1}, "items")[0]["id"]
        self.made["mail_domain"] = self.store("insert into {}.mail_domains (domain, token, selector, public_key, status, records)"
                                              " values ('once.example.org', 'x', 'x', 'x', 'verified', '[]') returning id")
        self.made["sender"] = self.store("insert into {}.mail_senders (email, domain_id) values ('ada@once.example.org', %s) returning id",
                                         self.made["mail_domain"])

    def make(self, path, body, member="id"):
        return self.admin.post(path, body, expect=201).json()[member]

    def store(self, statement, *values):
        with self.db.cursor() as cursor:
            cursor.execute(statement.format(self.project.schema(self.db)), values)
            number = cursor.fetchone()[0]
        self.db.commit()
        return number

    def session_of(self, user):
        return self.store("insert into {}.sessions (user_id, expires_at) values (%s, now() + interval '1 day') returning id", user)

    def user_objects(self, client):
        """Objects of a user who may create them, together with the objects of SharedObjects."""
        def make(path, body, member="id"):
            return client.post(path, body, expect=201).json()[member]

        made = dict(self.made)
        made["record"] = make("/entities/things/items", {"name": "x"})
        made["file"] = client.put("/files/upload/own.txt", data=b"content", expect=201).json()["id"]
        length = {"Tus-Resumable": "1.0.0", "Upload-Length": "5", "Upload-Metadata": "filename b3duLnR4dA=="}
        made["upload"] = client.post("/files/tus", headers=length, expect=201).headers["Location"].rpartition("/")[2]
        made["folder"] = make("/folders", {"name": f"Folder {made['file']}"})
        made["dashboard"] = make("/dashboards", {"name": "Own"})
        made["widget"] = make(f"/dashboards/{made['dashboard']}/widgets", {"kind": "text", "text": "x"})
        body = {"integration_id": made["integration"], "name": f"own{made['file']}", "own": True, "credentials": {"token": "long enough"}}
        made["connection"] = make("/connections", body)
        made["conversation"] = make("/ai/conversations", {"title": "Own"})
        made["message"] = self.store("insert into {}.ai_messages (conversation_id, role, status, content) values (%s, 'assistant', 'complete', 'x')"
                                     " returning id", made["conversation"])
        made["api_key"] = make("/api-keys", {"name": "own", "permissions": [], "expires_in_days": 1})
        made["own_session"] = self.session_of(client.user["id"])
        made["device"] = make("/push/devices", {"provider": "fcm", "token": f"own-{made['file']}"})
        made["job"] = client.post(f"/workflows/{made['workflow']}/trigger", {}, expect=202).json()["job_id"]
        return made


def parameter_object(template, at):
    """Returns the name of the object for the parameter at this position of a route's path."""
    if template.startswith(("/entities/{entity}/items/{id}", "/entities/{entity}/public/items/{id}")) and template[at:].startswith("{id}"):
        return "record"
    if template[at:].startswith("{itemId}"):
        return "menu_item"
    before = [known for known in OBJECT_BY_PATH if template[:at].endswith(known.removesuffix("{}"))]
    assert before, f"{template}: OBJECT_BY_PATH does not name the object at {template[at:]}"
    return OBJECT_BY_PATH[max(before, key=len)]


def parameter_objects(template):
    return [parameter_object(template, match.start()) for match in re.finditer(r"{\w+}", template)]


def fill_path(template, objects, absent=False):
    """Returns the path with these objects' ids. Uses ABSENT_ID for objects that are missing, and with `absent` also for the last
    parameter."""
    values = [str(objects.get(name, ABSENT_ID)) for name in parameter_objects(template)]
    if absent:
        values[-1] = ABSENT_ID
    rest = iter(values)
    return re.sub(r"{\w+}", lambda _: next(rest), template)


class Route:
    """A route as --list-routes prints it: METHOD PATH AUTH."""

    def __init__(self, line):
        self.method, self.path, self.auth = line.split(None, 2)
        self.name = f"{self.method} {self.path}"
        self.places = parameter_objects(self.path)

    @property
    def permission(self):
        return self.auth.replace("{entity}", "things") if ":" in self.auth else None

    @property
    def outside(self):
        return self.path.startswith(PATHS_WITHOUT_PROJECT)

    @property
    def permissions(self):
        """The listed permission, and the permission that the route requires in addition."""
        second = {"GET /entities/{entity}/items/export": "svc_exports:create",
                  "POST /ai/conversations/{id}/messages/{messageId}/confirm": "svc_workflows:trigger"}
        return tuple(filter(None, (self.permission, second.get(self.name))))

    def paths(self, own, other):
        """Paths about the caller's own object, another user's object and a missing object, each path once."""
        found = [fill_path(self.path, own)]
        if OWNED & set(self.places):
            found.append(fill_path(self.path, other))
        if self.places:
            found.append(fill_path(self.path, own, absent=True))
        return list(dict.fromkeys(found))


def listed_routes(gateway):
    listed = gateway.run("--list-routes")
    assert listed.returncode == 0, listed.stderr
    return [Route(line) for line in listed.stdout.splitlines()]


def documented_bodies(admin):
    """{name: (whether it is required, whether it is an object)} of the JSON bodies of routes, according to the documents."""
    found = {"POST /entities/{entity}/items": (True, True), "PUT /entities/{entity}/items/{id}": (True, True)}  # documented for each entity
    for document in admin.get("/docs", expect=200).json()["module_documentation"].values():
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
                if schema:
                    schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
                    found[f"{method.upper()} {path}"] = (operation["requestBody"].get("required", False), schema.get("type") == "object")
    return found
