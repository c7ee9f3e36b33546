"""X-Forwarded-For counts only from a trusted proxy (GROUNDWORK_TRUSTED_PROXIES)."""
import http.client
import json
import secrets
import time

import pytest


@pytest.fixture(scope="module")
def behind_proxy(start_gateway):
    return start_gateway(WORKERS=1, TRUSTED_PROXIES="127.0.0.0/8,::1")


def peer_of(daemon, *values):
    """The address in the access line of a request with these lines of the header."""
    mark = f"peer-{secrets.token_hex(8)}"
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=10)
    connection.putrequest("GET", "/healthz")
    connection.putheader("X-Request-Id", mark)
    for value in values:
        connection.putheader("X-Forwarded-For", value)
    connection.endheaders()
    connection.getresponse().read()
    connection.close()
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


@pytest.mark.parametrize(
    "values, peer",
    [
        (["6.6.6.6", "203.0.113.7"], "203.0.113.7"),  # a proxy that adds a line leaves the client's before it
        (["6.6.6.6", "203.0.113.7, 127.0.0.1"], "203.0.113.7"),
        (["203.0.113.7", "127.0.0.1"], "203.0.113.7"),
        (["6.6.6.6", "203.0.113.7", "127.0.0.2, 127.0.0.1"], "203.0.113.7"),
        (["6.6.6.6", "nonsense"], "127.0.0.1"),
    ],
)
def test_lines_are_one_list(behind_proxy, values, peer):
    assert peer_of(behind_proxy, *values) == peer


def test_nobody_is_trusted_unless_configured(gateway):
    assert peer_of(gateway, "203.0.113.7") == "127.0.0.1"


@pytest.mark.parametrize("networks", ["10.0.0.0/33", "nonsense", "10.0.0.0/8/8", "::1/129"])
def test_bad_networks_stop_the_start(start_gateway, networks):
    with pytest.raises(RuntimeError, match="GROUNDWORK_TRUSTED_PROXIES"):
        start_gateway(WORKERS=1, TRUSTED_PROXIES=networks)
