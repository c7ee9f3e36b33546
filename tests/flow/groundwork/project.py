"""A project of a test, and shortcuts to create its content."""
import itertools

from .client import Client

PASSWORD = "correct horse battery"
ADMIN_EMAIL = "admin@example.org"
ENTITY_ACTIONS = ("read", "create", "update", "delete")
_numbers = itertools.count(1)


class Project:
    """`admin` is signed in as its first administrator."""

    def __init__(self, gateway, operator, recorder, name=None, pool=None):
        """`pool`: of used schemas, from which the project may be made (reuse.py)."""
        self.id = name or f"t{next(_numbers)}"
        self.gateway = gateway
        self.operator = operator
        self.recorder = recorder
        self.base_url = f"{gateway.url}/org/{self.id}"
        self._create(pool)
        self.admin = self.client().sign_in(ADMIN_EMAIL, PASSWORD)

    def _create(self, pool):
        body = {"project_id": self.id, "name": f"Test {self.id}", "admin": {"email": ADMIN_EMAIL, "password": PASSWORD}}
        if pool is None or not pool.make(self.operator, body):
            self.operator.post("", body, expect=201)

    def client(self, token=None, key=None):
        """A caller without credentials, or with these."""
        return Client(self.base_url, token=token, key=key, recorder=self.recorder, project=self)

    def delete(self):
        self.operator.delete(f"/{self.id}", params={"confirm": self.id}, expect=204)

    # --- the model ---

    def entity(self, name="products", fields=None, **settings):
        """Creates an entity; its fields default to one of each common type."""
        if fields is None:
            fields = [
                {"name": "name", "type": "varchar", "options": {"max_length": 200}},
                {"name": "price", "type": "float"},
                {"name": "amount", "type": "integer"},
                {"name": "in_stock", "type": "bool"},
                {"name": "released", "type": "date"},
            ]
        return self.admin.post("/entities", {"name": name, "fields": fields, **settings}, expect=201).json()

    def item(self, entity, client=None, **values):
        """Creates a record and returns it."""
        return (client or self.admin).post(f"/entities/{entity}/items", values, expect=201).json()

    def empty(self):
        """Deletes all entities and enums. Repeats, because an entity cannot be deleted while another refers to it."""
        left = [f"{path}/{made['name']}" for path in ("/entities", "/enums")
                for made in self.admin.get(path, params={"limit": 500, "sort": "-id"}, expect=200).json()["items"]]
        while left:
            kept = [path for path in left if self.admin.delete(path).status_code != 204]
            assert len(kept) < len(left), f"cannot be deleted: {kept}"
            left = kept

    # --- users and roles ---

    def role(self, name=None, permissions=(), api_access=True, **settings):
        body = {
            "name": name or f"Role {next(_numbers)}",
            "permissions": list(permissions),
            "api_access": api_access,
            **settings,
        }
        return self.admin.post("/roles", body, expect=201).json()

    def role_named(self, name):
        """A predefined role of the project: Admin User, Standard User."""
        roles = self.admin.get("/roles", params={"limit": 500}, expect=200).json()["items"]
        assert name in [role["name"] for role in roles], f"another test has renamed or deleted {name}"
        return next(role for role in roles if role["name"] == name)

    def user(self, permissions=None, entities=(), role_ids=None, email=None, **settings):
        """Creates a user and returns a signed-in client (its .user is the user).

        With `permissions` or `entities` (all four permissions of each) the user gets a role of its own in addition to
        Standard User; `role_ids` replaces all these roles.
        """
        if role_ids is None:
            role_ids = [self.role_named("Standard User")["id"]]
            wanted = list(permissions or ())
            wanted += [f"{entity}:{action}" for entity in entities for action in ENTITY_ACTIONS]
            if wanted:
                role_ids.append(self.role(permissions=wanted)["id"])
        email = email or f"user{next(_numbers)}@example.org"
        body = {"email": email, "password": PASSWORD, "role_ids": role_ids, **settings}
        self.admin.post("/users", body, expect=201)
        return self.client().sign_in(email, PASSWORD)

    def user_with(self, *permissions, **settings):
        """A user with exactly these permissions."""
        return self.user(role_ids=[self.role(permissions=permissions, **settings)["id"]])

    def administrator(self, email=None):
        """One more administrator, signed in."""
        return self.user(role_ids=[self.role_named("Admin User")["id"]], email=email)

    def key(self, permissions, client=None, **settings):
        """Creates an API key of the client (default: the administrator) and returns a client that uses it."""
        body = {"name": f"Key {next(_numbers)}", "permissions": list(permissions), "expires_in_days": 90, **settings}
        made = (client or self.admin).post("/api-keys", body, expect=201).json()
        caller = self.client(key=made["key"])
        caller.info = made
        return caller

    # --- its database schema ---

    def schema(self, db):
        """The project's schema, p_<number>."""
        with db.cursor() as cursor:
            cursor.execute("select number from platform.projects where slug = %s", (self.id,))
            return f"p_{cursor.fetchone()[0]}"
