"""Fixtures of the tests of documents."""
import pytest
from npm import HERE, VALIDATORS, install


@pytest.fixture(scope="session")
def validators():
    return install(VALIDATORS, [".bin/redocly", "@apidevtools/swagger-parser"], ["@redocly/cli@1.34.5", "@apidevtools/swagger-parser@12.1.0"])


@pytest.fixture(scope="session")
def tools():
    """The programs of the packages with which the long tests use a project, or check requests and answers."""
    return install(HERE, [".bin/prism", "jsdom", "@supabase/auth-js", "openid-client"])
