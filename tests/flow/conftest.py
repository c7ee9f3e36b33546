"""Flow tests: real daemons, real PostgreSQL and Redis. See groundwork/fixtures.py."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from groundwork.fixtures import *  # noqa: E402,F403


# The files that take longest, longest first: several processes take files in this order, so that they end at about the same time.
# `scripts/test flow` prints the durations at its end.
LONGEST = """tours push_dispatcher provider script_sandbox webhooks_settle push_npm daemon search_hostile mail_flows mail_servers auth
    runner_data search variants tenant_domains killed runner_outbound store_notifications workflow_rights live subscription_life
    matrix sign_in_limits conditional workflow_guards payments_idempotency mail_queue subscriptions payments views sql_input
    runner_core payments_order payment_plan_sync variants_camera attack_work search_indexer users processor_model tools verdict
    statements""".split()


def sort_key(item):
    """Sort key: the test of the contract check, which summarizes the others, runs last."""
    name = item.path.stem.removeprefix("test_")
    return name == "contract", LONGEST.index(name) if name in LONGEST else len(LONGEST)


def pytest_collection_modifyitems(items):
    items.sort(key=sort_key)


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
