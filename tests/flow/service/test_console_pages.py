"""The console in Chromium, served by a gateway: the short end-to-end tests (`make check-console` runs all of them)."""
import fcntl
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
CONSOLE = ROOT / "services/console"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
WAIT_MS = "120000"  # other tests run on the same processors


@pytest.fixture(scope="module")
def files():
    """The folder with the built console."""
    if not CHROMIUM:
        pytest.skip("chromium is not installed")
    with open(CONSOLE / "package-lock.json", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run([ROOT / "scripts/console"], capture_output=True, text=True)
    if done.returncode and any(text in done.stderr for text in ("npm error", "could not be fetched")):
        pytest.skip(f"the packages cannot be fetched: {done.stderr[-500:]}")
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "build/console"


def test_pages_in_chromium(start_gateway, servers, files):
    gateway = start_gateway("console", CONSOLE=str(files))
    environment = {**os.environ, "GATEWAY_URL": gateway.url, "CONSOLE_URL": gateway.url, "OPERATOR_TOKEN": servers.operator_token,
                   "CHROMIUM": CHROMIUM, "WAIT_MS": WAIT_MS}
    done = subprocess.run([ROOT / "scripts/node", "npm", "run", "--silent", "test:e2e", "quick"], cwd=CONSOLE, env=environment,
                          capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, f"{done.stdout[-12000:]}\n{done.stderr[-2000:]}"
