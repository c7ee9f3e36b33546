"""Flow tests: real daemons, real PostgreSQL and Redis. See groundwork/fixtures.py."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from groundwork.fixtures import *  # noqa: E402,F403
