"""A stateful simulation of the payment processor. See README.md."""
from .processor import Processor  # noqa: F401
