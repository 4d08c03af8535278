"""Commit-log files that go before the time of the messages in them: each loss is logged and counted."""

import logging
from typing import Any

import pytest
import trio

from tests.broker.timers.timing import Timing
from trimq.broker.services.housekeeping import clean_log, trim_queues

FILE = 16 * 1024


@pytest.fixture
async def full(tmp_path: Any, nursery: trio.Nursery, no_threads: None) -> Any:
    """A disk that is nearly full."""
    timing = Timing(tmp_path / "full", nursery, file=FILE, mapped_file_size_consume_queue=200)
    timing.disk_use = 0.1
    await timing.start()
    yield timing
    timing.kill()


def log_files(timing: Timing) -> list[str]:
    return sorted(path.name for path in (timing.root / "timerlog").iterdir())


async def clean(timing: Timing) -> None:
    """Deletes as many files as a round does, whatever their age."""
    timing.store.flush()
    timing.disk_use = 0.88
    await clean_log(timing.store.cleaning, 0, timing.timers.look_at)
    await trim_queues(timing.store.trimming, 0)
    timing.disk_use = 0.1


async def test_each_lost_message_is_logged_by_topic_and_key(
    autojump_clock: Any, full: Timing, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(30):
        full.send("x" * 900, 500, topic="Kept" if number % 2 else "Other")
    full.send("out", 1)
    full.recall("U1", 499)
    await full.until(4)
    for _ in range(110):
        full.send("y" * 900, 600)
    await full.until(6)
    begin = full.store.min_physical_offset
    with caplog.at_level(logging.WARNING):
        await clean(full)
    gone = full.store.min_physical_offset - begin
    assert gone >= 2 * FILE
    lost = full.timers.lost
    lines = [one for one in caplog.text.splitlines() if "deleted before its time" in one]
    assert len(lines) == lost > 20
    assert "topic=Other key=U1 due=" in caplog.text
    assert "timer messages deleted before their time: topic=Kept count=" in caplog.text
    # What was delivered is not lost.
    assert "topic=T key=U31" not in caplog.text
    # The log of the timer follows; the rest is delivered.
    assert log_files(full)[0] != f"{0:020d}"
    await full.until(700)
    assert len(full.delivered) + lost == 141
    assert full.timers.waiting() == 0


async def test_a_file_without_waiting_messages_is_no_loss(
    autojump_clock: Any, full: Timing, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(60):
        full.send("x" * 900, 1)
    await full.until(5)
    assert len(full.delivered) == 60
    full.send("x", 100)
    await clean(full)
    assert full.timers.lost == 0
    assert "before" not in caplog.text
