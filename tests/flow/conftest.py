"""Flow tests: real daemons, real PostgreSQL and Redis. See groundwork/fixtures.py."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from groundwork.fixtures import *  # noqa: E402,F403


def pytest_collection_modifyitems(config, items):
    """What sums up the others runs last. Tests of full size are left to `make check-load`, unless one is named."""
    items.sort(key=lambda item: item.path.name == "test_contract.py")
    if os.environ.get("ATTACK_FULL") or any("::" in argument for argument in config.args):
        return
    left = [item for item in items if item.get_closest_marker("full")]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
