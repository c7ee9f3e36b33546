"""A stand-in for a model server, two gateways that may call it, and a project that uses it for its assistant."""
import pytest

from groundwork.client import Client
from groundwork.project import Project
from groundwork.model_server import KEY, Model


@pytest.fixture(scope="module")
def model(servers):
    own = Model()
    yield own
    own.close()


@pytest.fixture(scope="module")
def ai_gateway(start_gateway, session_gateway, model):
    return start_gateway("gateway-ai", WORKERS=2, FETCH_ALLOW=f"127.0.0.1:{model.port}")


@pytest.fixture(scope="module")
def other_ai_gateway(start_gateway, session_gateway, model):
    return start_gateway("gateway-ai-other", WORKERS=1, FETCH_ALLOW=f"127.0.0.1:{model.port}")


@pytest.fixture(scope="module")
def ai_project(ai_gateway, servers, recorder, model):
    """One project for each file."""
    made = Project(ai_gateway, Client(f"{ai_gateway.url}/org", token=servers.operator_token, recorder=recorder), recorder)
    limits = {f"rate_{name}": 1000000 for name in ("read", "write", "heavy")}
    made.admin.put("/", {"settings": limits}, expect=200)
    made.admin.put("/ai/config", {"endpoint": f"{model.url}/", "api_key": KEY, "default_model": "small"}, expect=200)
    return made


@pytest.fixture(scope="module")
def ann(ai_project):
    return ai_project.user()


@pytest.fixture(autouse=True)
def reset_model(model):
    model.released.clear()
