"""Uses the sign-in routes with published clients: @supabase/auth-js and openid-client."""
import json

import pytest

from groundwork.project import ADMIN_EMAIL, PASSWORD
from npm import run


@pytest.fixture
def told(shared_project, tools):
    return json.loads(run("node", "sign_in.mjs", shared_project.base_url, ADMIN_EMAIL, PASSWORD))


def test_clients_understand_sign_in(shared_project, told):
    assert told["wrong"] == {"code": "invalid_credentials", "status": 401,
                             "message": "The e-mail address or the password is wrong."}
    assert told["unknown"] == {"code": "refresh_token_not_found", "status": 401}
    assert told["right"] == {"error": None, "email": ADMIN_EMAIL, "token": True}
    assert told["user"] == {"error": None, "email": ADMIN_EMAIL}
    assert told["changed"] == {"error": None, "metadata": {"theme": "dark"}}
    assert told["taken"] == {"code": "validation_failed", "status": 400}
    assert told["renewed"] == {"error": None, "email": ADMIN_EMAIL}
    assert told["bad"] == {"code": "bad_jwt", "status": 401}
    assert told["issuers"] == [[shared_project.base_url] * 2] * 2
