"""Which tests of all folders run: those of full size are left to `make check-load`, unless one is named."""
import os


def pytest_collection_modifyitems(config, items):
    if os.environ.get("ATTACK_FULL") or any("::" in argument for argument in config.args):
        return
    left = [item for item in items if item.get_closest_marker("full")]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
