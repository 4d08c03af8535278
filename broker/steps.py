"""Work over any number of queues is done in steps, so that nobody else has to wait for it."""

from typing import Final

from trimq.base.step_queue import Steps

__all__ = ["QUEUES_PER_STEP", "Steps"]

# Each of them takes up to 20 us.
QUEUES_PER_STEP: Final = 64
