"""A stateful stand-in for the payment processor. See README.md."""
from .processor import Processor  # noqa: F401
