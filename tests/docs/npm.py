"""Installs npm packages, and runs programs in the folder of this file or in one of its folders."""
import fcntl
import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
VALIDATORS = HERE / "validators"


def run(*command, folder=HERE):
    quiet = {**os.environ, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    done = subprocess.run(command, cwd=folder, env=quiet, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-8000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def install(folder, names, for_old_node=()):
    """Installs the packages of package.json, of which `names` are some. The first of several processes installs them.
    `for_old_node`: the latest releases that run on the node of Debian 12. Returns the folder of their programs."""
    with open(folder / "package.json", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not all((folder / "node_modules" / name).exists() for name in names):
            version = tuple(map(int, run("node", "-p", "process.versions.node").split(".")))
            if subprocess.run(["npm", "ping"], cwd=folder, capture_output=True).returncode:
                pytest.skip("the registry of npm packages is out of reach")
            run("npm", "install", "--no-audit", "--no-fund", "--no-save", *(for_old_node if version < (20, 19) else []), folder=folder)
    return folder / "node_modules/.bin"
