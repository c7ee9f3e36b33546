"""Fixtures of push notifications."""
from groundwork.push import *  # noqa: F401,F403
