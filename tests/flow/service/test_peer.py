"""X-Forwarded-For counts only from a trusted proxy (GROUNDWORK_TRUSTED_PROXIES)."""
import http.client
import json
import secrets
import socket
import time

import pytest

from groundwork.deadline import until


@pytest.fixture(scope="module")
def behind_proxy(start_gateway):
    return start_gateway(WORKERS=1, TRUSTED_PROXIES="127.0.0.0/8,::1")


def peer_of(daemon, *values):
    """The peer address in the access log of a request with these X-Forwarded-For lines."""
    mark = f"peer-{secrets.token_hex(8)}"
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)
    connection.putrequest("GET", "/healthz")
    connection.putheader("X-Request-Id", mark)
    for value in values:
        connection.putheader("X-Forwarded-For", value)
    connection.endheaders()
    connection.getresponse().read()
    connection.close()
    line = until(lambda: next((line for line in daemon.log().splitlines() if mark in line), None), "no access line")
    return json.loads(line)["peer"]


@pytest.mark.parametrize(
    "value, peer",
    [
        ("203.0.113.7", "203.0.113.7"),
        ("6.6.6.6, 203.0.113.7", "203.0.113.7"),  # an address that the client itself added is ignored
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
        (["6.6.6.6", "203.0.113.7"], "203.0.113.7"),  # a proxy that adds a line leaves the client's line before it
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


@pytest.mark.parametrize("first, second", [(10, 5000), (5000, 10)])
def test_a_body_in_pieces(behind_proxy, servers, first, second):
    """Body bytes that arrive with the head also belong to the client, whose address is known once the head is parsed."""
    body = b'{"project_id":"' + b"x" * (first + second) + b'"}'
    head = (f"POST /org HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {servers.operator_token}\r\nContent-Type: application/json\r\n"
            f"X-Forwarded-For: 203.0.113.7\r\nContent-Length: {len(body)}\r\n\r\n").encode()
    with socket.create_connection(("127.0.0.1", behind_proxy.port), timeout=60) as connection:
        for piece in (head + body[:first], body[first:-1], body[-1:]):
            connection.sendall(piece)
            time.sleep(0.1)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 400 ")
    assert "worker.died" not in behind_proxy.log()
