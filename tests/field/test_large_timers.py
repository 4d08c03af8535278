"""Timers near the size limit (apache/rocketmq 9654, 7641).

RocketMQ 5.5.0 copies a waiting message through a buffer of 100 bytes more than maxMessageSize. Properties come on
top of that, so that one large message, which it had accepted, ends the delivery of all. Right, as in 5.5.1, with room
for all that properties may take: what is accepted comes.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.broker.timers.timing import Timing
from trimq.store.errors import MessageTooLarge

LIMIT = 100_000
# LONGEST_PROPERTIES, but for what a timer's own take.
PROPERTIES = 32_000


@pytest.fixture
async def timing(tmp_path: Path, nursery: trio.Nursery, no_threads: None) -> AsyncIterator[Timing]:
    made = Timing(tmp_path / "store", nursery, max_message_size=LIMIT)
    await made.start()
    yield made
    made.kill()


@pytest.mark.parametrize("less", [0, 1, 100])
async def test_the_largest_message_comes_and_so_do_the_others(
    autojump_clock: Any, timing: Timing, less: int
) -> None:
    timing.send("before", 3)
    timing.send("x" * (LIMIT - less), 3, text="p" * PROPERTIES)
    timing.send("behind", 3)
    with pytest.raises(MessageTooLarge):
        timing.send("x" * (LIMIT + 1), 3)
    await timing.until(6)
    assert [len(body) for body in timing.bodies] == [6, LIMIT - less, 6]
    assert timing.delivered[1].properties["text"] == "p" * PROPERTIES
    assert timing.timers.waiting() == 0
