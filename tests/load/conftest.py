"""Load tests use the servers and projects of the flow tests' fixtures."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "flow"))

from groundwork.fixtures import *  # noqa: E402,F403
