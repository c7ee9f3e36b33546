"""Fixtures of the tests of documents."""
import fcntl
import subprocess

import pytest
from npm import HERE, run

# The latest releases that run on the node of Debian 12.
FOR_OLD_NODE = ["@redocly/cli@1.34.5", "@apidevtools/swagger-parser@12.1.0"]


@pytest.fixture(scope="session")
def tools():
    """The npm packages. The first of several processes installs them in the folder of this file."""
    with open(HERE / "package.json", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        install()
    return HERE / "node_modules/.bin"


def install():
    if not all((HERE / "node_modules" / name).exists() for name in (".bin/redocly", ".bin/prism", "jsdom", "@supabase/auth-js", "openid-client")):
        version = tuple(map(int, run("node", "-p", "process.versions.node").split(".")))
        if subprocess.run(["npm", "ping"], cwd=HERE, capture_output=True).returncode:
            pytest.skip("the registry of npm packages is out of reach")
        run("npm", "install", "--no-audit", "--no-fund", "--no-save", *(FOR_OLD_NODE if version < (20, 19) else []))
