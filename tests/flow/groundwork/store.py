"""The test store (tests/flow/store) for flow tests: daemons that trust it, projects with an app in it."""
import json

import pytest
import requests

from store.app import APP_ID, BUNDLE, App, Subscription
from store.server import Store

from .client import Client
from .daemon import free_port
from .deadline import until
from .project import Project
from .records import rows
from .soon import await_status
from .webhooks import FINAL_STATUSES

__all__ = ["store", "store_gateway", "store_webhook", "store_settings", "make_outlet", "module_outlet",
           "outlet", "module_spare_outlet", "spare_outlet"]

PAY = "/integrations/svcpay"
CREDENTIALS = f"{PAY}/iap-store/credentials"


@pytest.fixture(scope="module")
def store():
    own = Store()
    yield own
    own.close()


@pytest.fixture(scope="module")
def store_settings(servers, store):
    """Settings that a daemon needs to use the store."""
    roots = servers.folder / f"roots-{store.port}.pem"
    roots.write_text(store.root_pem)
    roots.chmod(0o644)
    return {"STORE_URL": store.production_url, "STORE_SANDBOX_URL": store.sandbox_url, "STORE_ROOTS_FILE": roots,
            "FETCH_ALLOW": f"127.0.0.1:{store.port}"}


@pytest.fixture(scope="module")
def store_gateway(start_gateway, session_gateway, store_settings, store):
    return start_gateway(f"gateway-store-{store.port}", WORKERS=1, PAYMENTS_URL=f"http://127.0.0.1:{free_port()}/",
                         PROCESSOR_URL=store.production_url, **store_settings)


@pytest.fixture(scope="module")
def store_webhook(start_webhook, store_gateway, store_settings, store):
    """A payments-webhook at the address that the gateway announces."""
    port = int(store_gateway.settings["PAYMENTS_URL"].rsplit(":", 1)[1].rstrip("/"))
    return start_webhook(PORT=port, **{**store_settings, "PROCESSOR_URL": store.production_url})


def check_webhook(webhook):
    alarms = webhook.alarms()
    assert not alarms, alarms[0]
    assert webhook.is_running(), f"payments-webhook ended:\n{webhook.log_tail()}"


@pytest.fixture(scope="module")
def make_outlet(store, store_gateway, store_webhook, servers, recorder):
    """make_outlet(): one more project whose app is in the store; see Outlet."""
    operator = Client(f"{store_gateway.url}/org", token=servers.operator_token, recorder=recorder)
    db = servers.connect()
    yield lambda: Outlet(store, Project(store_gateway, operator, recorder), store_webhook, db)
    db.close()


@pytest.fixture(scope="module")
def module_outlet(make_outlet):
    return make_outlet()


@pytest.fixture
def outlet(module_outlet):
    """The file's outlet, for tests that do not change its credentials."""
    yield module_outlet
    check_webhook(module_outlet.webhook)


@pytest.fixture(scope="module")
def module_spare_outlet(make_outlet):
    return make_outlet()


@pytest.fixture
def spare_outlet(module_spare_outlet):
    """Another outlet with fresh credentials, for tests that change them."""
    module_spare_outlet.configure()
    yield module_spare_outlet
    check_webhook(module_spare_outlet.webhook)


class Outlet:
    """A project with the app store's credentials."""

    def __init__(self, store, project, webhook, db):
        self.store, self.project, self.webhook, self.db = store, project, webhook, db
        self.schema = project.schema(db)
        self.sandbox, self.production = store.app("Sandbox"), store.app("Production")
        self.configure()

    def configure(self, **members):
        """Stores a new key and the usual app; `members` override values. Returns when the daemon uses them."""
        both = ["production", "sandbox"]
        body = {**self.store.key(), "bundle_id": BUNDLE, "app_apple_id": APP_ID, "environments": both, **members}
        made = self.project.admin.put(CREDENTIALS, body, expect=200).json()
        self.url = made["notification_url"]
        app = App(self.store.chain, made["environments"][0].capitalize(), body["bundle_id"], body["app_apple_id"])
        other = {"production", "sandbox"} - set(made["environments"])
        until(lambda: self.post(app.signed("TEST")).status_code == 200, "credentials")
        for environment in other:
            app = App(self.store.chain, environment.capitalize(), body["bundle_id"], body["app_apple_id"])
            until(lambda: self.post(app.signed("TEST")).status_code != 200, "credentials")

    # --- deliveries ---

    def post(self, token):
        """Sends a notification as the store does, again after each 503; returns the answer."""
        return await_status(lambda: requests.post(self.url, json={"signedPayload": token}, timeout=60), FINAL_STATUSES, within=6)

    def deliver(self, app, kind, subtype=None, options=None, wait=True):
        """Delivers a notification. Returns (state, object, effect) of it once it was applied, or its id with wait=False."""
        payload = app.notification(kind, subtype, **(options or {}))
        answer = self.post(app.chain.sign(payload))
        assert answer.status_code == 200, answer.text
        ident = f"{app.environment}:{payload['notificationUUID']}"
        return self.wait(ident) if wait else ident

    def wait(self, ident, within=6):
        def ended():
            found = self.event(ident, "state", "object", "effect")
            return found if found and found[0] in ("applied", "ignored", "unsupported", "dead") else None

        return until(ended, lambda: f"{ident}: {self.event(ident, 'state', 'error')}", within)

    # --- the effects of notifications ---

    def count_events(self):
        return rows(self.db, f"select count(*) from {self.schema}.webhook_events")[0][0]

    def event(self, ident, *columns):
        found = rows(self.db, f"select {', '.join(columns)} from {self.schema}.webhook_events where event_id = %s", ident)
        return found[0] if found else None

    def row(self, table, column, value):
        """Returns a row as a dictionary, or None."""
        found = rows(self.db, f"select row_to_json(t) from {self.schema}.{table} t where t.{column} = %s", value)
        assert len(found) <= 1
        return found[0][0] if found else None

    def subscription(self, original):
        return self.row("subscriptions", "provider_subscription_id", original)

    def payment(self, transaction):
        return self.row("payments", "store_transaction_id", transaction)

    def history(self, original):
        """(at, from, to, detail) in the order in which the changes happened."""
        return rows(self.db, f"select h.at, h.from_status, h.to_status, h.detail from {self.schema}.subscription_history h"
                             f" join {self.schema}.subscriptions s on s.id = h.subscription_id"
                             " where s.provider_subscription_id = %s order by h.at, h.event_id", original)

    def new_subscription(self, environment="Sandbox", **options):
        """A new subscription."""
        return Subscription(self.sandbox if environment == "Sandbox" else self.production, **options)


def rename_subscription(steps, suffix):
    """These steps with the ids of another subscription."""
    text = json.dumps(steps)
    names = {options["transaction"][name] for _, _, options in steps for name in ("transactionId", "originalTransactionId")}
    for name in names:
        text = text.replace(f'"{name}"', f'"{name}{suffix}"')
    return [tuple(step) for step in json.loads(text)]
