"""Selects the tests to run in all folders, unless the command names a single test. Tests marked `full` run only in
`make check-load`, tests of long.txt only in `make check-long`."""
import os
import pathlib

import pytest

HERE = pathlib.Path(__file__).parent


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


def is_left(item, table):
    if item.get_closest_marker("full"):
        return not os.environ.get("ATTACK_FULL")
    return table.has(item) and not os.environ.get("TESTS_LONG")


def pytest_collection_modifyitems(config, items):
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
