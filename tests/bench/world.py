"""The environment of the benchmark: private servers, a release gateway, a project with 100,000 records."""
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "flow"))

from groundwork.client import Client  # noqa: E402
from groundwork.daemon import Daemon  # noqa: E402
from groundwork.servers import Servers  # noqa: E402

OPERATOR_TOKEN = "bench-operator-token-0123456789"
MASTER_KEY = "00" * 32
PASSWORD = "correct horse battery staple"
RECORDS = 100_000


class World:
    """One PostgreSQL, one Redis, one gateway with `workers` processes, a runner when one is needed."""

    def __init__(self, workers):
        self.servers = Servers()
        self.servers.start()
        self.files = self.servers.folder / "files"
        self.gateway = self.gateway_of(workers)
        migrated = self.gateway.run("--migrate")
        if migrated.returncode:
            raise RuntimeError(migrated.stdout + migrated.stderr)
        self.gateway.start()
        self.operator = Client(self.gateway.url, token=OPERATOR_TOKEN)
        self.runner = self.webhook = None

    def gateway_of(self, workers):
        """A gateway with `workers` processes; not started."""
        return Daemon(
            ROOT / os.environ.get("GW_BIN", "build/release/bin/api-gateway"),
            self.servers.folder / f"gateway-{workers}.log",
            DATABASE_URL=self.servers.database_url,
            REDIS_URL=self.servers.redis_url,
            OPERATOR_TOKEN=OPERATOR_TOKEN,
            MASTER_KEY=MASTER_KEY,
            WORKERS=workers,
            REQUESTS_MAX=16384,
            FILES_DIR=str(self.files),
            UPLOAD_BYTES=2 << 30,
        )

    def start(self, daemon, **settings):
        """Starts another daemon with one process."""
        return Daemon(
            pathlib.Path(self.gateway.binary).with_name(daemon),
            self.servers.folder / f"{daemon}.log",
            DATABASE_URL=self.servers.database_url,
            REDIS_URL=self.servers.redis_url,
            MASTER_KEY=MASTER_KEY,
            WORKERS=1,
            **settings,
        ).start()

    def start_runner(self, **settings):
        self.runner = self.start("workflow-runner", **settings)
        return self.runner

    def stop_runner(self):
        if self.runner and self.runner.is_running():
            self.runner.stop()
        self.runner = None

    def start_webhook(self, **settings):
        self.webhook = self.start("payments-webhook", **settings)
        return self.webhook

    def stop_webhook(self):
        if self.webhook and self.webhook.is_running():
            self.webhook.stop()
        self.webhook = None

    def close(self):
        self.stop_runner()
        self.stop_webhook()
        self.gateway.stop()
        self.servers.wipe()

    def project(self, slug):
        """A new project; returns its administrator."""
        admin = {"email": "admin@example.com", "password": PASSWORD}
        self.operator.post("/org", {"project_id": slug, "name": slug, "admin": admin}, expect=201)
        return Client(f"{self.gateway.url}/org/{slug}").sign_in(**admin)

    def sql(self, text, *params):
        with self.servers.connect() as connection, connection.cursor() as cursor:
            cursor.execute(text, params)
            return cursor.fetchall() if cursor.description else None

    def vacuum(self, table):
        """Vacuums a table, outside of a transaction as PostgreSQL requires."""
        connection = self.servers.connect()
        connection.autocommit = True
        connection.cursor().execute(f"vacuum analyze {table}")
        connection.close()

    def schema(self, slug):
        return f"p_{self.sql('select number from platform.projects where slug = %s', slug)[0][0]}"


def standard_user(admin, entity):
    """A user who is no administrator and may read and write the entity; a client with its token."""
    actions = ("read", "create", "update", "delete")
    role = admin.post(
        "/roles",
        {"name": "Bench", "api_access": True, "permissions": [f"{entity}:{a}" for a in actions] + ["svc_files:read", "svc_files:create"]},
        expect=201,
    ).json()
    email = "user@example.com"
    user = admin.post("/users", {"email": email, "password": PASSWORD, "role_ids": [role["id"]]}, expect=201).json()
    client = Client(admin.base_url).sign_in(email, PASSWORD)
    client.user_id = user["id"]
    return client


def products(world, slug, records=RECORDS, named=False):
    """The entity of the benchmark, filled through SQL; returns (client, table, columns by name). `named`: lists are also read by name."""
    admin = world.project(slug)
    fields = [
        {"name": "name", "type": "varchar", "required": True, "indexed": named},
        {"name": "price", "type": "float", "indexed": True},
        {"name": "in_stock", "type": "bool"},
    ]
    entity = admin.post("/entities", {"name": "products", "fields": fields}, expect=201).json()
    user = standard_user(admin, "products")
    columns = {field["name"]: f"f_{field['id']}" for field in entity["fields"] if not field["name"].endswith("_at")}
    columns = {name: column for name, column in columns.items() if name in ("name", "price", "in_stock")}
    table = f"{world.schema(slug)}.e_{entity['id']}"
    world.sql(
        f"insert into {table} (created_by, {columns['name']}, {columns['price']}, {columns['in_stock']}) "
        "select %s, 'Product number ' || n, (n * 7919 %% 100000) / 100.0, n %% 2 = 0 from generate_series(1, %s) n",
        user.user_id,
        records,
    )
    connection = world.servers.connect()
    connection.cursor().execute(f"vacuum analyze {table}")
    connection.close()
    time.sleep(1.2)  # the model's epoch has reached every worker
    return user, table, columns
