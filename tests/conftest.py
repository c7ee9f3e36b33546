"""Common to the tests of all folders: the fixtures (flow/groundwork/fixtures.py), the tests to run, their order, and a line for each
failure. Unless the command names a single test, tests marked `full` run only in `make check-load`, and tests of long.txt only in
`make check-long`."""
import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE / "flow"))

from groundwork.fixtures import *  # noqa: E402,F403


class LongTests:
    """The table in long.txt. Each name must be the name of an existing test, if the test's file is among the collected files."""

    def __init__(self):
        self.files = {}  # {file: the tests that stay in `make test`}
        self.tests = {}  # {file: the tests that are long}
        named = None
        for line in (HERE / "long.txt").read_text().splitlines():
            if line.startswith("    "):
                named.add(line.strip())
            elif not line.startswith("#"):
                named = (self.files if line.endswith(" keeps") else self.tests).setdefault(line.removesuffix(" keeps"), set())

    def has(self, item):
        file, names = str(item.path.relative_to(HERE)), {item.name, item.originalname}
        if file in self.files:
            return not names & self.files[file]
        return bool(names & self.tests.get(file, set()))

    def check(self, items):
        there = {}
        for item in items:
            there.setdefault(str(item.path.relative_to(HERE)), set()).update([item.name, item.originalname])
        for file, names in [*self.files.items(), *self.tests.items()]:
            unknown = names - there.get(file, names)
            if unknown:
                raise pytest.UsageError(f"tests/long.txt: {file} has no test {', '.join(sorted(unknown))}")


# The files that take longest, longest first: several processes take files in this order, so that they end at about the same time.
# `scripts/test` prints the durations at its end.
LONGEST = """tours console_pages client_types provider documents matrix auth search script_sandbox fuzz mail_flows runner_core tenant_domains store_notifications payments
    conditional runner_outbound variants workflow_rights live workflows users attack_work push_dispatcher fields runner_data
    processor_model daemon subscriptions workflow_triggers views payments_idempotency layers verdict""".split()


def sort_key(item):
    """Sort key: the test of the contract check, which summarizes the others, runs last."""
    name = item.path.stem.removeprefix("test_")
    return name == "contract", LONGEST.index(name) if name in LONGEST else len(LONGEST)


def is_left(item, table):
    if item.get_closest_marker("full"):
        return not os.environ.get("ATTACK_FULL")
    return table.has(item) and not os.environ.get("TESTS_LONG")


def pytest_collection_modifyitems(config, items):
    items.sort(key=sort_key)
    if any("::" in argument for argument in config.args):
        return
    table = LongTests()
    if "GW_STORE" not in os.environ:  # another store has other parameters
        table.check(items)
    only = os.environ.get("TESTS_LONG") == "only"
    left = [item for item in items if is_left(item, table) or (only and not table.has(item))]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in set(left)]


class Failures:
    """Prints each failure when it occurs: pytest names the failed tests only at the end, half an hour later."""

    def __init__(self, terminal):
        self.terminal = terminal

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.terminal.write_line("")
            self.terminal.write_line(f"failed ({report.when}, {report.duration:.0f} s): {report.nodeid}")


def pytest_sessionstart(session):
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and "PYTEST_XDIST_WORKER" not in os.environ:
        session.config.pluginmanager.register(Failures(terminal))
