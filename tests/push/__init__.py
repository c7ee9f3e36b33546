"""Simulations of Firebase Cloud Messaging and of a web push service. See README.md."""
from .fcm import Fcm  # noqa: F401
from .webpush import PushService  # noqa: F401
