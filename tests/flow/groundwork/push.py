"""Push notifications: stand-ins of the providers, dispatchers, and a project's devices and sends as rows."""
import hashlib
import json
import pathlib
import sys

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from psycopg2.extras import Json

from .daemon import Daemon  # noqa: F401
from .deadline import allowed, until
from .fixtures import starter
from .records import execute, rows
from .sealed import seal, setting_aad, unwrap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from push import Fcm, PushService  # noqa: E402
from push.webpush import b64  # noqa: E402

__all__ = ["fcm", "push_service", "start_dispatcher", "dispatcher", "push_project"]


@pytest.fixture(scope="module")
def fcm():
    made = Fcm()
    yield made
    made.close()


@pytest.fixture(scope="module")
def push_service():
    made = PushService()
    yield made
    made.close()


@pytest.fixture(scope="module")
def start_dispatcher(servers, session_gateway, fcm, push_service):
    """Starts a push-dispatcher: start_dispatcher(LEASE_MS=2000). All of them end with the file's tests; a sanitizer report in
    any log is an error. DB_BUSY_SHARE is high so that a project's statements do not wait for its other statements, which
    are slow on a busy machine: a send that waits for a second is given up, and repeats the messages that were in progress."""
    yield from starter(servers, "push-dispatcher", lambda: dict(
        FCM_URL=fcm.url, FCM_TOKEN_URL=fcm.token_url, FETCH_CA_FILE=fcm.ca_file, PUSH_RETRY_MS=20, PUSH_TIMEOUT_MS=60000,
        STATEMENT_TIMEOUT_MS=allowed(5000), DB_BUSY_SHARE=128,
        FETCH_ALLOW=f"127.0.0.1:{fcm.port},127.0.0.1:{push_service.port}"))


@pytest.fixture(scope="module")
def dispatcher(start_dispatcher):
    """One dispatcher for the tests of a file."""
    return start_dispatcher()


@pytest.fixture
def push_project(project, db, fcm, push_service):
    """The test's project, with credentials of both providers."""
    made = PushProject(project, db, fcm, push_service)
    made.configure_fcm()
    made.configure_web()
    yield made
    assert fcm.violations() == [] and push_service.violations() == []


class PushProject:
    """Credentials, devices and sends of a project, written as the gateway writes them."""

    def __init__(self, project, db, fcm, service):
        self.project, self.db, self.fcm, self.service = project, db, fcm, service
        self.schema = project.schema(db)
        self.number = int(self.schema[2:])
        self.account = self.key = self.public_key = None
        self.execute("insert into platform.push_projects (number) values (%s) on conflict do nothing", self.number)

    def execute(self, statement, *values):
        execute(self.db, statement.format(p=self.schema), *values)

    def rows(self, statement, *values):
        return rows(self.db, statement.format(p=self.schema), *values)

    def query_value(self, statement, *values):
        return self.rows(statement, *values)[0][0]

    # --- credentials ---

    def seal(self, place, plain):
        keys = unwrap(self.number, self.rows("select id, wrapped from {p}.data_keys"))
        return seal(keys[max(keys)], max(keys), place, plain)

    def put_setting(self, key, doc, plain):
        self.execute("insert into {p}.settings (kind, key, doc, sealed) values ('push', %s, %s, %s) on conflict (kind, key) do "
                     "update set doc = excluded.doc, sealed = excluded.sealed, updated_at = now()",
                     key, Json(doc), self.seal(setting_aad(self.number, "push", key), plain))

    def configure_fcm(self, account=None):
        self.account = json.loads(account or self.fcm.new_account())
        self.put_setting("fcm", {name: self.account[name] for name in ("project_id", "client_email")}, json.dumps(self.account).encode())

    def configure_web(self, subject="mailto:ops@shop.example"):
        self.key = self.key or ec.generate_private_key(ec.SECP256R1())
        self.public_key = b64(self.key.public_key().public_bytes(serialization.Encoding.X962,
                                                                 serialization.PublicFormat.UncompressedPoint))
        self.put_setting("web_push", {"subject": subject, "public_key": self.public_key},
                         self.key.private_bytes(serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))

    def remove(self, provider):
        self.execute("delete from {p}.settings where kind = 'push' and key = %s", provider)

    # --- devices ---

    def device(self, token, provider="fcm", user=None, owner=(None, None)):
        identity = json.loads(token)["endpoint"] if provider == "web_push" and token.startswith("{") else token
        return self.query_value("insert into {p}.push_devices (provider, token, token_hash, user_id, owner_entity_id, owner_record_id) "
                                "values (%s, %s, %s, %s, %s, %s) returning id",
                                provider, token, hashlib.sha256(identity.encode()).digest(), user, *owner)

    def phones(self, count, prefix="phone"):
        """Adds `count` FCM devices with the tokens prefix-1, ..."""
        self.execute("insert into {p}.push_devices (provider, token, token_hash) select 'fcm', %s || '-' || n, "
                     "sha256((%s || '-' || n)::bytea) from generate_series(1, %s) n", prefix, prefix, count)

    def browser(self, user=None):
        """A new subscription, and the id of its device."""
        subscription = self.service.subscribe(self.public_key)
        return subscription, self.device(subscription, "web_push", user)

    # --- sends ---

    def send(self, audience=None, title="Order ready", body="Table 4", source="Test", **more):
        request = {"title": title, "body": body, "audience": audience or {"kind": "all"}, **more}
        return self.query_value("insert into {p}.push_sends (source, request, category) values (%s, %s, %s) returning id",
                                source, Json(request), more.get("category"))

    def send_row(self, send):
        names = ("status", "targets", "fcm_delivered", "fcm_failed", "fcm_unregistered", "web_delivered", "web_failed",
                 "web_unregistered", "first_error", "result", "attempt", "due_at", "finished_at", "leased")
        return dict(zip(names, self.rows(f"select {', '.join(names)} from {{p}}.push_sends where id = %s", send)[0]))

    def wait_ended(self, send, within=6):
        """Returns the send's row, once it has ended."""
        until(lambda: self.send_row(send)["finished_at"], lambda: self.send_row(send), within, pause=0.02)
        log = self.send_row(send)
        assert log["due_at"] is None and not log["leased"]
        return log

    def deliveries(self, send):
        """Returns {target: (status, code)}."""
        return {target: (status, code) for target, status, code in self.rows(
            "select target_id, status, code from {p}.push_deliveries where send_id = %s order by provider, target_id", send)}

    def is_live(self, device):
        return self.query_value("select unregistered_at is null from {p}.push_devices where id = %s", device)
