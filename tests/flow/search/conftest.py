"""Fixtures of the search index."""
from groundwork.search import *  # noqa: F401,F403
