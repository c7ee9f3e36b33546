"""X-Forwarded-For counts only from a trusted proxy (GROUNDWORK_TRUSTED_PROXIES)."""
import json
import secrets
import time

import pytest
import requests


@pytest.fixture(scope="module")
def behind_proxy(start_gateway):
    return start_gateway(WORKERS=1, TRUSTED_PROXIES="127.0.0.0/8,::1")


def peer_of(daemon, value):
    """The address in the access line of a request with this header."""
    mark = f"peer-{secrets.token_hex(8)}"
    requests.get(f"{daemon.url}/healthz", headers={"X-Forwarded-For": value, "X-Request-Id": mark}, timeout=10)
    for _ in range(100):
        for line in daemon.log().splitlines():
            if mark in line:
                return json.loads(line)["peer"]
        time.sleep(0.05)
    raise AssertionError("no access line")


@pytest.mark.parametrize(
    "value, peer",
    [
        ("203.0.113.7", "203.0.113.7"),
        ("6.6.6.6, 203.0.113.7", "203.0.113.7"),  # what the client claimed itself stays unread
        ("203.0.113.7, 127.0.0.1", "203.0.113.7"),  # two proxies in a row
        ("2001:db8::1", "2001:db8::1"),
        ("not an address", "127.0.0.1"),
        ("", "127.0.0.1"),
    ],
)
def test_trusted_proxy(behind_proxy, value, peer):
    assert peer_of(behind_proxy, value) == peer


def test_nobody_is_trusted_unless_configured(gateway):
    assert peer_of(gateway, "203.0.113.7") == "127.0.0.1"


@pytest.mark.parametrize("networks", ["10.0.0.0/33", "nonsense", "10.0.0.0/8/8", "::1/129"])
def test_bad_networks_stop_the_start(start_gateway, networks):
    with pytest.raises(RuntimeError, match="GROUNDWORK_TRUSTED_PROXIES"):
        start_gateway(WORKERS=1, TRUSTED_PROXIES=networks)
