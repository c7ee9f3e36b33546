"""The tools around the tests: a tool leaves no process and no file, however it ends; its groups of scripts/setup contain the
packages that it imports."""
import ast
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import pytest

from groundwork.deadline import until
from groundwork.fixtures import gateway_binary
from groundwork.servers import ROOT

TOOL = """
import sys
sys.path[:0] = ["tests", "tests/flow"]
import kept
kept.watch_and_clean()
import os, tempfile, time
from groundwork.daemon import Daemon
from groundwork.servers import Servers
servers = Servers()
servers.start()
daemon = Daemon(sys.argv[1], servers.folder / "log", DATABASE_URL=servers.database_url, REDIS_URL=servers.redis_url,
                MASTER_KEY="00" * 32, OPERATOR_TOKEN="o" * 20)
assert daemon.run("--migrate").returncode == 0
daemon.start()
print("up", os.getpid(), os.getppid(), flush=True)
if sys.argv[2] == "fails":
    raise RuntimeError
if sys.argv[2] == "exits":
    os._exit(7)
time.sleep(600)
"""


def spawn(command, folder, **environment):
    """Starts the command with its own folder for temporary files. The parents that clean up after this test run
    (tests/kept.py) do not watch the command."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("GW_KEPT", "PYTEST_"))}
    return subprocess.Popen(command, cwd=ROOT, env={**own, "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **environment},
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)


def processes(folder):
    """Processes that refer to the folder, by environment, arguments or working directory. (PostgreSQL overwrites the first
    two.)"""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            said = (path / "environ").read_bytes() + (path / "cmdline").read_bytes()
            if str(folder).encode() in said or os.readlink(path / "cwd").startswith(str(folder)):
                found[int(path.name)] = (path / "comm").read_text().strip()
        except OSError:
            pass
    return found


def assert_gone(folder):
    until(lambda: not processes(folder), "no process is left")
    left = [path.name for path in folder.iterdir()]
    assert not left, left


@pytest.fixture
def tool_folder(tmp_path):
    tmp_path.chmod(0o711)
    return tmp_path


@pytest.mark.parametrize("what, whom", [
    ("TERM", "first"), ("INT", "first"), ("HUP", "first"), ("KILL", "first"), ("KILL", "second"), ("KILL", "tool"),
    ("TERM", "tool"), ("fails", ""), ("exits", "")])
def test_whatever_ends_a_tool(tool_folder, what, whom):
    process = spawn(["/usr/bin/python3", "-c", TOOL, str(gateway_binary()), what], tool_folder)
    try:
        said = next(line for line in process.stdout if line.startswith("up ")).split()
        names = processes(tool_folder).values()
        if what not in ("fails", "exits"):
            assert {"postgres", "redis-server", "api-gateway"} <= set(names), names
        pids = {"tool": int(said[1]), "second": int(said[2]), "first": process.pid}
        if whom:
            os.kill(pids[whom], getattr(signal, f"SIG{what}"))
        status = process.wait(120)
    finally:
        process.stdout.close()
    assert_gone(tool_folder)
    assert status != 0 and (what != "exits" or status == 7)


TOOLS = {
    "chaos": ["tests/chaos/run", "--seconds", "300", "--binaries", str(gateway_binary().parent)],
    "bench": ["tests/bench/run", "--quick", "--only", "get"],
    "test": ["scripts/test", "flow", "--", "tests/flow/workflows/test_chaos_clocks.py", "tests/flow/model/test_enums.py"],
    "sql": ["scripts/check-sql"],
}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_is_stopped(tool_folder, tool, number):
    """The signal arrives in the middle of the tool's work."""
    process = spawn(TOOLS[tool], tool_folder, GW_BIN=str(gateway_binary()))
    try:
        until(lambda: "postgres" in processes(tool_folder).values(), f"{tool} is at work", 30)
        if tool != "sql":
            until(lambda: "api-gateway" in processes(tool_folder).values(), f"{tool} is at work", 30)
        process.send_signal(number)
        process.communicate(timeout=120)
    finally:
        process.stdout.close()
    assert_gone(tool_folder)


@pytest.mark.parametrize("path", ["scripts/test", "scripts/check-sql", "scripts/fuzz", "scripts/cov", "tests/chaos/run",
                                  "tests/bench/run", "tests/fault/mutants", "tests/fault/runner-mutants"])
def test_all_tools_are_kept(path):
    assert re.search(r"kept\.watch_and_clean\(\)|exec \"\$ROOT/tests/kept.py\"", (ROOT / path).read_text())


# --- the verdict -----------------------------------------------------------------------------------


@pytest.mark.parametrize("make, verdict", [
    ("exit 2", "0 passed, 1 failed"),
    ("case $* in *release*) exit 0 ;; *) exit 2 ;; esac", "0 passed, 2 failed"),  # lint and the build for the tests fail
    ("case $* in *release* | *lint) exit 0 ;; *) exit 2 ;; esac", "1 passed, 1 failed"),
    ("kill -9 $PPID", "0 passed, 1 failed"),  # kills the process that counts
], ids=["release", "lint", "build", "crash"])
def test_ci_ends_with_its_line(make, verdict, tmp_path):
    """`make test` is the real target, in a tree that shares everything but its results; the `make` that it calls is a
    stand-in."""
    tree, bin = tmp_path / "tree", tmp_path / "bin"
    for folder in (tree / "build", tree / "scripts", bin):
        folder.mkdir(parents=True)
    for name in (".ci", "Makefile", "common", "deploy", "proto", "services", "tests"):
        (tree / name).symlink_to(ROOT / name)
    for each in (ROOT / "scripts").iterdir():
        if each.name != "__pycache__":
            shutil.copy(each, tree / "scripts")
    test = 'case " $* " in *" test "*) exec /usr/bin/make "$@" ;; esac'
    for name, body in (("make", f"{test}\n{make}"), ("dpkg-query", 'for name; do echo "$name install ok installed"; done')):
        (bin / name).write_text(f"#!/bin/sh\n{body}\n")
        (bin / name).chmod(0o755)
    bare = {"PATH": f"{bin}:{os.environ['PATH']}", **{name: os.environ[name] for name in ("TMPDIR", "GW_KEPT") if name in os.environ}}
    done = subprocess.run([tree / ".ci/run"], env=bare, stdout=subprocess.PIPE, text=True, timeout=300)
    assert done.stdout.splitlines()[-1] == verdict and done.returncode != 0


# --- helpers of the tools --------------------------------------------------------------------------

PACKAGES = {"requests": "python3-requests", "urllib3": "python3-urllib3", "psycopg2": "python3-psycopg2", "redis": "python3-redis", "jwt": "python3-jwt",
            "cryptography": "python3-cryptography", "pytest": "python3-pytest", "aiosmtpd": "python3-aiosmtpd", "PIL": "python3-pil",
            "dateutil": "python3-dateutil", "h2": "python3-h2", "hyperframe": "python3-hyperframe", "jsonschema": "python3-jsonschema"}
PROGRAMS = {"wrk": "wrk", "nginx": "nginx-light", "strace": "strace", "sqlmap": "sqlmap", "varnishtest": "varnish",
            "haproxy": "haproxy", "pgbench": "postgresql-15", "redis-cli": "redis-server"}
# Installed by the Makefile, or by the tool itself before it begins.
GROUPS = {"tests/bench/run": "build server bench", "tests/chaos/run": "build server chaos", "scripts/check-sql": "build server test",
          "scripts/test": "build server test", "tests/flow": "build server test", "tests/http": "build server test",
          "tests/docs": "build server test", "tests/load": "build server test load", "tests/flow/store/__main__.py": "build server store",
          "tests/processor/__main__.py": "build server store", "tests/push/__main__.py": "build server store",
          "tests/fault/mutants": "build server test"}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.level, node.module or "", alias.name) for alias in node.names)


def module_file(name, near):
    for base in (near, ROOT / "tests", ROOT / "tests/flow", ROOT / "tests/chaos"):
        place = base / pathlib.Path(*name.split("."))
        if place.with_suffix(".py").exists():
            return place.with_suffix(".py")
        if (place / "__init__.py").exists():
            return place / "__init__.py"
    return None


def closure(starts):
    """Returns (files, names of third-party modules)."""
    seen, foreign, todo = set(), set(), list(starts)
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        todo += [package for package in [path.parent / "__init__.py"] if package.exists()]
        for level, name, member in imported(path):
            near = path.parents[max(0, level - 1)]
            ours = [file for file in (module_file(full, near) for full in (name, f"{name}.{member}".strip(".")) if full) if file]
            todo += ours
            top = name.split(".")[0]
            if not ours and not level and top not in sys.stdlib_module_names:
                foreign.add(top)
    return seen, foreign


@pytest.mark.parametrize("tool", GROUPS)
def test_a_tool_installs_what_it_needs(tool):
    place = ROOT / tool
    files, foreign = closure([*place.glob("*.py"), *place.glob("*/test_*.py")] if place.is_dir() else [place])
    listed = subprocess.run([ROOT / "scripts/setup", "--list", *GROUPS[tool].split()], capture_output=True, text=True, check=True)
    there = set(listed.stdout.split())
    assert foreign <= set(PACKAGES), "name its package above, and in scripts/setup"
    lacks = {PACKAGES[name] for name in foreign} - there
    own = [path.read_text() for path in files if "flow" not in path.parts or tool == "tests/flow"]
    for program, package in PROGRAMS.items():
        if any(re.search(rf"\[\*?\"{program}\"|which\(\"{program}\"\)|pg_tool {program}", text) for text in own):
            lacks |= {package} - there
    assert not lacks, lacks


def test_the_makefile_installs_these_groups():
    text = (ROOT / "Makefile").read_text()
    for name, groups in (("bench", "build server bench"), ("chaos", "build server chaos"), ("test", "build server test")):
        assert re.search(rf"^{name}: .*\n\t@scripts/setup {groups}( |$)", text, re.M), name
