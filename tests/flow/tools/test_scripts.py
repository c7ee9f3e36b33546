"""The guarantees of scripts/lib.sh for the scripts that source it."""
import os
import re
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from groundwork.servers import ROOT

# Prints its settings in two pieces: a reader that leaves after the first piece would kill it with SIGPIPE.
DAEMON = """#!/bin/sh
echo "GROUNDWORK_PORT=8080"; echo "GROUNDWORK_{0}_URL (optional)"
sleep 0.2
echo "GROUNDWORK_{0}_URL_MS=5"; echo "GROUNDWORK_MASTER_KEY (required)"
"""


@pytest.fixture
def lib(tmp_path):
    """Calls functions of scripts/lib.sh in a tree with two daemons."""
    (tmp_path / "build/release/bin").mkdir(parents=True)
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/lib.sh", tmp_path / "scripts")
    for name in ("mailer", "payer"):
        (tmp_path / "services" / name).mkdir(parents=True)
        (tmp_path / "services" / name / "main.c").touch()
        (tmp_path / "build/release/bin" / name).write_text(DAEMON.format(name.upper()))
        (tmp_path / "build/release/bin" / name).chmod(0o755)

    def call(commands, **environment):
        done = subprocess.run(["bash", "-c", f". {tmp_path}/scripts/lib.sh\n{commands}"], capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"], **environment})
        return done.returncode, done.stdout + done.stderr

    return call


def test_a_daemon_gets_no_variable_of_another_one(lib):
    """A regression test: a variable of another daemon was passed on three times in twelve."""
    given = {"GROUNDWORK_PAYER_URL": "p", "GROUNDWORK_PAYER_URL_FILE": "f", "GROUNDWORK_MAILER_URL": "m", "GROUNDWORK_PORT": "1",
             "GROUNDWORK_MASTER_KEY_FILE": "k", "GROUNDWORK_TYPO": "t", "GROUNDWORK_PAYER": "prefix"}
    kept = """read_help; unset_foreign_settings mailer; compgen -e GROUNDWORK_ | sort"""
    status, said = lib(kept, **given)
    assert status == 0 and said.split() == ["GROUNDWORK_MAILER_URL", "GROUNDWORK_MASTER_KEY_FILE", "GROUNDWORK_PAYER",
                                            "GROUNDWORK_PORT", "GROUNDWORK_TYPO"]


def test_a_tool_that_is_missing_is_named(lib):
    status, said = lib("pg_tool no-such-tool; echo it went on")
    assert status == 1 and "no-such-tool is not installed; run scripts/setup" in said and "went on" not in said


LISTEN = """
lock_ports >/dev/null
port=$(choose_port WANTED 47000 "")
python3 -c 'import socket, sys, time; s = socket.create_server(("127.0.0.1", int(sys.argv[1]))); print(sys.argv[1], flush=True); time.sleep(600)' \\
    "$port" >"$1" 2>/dev/null 9>&- &
until [ -s "$1" ] || ! kill -0 $! 2>/dev/null; do sleep 0.05; done
unlock_ports
[ -s "$1" ] && echo "$!"
"""


def test_starts_at_once_choose_different_ports(lib, tmp_path):
    """Each listens on the port that it has chosen."""
    def start(number):
        return lib(f"set -- {tmp_path}/{number}" + LISTEN, TMPDIR=str(tmp_path))

    with ThreadPoolExecutor(6) as pool:
        started = list(pool.map(start, range(6)))
    for _, said in started:
        if said.strip().isdigit():
            os.kill(int(said), signal.SIGKILL)
    assert [status for status, _ in started] == [0] * 6, started
    assert len({(tmp_path / str(number)).read_text() for number in range(6)}) == 6


def test_no_script_pipes_into_a_reader_that_leaves_early():
    """Under pipefail a writer that is killed by the closed pipe turns a match into a failure."""
    early = re.compile(r"\|\s*\\?\n?\s*(grep -\w*[qm]|head\b|sed [^|\n]*\bq['\"; ]|awk [^|\n]*\bexit\b|read\b)")
    for path in [*(ROOT / "scripts").iterdir(), ROOT / ".ci/run", ROOT / "deploy/healthcheck"]:
        text = path.read_text() if path.is_file() else ""
        if re.match(r"#!.*\bbash\b", text) or path.name == "lib.sh":
            found = early.search(text)
            assert not found, f"{path}: {found[0]}"
