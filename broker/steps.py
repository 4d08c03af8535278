"""Work over any number of queues is done in steps, so that nobody else has to wait for it."""

from collections.abc import Generator
from typing import Final, TypeVar

QUEUES_PER_STEP: Final = 256
# Of stored messages that a service copies, with one write: one message at least, be it larger.
BYTES_PER_STEP: Final = 256 * 1024

T = TypeVar("T")

# Yields after every QUEUES_PER_STEP queues; returns what it found.
Steps = Generator[None, None, T]
