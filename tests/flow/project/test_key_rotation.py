"""Data keys and master keys are replaced while gateways work, by a command that is killed repeatedly (C2)."""
import contextlib
import itertools
import secrets
import signal
import subprocess
import threading
import time

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from groundwork.client import Client
from groundwork.daemon import Daemon
from groundwork.deadline import until
from groundwork.fixtures import gateway_binary, store_logs, settings
from groundwork.project import ADMIN_EMAIL, PASSWORD, Project
from groundwork.push_keys import service_account
from groundwork.sealed import Vault, seal, setting_aad, unseal
from groundwork.servers import UNSYNCED, Servers

KEY_A, KEY_B, KEY_C = ("0a" * 32, "0b" * 32, "0c" * 32)
CANARY = "rotation-canary"
REFRESH = "/auth/v1/refresh"


# --- stored values, read without the service -----------------------------------------------------------


def derived(master, number):
    return HKDF(hashes.SHA256(), 32, None, f"project:{number}".encode()).derive(bytes.fromhex(master))


# --- servers of their own, because a rotation covers every project ---------------------------------------


class World:
    def __init__(self):
        self.servers = Servers(UNSYNCED)
        self.servers.start()
        self.servers.operator_token = secrets.token_urlsafe(32)
        self.daemons, self.outputs = [], []
        self.connection = self.servers.connect()
        self.numbers = itertools.count()

    def daemon(self, master=KEY_A, **more):
        log = self.servers.folder / f"rotation{next(self.numbers)}.log"
        return Daemon(str(gateway_binary()), log, **{**settings(self.servers), "MASTER_KEY": master, **more})

    def gateway(self, **settings):
        self.daemons.append(self.daemon(**settings))
        return self.daemons[-1].start()

    def project(self, gateway, name):
        own = Project(gateway, Client(f"{gateway.url}/org", token=self.servers.operator_token), None, name)
        own.admin.put("/", {"settings": {
            "rate_read": 0, "rate_write": 0, "rate_heavy": 0,
            "rate_sign_in_account": 1000000, "rate_sign_in_address": 1000000,
            "oidc_issuer": "https://issuer.example.org", "oidc_client_id": "id", "oidc_client_secret": CANARY,
        }}, expect=200)
        own.entity("vaults", [{"name": "name", "type": "varchar"}, {"name": "code", "type": "secret"}])
        for first in range(0, 450, 150):
            records = [{"name": f"n{i}", "code": f"{CANARY}-{i}"} for i in range(first, first + 150)]
            own.admin.post("/entities/vaults/items/bulk", {"items": records}, expect=201)
        for name in ("ONE", "TWO"):
            own.admin.post("/secrets", {"name": name, "value": CANARY}, expect=201)
        own.admin.put("/push/credentials/fcm", {"service_account_json": service_account(CANARY)}, expect=200)
        own.admin.put("/push/credentials/web-push", {"subject": "mailto:push@example.org"}, expect=200)
        own.admin.post(f"/integrations/svcpay/balances/{own.admin.user['id']}/adjust",
                       {"amount": 1, "unit": "usd", "reason": "first"}, headers={"Idempotency-Key": "a:b"}, expect=200)
        return own

    def vault(self, slug, *masters):
        return Vault(self.connection.cursor(), slug, *(masters or (KEY_A,)))

    def rotate(self, flag, kill_line=0, kill_after=0.0, **settings):
        """Runs the command and returns its exit status; kills it with SIGKILL after `kill_line` lines of output or `kill_after`
        seconds."""
        daemon = self.daemon(**settings)
        process = subprocess.Popen([daemon.binary, flag], env=daemon.environment(), text=True, bufsize=1,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        watchdog = threading.Timer(kill_after or 600, process.kill)
        watchdog.start()
        lines = []
        for line in process.stdout:
            lines.append(line)
            if len(lines) == kill_line:
                process.kill()
        watchdog.cancel()
        self.outputs += lines
        return process.wait(60)

    @contextlib.contextmanager
    def unfinished(self, slug):
        """Inside this context no rotation can retire a key of the project, so no rotation finishes."""
        connection = self.servers.connect()
        connection.autocommit = False
        try:
            Vault(connection.cursor(), slug, KEY_A).rows("select id from {p}.data_keys for update")
            yield
        finally:
            connection.close()

    def close(self):
        for daemon in self.daemons:
            if daemon.is_running():
                daemon.stop()
        store_logs(self.daemons)
        alarms = [alarm for daemon in self.daemons for alarm in daemon.alarms()]
        logs = "".join(self.outputs) + "".join(daemon.log() for daemon in self.daemons)
        self.connection.close()
        self.servers.wipe()
        assert not alarms, alarms[0]
        assert CANARY not in logs and "Sanitizer" not in logs


@pytest.fixture
def world():
    own = World()
    try:
        assert own.daemon().run("--migrate").returncode == 0
        yield own
    finally:
        own.close()


class Load:
    """Clients that keep writing and reading sealed values; records every failure."""

    def __init__(self, project):
        self.project, self.stopped, self.failures, self.calls = project, threading.Event(), [], 0
        self.refused = 0
        self.threads = [threading.Thread(target=self.repeat, args=(fn,)) for fn in (
            self.keep_secrets, self.keep_records, self.refresh, self.change_settings)]

    def repeat(self, fn):
        admin = self.project.client().sign_in(ADMIN_EMAIL, PASSWORD)
        for i in itertools.count():
            if self.stopped.is_set():
                return
            try:
                fn(admin, i)
                self.calls += 1
            except AssertionError as error:
                if ": 503 instead of" not in str(error):
                    self.failures.append(str(error)[:500])
                    return
                self.refused += 1  # a busy machine refuses some calls; failures that concern keys are in the gateway's log

    def keep_secrets(self, admin, i):
        admin.put("/secrets/ONE", {"value": f"{CANARY}-one-{i}"}, expect=200)
        admin.post("/secrets", {"name": f"S{i}", "value": CANARY}, expect=201)
        if i >= 5:
            assert admin.delete(f"/secrets/S{i - 5}").status_code in (204, 404, 503)

    def keep_records(self, admin, i):
        item = admin.post("/entities/vaults/items", {"name": "new", "code": f"{CANARY}-{i}"}, expect=201).json()
        admin.put(f"/entities/vaults/items/{item['id']}", {"code": f"{CANARY}-{i}-b"}, expect=200)
        admin.put(f"/entities/vaults/items/{i % 450 + 1}", {"code": f"{CANARY}-{i}-c"}, expect=200)

    def refresh(self, admin, _):
        """Refreshes twice with one token: the second answer comes from the sealed successor."""
        body = {"refresh_token": admin.refresh_token}
        first = admin.post(REFRESH, body, expect=200).json()
        second = admin.post(REFRESH, body, expect=200).json()
        assert first["refresh_token"] == second["refresh_token"]
        admin.refresh_token, admin.token = first["refresh_token"], first["access_token"]

    def change_settings(self, admin, i):
        admin.patch("/", {"settings": {"mail_sender": f"a{i}@example.org"}}, expect=200)
        time.sleep(0.5)  # each change of settings is a new epoch, and rights are unknown until workers have read it

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        for thread in self.threads:
            thread.join(60)


@pytest.mark.full
def test_a_rotation_killed_again_and_again_under_load(world):
    gateway = world.gateway()
    other = world.gateway()
    busy, quiet = world.project(gateway, "busy"), world.project(other, "quiet")
    before = world.vault("quiet").check()[1]
    with Load(busy) as load:
        for line in (1, 2, 3, 5, 8):
            with world.unfinished("quiet"):
                assert world.rotate("--rotate-data-keys", kill_line=line) == -signal.SIGKILL
            world.vault("busy").check()
            assert world.vault("quiet").check()[1] == before
        for delay in (0.3, 0.7, 1.2):
            world.rotate("--rotate-data-keys", kill_after=delay)
            world.vault("busy").check()
        assert world.rotate("--rotate-data-keys") == 0
        world.vault("busy").check()
        until(lambda: load.failures or load.calls > 50 + 10 * load.refused, lambda: f"{load.calls} calls, {load.refused} refused")
    assert not load.failures
    assert not [line for line in gateway.log().splitlines() + other.log().splitlines() if "unreadable" in line]
    for slug in ("busy", "quiet"):
        vault = world.vault(slug)
        used, texts = vault.check()
        newest = max(vault.keys)
        assert used == {newest} and vault.retired == set(vault.keys) - {newest}, (slug, used, vault.keys.keys())
    assert {place: text for place, text in texts.items() if "secrets" in place or "settings" in place} == {
        place: text for place, text in before.items() if "secrets" in place or "settings" in place}
    # A gateway that has nothing in its caches reads signing keys, successors and settings from the store.
    fresh = world.gateway()
    for slug in ("busy", "quiet"):
        client = Client(f"{fresh.url}/org/{slug}").sign_in(ADMIN_EMAIL, PASSWORD)
        assert client.get("/", expect=200).json()["settings"]["oidc_client_secret"] == "********"
        assert client.get("/secrets", expect=200).json()["items"][0]["name"] == "ONE"
    assert "".join(world.outputs).count("has a new key") >= 2


def test_a_new_master_key(world):
    old = world.gateway(WORKERS=1)
    world.project(old, "first")
    texts = world.vault("first").check()[1]
    both = world.gateway(master=KEY_B, MASTER_KEY_OLD=KEY_A)
    world.project(both, "second")  # its data key is wrapped by the new master key from the start
    assert world.rotate("--rotate-master-key", kill_line=1, master=KEY_B, MASTER_KEY_OLD=KEY_A) in (0, -signal.SIGKILL)
    for slug in ("first", "second"):
        world.vault(slug, KEY_A, KEY_B).check()
    assert world.rotate("--rotate-master-key", master=KEY_B, MASTER_KEY_OLD=KEY_A) == 0
    assert world.rotate("--rotate-master-key", master=KEY_B) == 0  # nothing is left to do
    assert world.vault("first", KEY_B).check()[1] == texts
    world.vault("second", KEY_B).check()
    # A process that has unwrapped the project's keys continues; a new one with only the old master key serves nothing.
    Client(f"{old.url}/org/first").sign_in(ADMIN_EMAIL, PASSWORD)
    late = world.gateway(master=KEY_A)
    Client(f"{late.url}/org/first").post("/auth/v1/token", {"email": ADMIN_EMAIL, "password": PASSWORD}, expect=503)
    fresh = world.gateway(master=KEY_B)
    for slug in ("first", "second"):
        Client(f"{fresh.url}/org/{slug}").sign_in(ADMIN_EMAIL, PASSWORD)
    # A rotation with a wrong master key fails with a message and changes nothing.
    assert world.rotate("--rotate-master-key", master=KEY_C) == 1
    assert world.rotate("--rotate-data-keys", master=KEY_C) == 1
    assert "run it again" in world.outputs[-1]
    assert world.vault("first", KEY_B).check()[1] == texts


def test_a_project_of_an_earlier_release(world):
    """A project whose values are sealed with a key derived from the master key is adopted once by gateways that load it
    concurrently."""
    first = world.gateway()
    world.project(first, "legacy")
    vault = world.vault("legacy")
    legacy = derived(KEY_A, vault.number)

    def reseal(value, place):
        return seal(legacy, 0, place, unseal(vault.keys[1], value, place))

    cursor, schema = vault.cursor, vault.schema
    for kind, key, value in vault.rows("select kind, key, sealed from {p}.settings where sealed is not null"):
        cursor.execute(f"update {schema}.settings set sealed = %s where kind = %s and key = %s",
                       (reseal(value, setting_aad(vault.number, kind, key)), kind, key))
    for name, value in vault.rows("select name, sealed from {p}.secrets"):
        cursor.execute(f"update {schema}.secrets set sealed = %s where name = %s",
                       (reseal(value, f"p{vault.number}:secrets:{name}"), name))
    cursor.execute(f"delete from {schema}.data_keys; truncate {schema}.refresh_tokens, {schema}.auth_flows,"
                   f" {schema}.idempotency_keys")
    entity, field = vault.rows("select entity_id, id from {p}.fields where type = 'secret'")[0]
    cursor.execute(f"update {schema}.e_{entity} set f_{field} = null")
    first.stop()
    # The gateways already have a new master key; the old master key yields the derived key.
    later = [world.gateway(master=KEY_B, MASTER_KEY_OLD=KEY_A) for _ in range(2)]
    clients = [Client(f"{daemon.url}/org/legacy") for daemon in later]
    threads = [threading.Thread(target=client.sign_in, args=(ADMIN_EMAIL, PASSWORD)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    adopted = world.vault("legacy", KEY_B)
    assert adopted.keys == {0: legacy} and adopted.check()[0] == {0}
    clients[0].put("/secrets/ONE", {"value": "value"}, expect=200)
    assert world.rotate("--rotate-data-keys", master=KEY_B) == 0
    rotated = world.vault("legacy", KEY_B)
    assert rotated.check()[0] == {1} and rotated.retired == {0}
    clients[1].put("/secrets/TWO", {"value": "value"}, expect=200)
    assert rotated.check()[0] == {1}
