"""The test processor (tests/processor) for flow tests, and projects that take money through it."""
import functools
import secrets
import subprocess
import sys

import pytest

from .daemon import Daemon, free_port
from .deadline import allowed, until
from .records import rows
from .servers import ROOT

sys.path.insert(0, str(ROOT / "tests"))

from processor import Processor  # noqa: E402

PAY = "/integrations/svcpay"
SCHEMAS = ROOT.parent / "shared/reference/data"  # if this folder exists, every request is checked against the schemas in it


@functools.lru_cache(maxsize=None)
def known_settings(path):
    """The --help-config output of a daemon: it lists the GROUNDWORK_ variables that the daemon accepts, and the daemon refuses
    others."""
    done = subprocess.run([path, "--help-config"], capture_output=True, text=True, timeout=60)
    return done.stdout


def with_processor(servers, path, settings):
    """Adds the settings for the test processor that the daemon accepts, if it takes part in payments."""
    wanted = {"PROCESSOR_URL": servers.processor.url, "PROCESSOR_TIMEOUT_MS": 2000,
              "PAYMENTS_URL": servers.payments_url}
    ours = {name: value for name, value in wanted.items() if f"GROUNDWORK_{name}" in known_settings(str(path))}
    if "PROCESSOR_URL" in ours:
        allowed = f"{settings.get('FETCH_ALLOW', '')},127.0.0.1:{servers.processor.port}"
        settings = {**settings, "FETCH_ALLOW": allowed.strip(",")}
    return {**ours, **settings}


@pytest.fixture(scope="session")
def session_processor(servers):
    servers.processor = Processor(schemas=SCHEMAS if SCHEMAS.is_dir() else None)
    servers.payments_port = free_port()
    servers.payments_url = f"http://127.0.0.1:{servers.payments_port}"
    yield servers.processor
    servers.processor.close()


@pytest.fixture
def processor(session_processor):
    """The session's test processor, without faults and with well-behaved webhooks. A test fails if our daemons send a request
    that the real processor would refuse. Its interface: tests/processor/processor.py."""
    seen = len(session_processor.violations())
    yield session_processor
    session_processor.clear_faults()
    wrong = session_processor.violations()[seen:]
    assert not wrong, f"requests that the processor refuses: {wrong[:5]}"


@pytest.fixture(scope="module")
def start_payments(servers, session_gateway, session_processor):
    """Starts one more payments-webhook: start_payments(WORKERS=2). All end with the file's tests, so that they do not process
    events of other files; a sanitizer report in any log is an error."""
    from .fixtures import gateway_binary, stop_daemons, settings

    started = []

    def start(name=None, **overrides):
        path = gateway_binary().with_name("payments-webhook")
        own = {key: value for key, value in settings(servers).items() if key != "OPERATOR_TOKEN"}
        own = with_processor(servers, path, {**own, "WORKERS": 1, "SWEEP_MS": 500, **overrides})
        log = servers.folder / f"{name or f'payments{len(started)}-{secrets.token_hex(3)}'}.log"
        daemon = Daemon(str(path), log, **own)
        started.append(daemon.start())
        return daemon

    yield start
    stop_daemons(started)


@pytest.fixture(scope="module")
def module_payments(start_payments, servers):
    return start_payments(PORT=servers.payments_port)


@pytest.fixture
def payments(module_payments):
    """The file's payments-webhook, at the address that the gateway announces; a test that makes it end fails."""
    yield module_payments
    alarms = module_payments.alarms()
    assert not alarms, alarms[0]
    assert module_payments.is_running(), f"payments-webhook ended:\n{module_payments.log_tail()}"


@pytest.fixture
def make_shop(processor):
    """make_shop(project, mode="own", ready=False): see Shop. The webhook endpoints are removed at the end of the test."""
    made = []

    def make(project, **options):
        made.append(Shop(processor, project, **options))
        return made[-1]

    yield make
    for shop in made:
        processor.remove_endpoint(shop.endpoint)


@pytest.fixture
def shop(make_shop, project):
    """A fresh project that can take money: connected account, onboarded. Deliveries of events also need `payments`."""
    return make_shop(project)


@pytest.fixture(scope="module")
def shared_shop(session_processor, shared_project):
    """The file's project, which can take money: for requests that are refused and leave no trace. Tests also need `processor`."""
    made = Shop(session_processor, shared_project)
    yield made
    session_processor.remove_endpoint(made.endpoint)


class Shop:
    """A project with credentials of its own platform at the test processor.

    .project .admin .processor; .key (secret key) .webhook_secret .endpoint (webhook endpoint's id) .account (the account that
    owns its objects) .webhook_url. `mode`: connect or own; `ready=False`: connect without an account yet; `api`: generation
    of its events (acacia, basil, dahlia, endive); `events`: types that it subscribes to.
    """

    def __init__(self, processor, project, mode="connect", ready=True, api="dahlia", events=None):
        self.processor, self.project, self.admin, self.mode = processor, project, project.admin, mode
        platform = processor.new_platform()
        self.key, self.platform = platform["key"], platform["account"]
        self.webhook_secret = f"whsec_{secrets.token_urlsafe(24)}"
        self.put_credentials()
        self.webhook_url = f"{processor_payments_url(project)}/webhooks/processor/{project.id}"
        self.endpoint = processor.add_endpoint(self.webhook_url, self.webhook_secret, self.key, connect=mode == "connect",
                                               api=api, events=events)
        self.account = self.platform if mode == "own" else None
        if mode == "connect" and ready:
            self.onboard()

    def put_credentials(self, **changes):
        body = {"mode": self.mode, "secret_key": self.key, "webhook_secrets": [{"secret": self.webhook_secret}], **changes}
        return self.admin.put(f"{PAY}/processor-connect/credentials", body, expect=200).json()

    def connect(self):
        """Creates the connected account, not onboarded yet."""
        self.admin.post(f"{PAY}/processor-connect", {"business_type": "company", "country": "US",
                                                     "email": "shop@example.org"}, expect=201)
        platform = self.processor.store.parents
        self.account = next(account for account, parent in platform.items() if parent == self.platform)
        return self.account

    def onboard(self):
        """Completes the onboarding, and makes the gateway read the account again."""
        if not self.account:
            self.connect()
        self.processor.onboard(self.account)
        status = self.admin.get(f"{PAY}/processor-connect", expect=200).json()
        assert status["charges_enabled"] is True, status
        return status

    # --- the processor's side, for this shop only ---

    def fault(self, kind, times=1, **matching):
        """See tests/processor/faults.py."""
        self.processor.fault(kind, times, account=matching.pop("account", self.account), **matching)

    def set_switches(self, **switches):
        """duplicate=N, shuffle=True, delay=seconds or [least, most], drop=True, paused=True."""
        self.processor.update_endpoint(self.endpoint, **switches)

    def drain(self, within=6):
        """Waits until the payments service has accepted (stored) every event; it applies them a moment later."""
        self.processor.drain(allowed(within), self.endpoint)

    def wait_applied(self, db):
        """Waits until every event was accepted and applied. An event that depends on another is postponed for two seconds,
        four, eight..."""
        self.drain()
        waiting = f"select type, state, attempts, error from {self.project.schema(db)}.webhook_events where next_attempt_at is not null"
        until(lambda: not rows(db, waiting), lambda: f"not applied: {rows(db, waiting)}", 20)

    def deliver(self, event, secret=None, at=None, url=None):
        """Posts an event (a dict or text) directly, signed with this shop's secret; returns (status, body)."""
        return self.processor.deliver(url or self.webhook_url, event, secret or self.webhook_secret, at)

    def charges(self, **filters):
        return self.processor.charges(account=self.account, **filters)

    def requests(self, method=None, path=None, **filters):
        return self.processor.requests(method, path, account=self.account, **filters)

    def objects(self, kind):
        return self.processor.objects(kind, self.account)

    def events(self, type_=None):
        return self.processor.events(type_, self.account)


def processor_payments_url(project):
    """The address of the payments service of a project's gateway."""
    return project.gateway.settings.get("PAYMENTS_URL", "")
