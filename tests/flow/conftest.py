"""Flow tests: real daemons, real PostgreSQL and Redis. See groundwork/fixtures.py."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from groundwork.fixtures import *  # noqa: E402,F403


# The files that take longest, longest first: several processes take files in this order, so that they end at about the same time.
# `scripts/test flow` prints the durations at its end.
LONGEST = """bucket tenants search_hostile provider webhooks_settle push_dispatcher search chaos_workflows auth payment_plan_sync runner_crash
    workflow_rights webhooks_faults search_indexer subscriptions_killed payments_idempotency payments_faults subscriptions payments_killed
    push_killed faults chaos_clocks payments tools fields workflows push_hostile load workflow_triggers search_spread""".split()


def turn(item):
    """Sort key: the test of the contract check, which summarizes the others, runs last."""
    name = item.path.stem.removeprefix("test_")
    return name == "contract", LONGEST.index(name) if name in LONGEST else len(LONGEST)


def pytest_collection_modifyitems(items):
    items.sort(key=turn)


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
