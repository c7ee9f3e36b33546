"""A stand-in for a third-party API with its token server, and a gateway that may call it."""
import pytest

from groundwork.client import Client
from groundwork.project import Project
from integrations_stand_in import Api


@pytest.fixture(scope="module")
def api(servers):
    own = Api()
    servers.allowed_ports.append(own.port)
    yield own
    own.close()


@pytest.fixture(scope="module")
def other_api(servers):
    """A second such API at another address, which must not receive what belongs to the first."""
    own = Api()
    servers.allowed_ports.append(own.port)
    yield own
    own.close()


@pytest.fixture(scope="module")
def calling_gateway(start_gateway, session_gateway, api, other_api):
    """A gateway that may connect to the two APIs and to nothing else on this machine."""
    return start_gateway("gateway-integrations", WORKERS=2, FETCH_ALLOW=f"127.0.0.1:{api.port},127.0.0.1:{other_api.port}")


@pytest.fixture(scope="module")
def crm(calling_gateway, servers, recorder):
    """One project for all tests of a file."""
    operator = Client(f"{calling_gateway.url}/org", token=servers.operator_token, recorder=recorder)
    made = Project(calling_gateway, operator, recorder)
    made.admin.put("/", {"settings": {"redirect_urls": ["https://app.example.org/connected"]}}, expect=200)
    return made
