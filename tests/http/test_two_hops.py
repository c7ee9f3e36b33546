"""When an operator's own proxy is in front of the shipped proxy, the shipped one forwards the client address: limits count clients, not proxies."""
import http.client
import json
import re
import secrets
import shutil

import pytest

from groundwork.deadline import until
from groundwork.servers import ROOT
from proxies import Proxy, haproxy_command

OWN = "127.0.0.3 192.0.2.0/24"


@pytest.fixture(scope="module")
def two_hops(start_gateway, tmp_path_factory):
    if shutil.which("haproxy") is None:
        pytest.skip("haproxy is not installed")
    gateway = start_gateway("two-hops", WORKERS=1, TRUSTED_PROXIES=f"127.0.0.1,{OWN}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRUSTED_PROXIES", OWN)
        proxy = Proxy("haproxy", tmp_path_factory.mktemp("hops"), gateway, haproxy_command)
    yield proxy
    proxy.stop()


def counted(proxy, source, *claims):
    """The address for which limits count a request from `source` with these X-Forwarded-For claims."""
    mark = f"hop-{secrets.token_hex(8)}"
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=60, source_address=(source, 0))
    connection.putrequest("GET", "/healthz")
    connection.putheader("X-Request-Id", mark)
    for claim in claims:
        connection.putheader("X-Forwarded-For", claim)
    connection.endheaders()
    assert connection.getresponse().status == 200
    connection.close()
    line = until(lambda: next((line for line in proxy.gateway.log().splitlines() if mark in line), None), "no access line")
    return json.loads(line)["peer"]


def test_who_a_proxy_of_ones_own_names_is_counted(two_hops):
    assert counted(two_hops, "127.0.0.3", "203.0.113.7") == "203.0.113.7"
    assert counted(two_hops, "127.0.0.3", "6.6.6.6", "203.0.113.8") == "203.0.113.8"
    assert counted(two_hops, "127.0.0.3", "203.0.113.9, 192.0.2.1") == "203.0.113.9"


def test_who_anybody_else_names_is_not(two_hops):
    assert counted(two_hops, "127.0.0.4", "203.0.113.7") == "127.0.0.4"
    assert counted(two_hops, "127.0.0.4") == "127.0.0.4"


def test_one_variable_of_the_compose_file_sets_all_of_them():
    services = re.split(r"^  (?=[a-z-]+:$)", (ROOT / "docker-compose.yml").read_text(), flags=re.M)
    told = [service.split(":")[0] for service in services if "${TRUSTED_PROXIES:-" in service]
    assert sorted(told) == ["api-gateway", "payments-webhook", "proxy"]
