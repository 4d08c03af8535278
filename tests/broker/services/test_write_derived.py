"""When consume queues are written: every second, or for a checkpoint only where there are thousands."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from trimq.broker.services.background import write_derived
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message

FEW, MANY = 3, 1100
EVERY_SECOND, CHECKPOINT = 1.5, 6.5


@pytest.fixture
def store(memory_path: Path) -> Iterator[MessageStore]:
    config = StoreConfig(root=memory_path, mapped_file_size_consume_queue=20 * 20)
    made = MessageStore(config, lambda: 1_700_000_000_000)
    made.open()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Virtual time runs on while a thread works."""

    async def run(act: Any, *arguments: Any) -> Any:
        await trio.lowlevel.checkpoint()
        return act(*arguments)

    monkeypatch.setattr(trio.to_thread, "run_sync", run)


def written(root: Path, topic: str = "T") -> int:
    """Queues that have a file."""
    return sum(1 for _ in root.glob(f"consumequeue/{topic}/*/0*"))


@pytest.mark.parametrize(("queues", "at_first"), [(FEW, FEW), (MANY, 0)])
async def test_many_queues_are_written_for_a_checkpoint(
    store: MessageStore,
    memory_path: Path,
    queues: int,
    at_first: int,
    autojump_clock: trio.testing.MockClock,
) -> None:
    for number in range(queues):
        store.put(Message("T", number, b"body"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(write_derived, store, StoreConfig(root=memory_path))
        await trio.sleep(EVERY_SECOND)
        assert written(memory_path) == at_first
        assert [store.max_offset("T", number) for number in range(queues)] == [1] * queues
        await trio.sleep(CHECKPOINT - EVERY_SECOND)
        assert written(memory_path) == queues
        # With few left, as usual again.
        store.put(Message("Other", 0, b"body"))
        await trio.sleep(EVERY_SECOND)
        assert written(memory_path, "Other") == 1
        nursery.cancel_scope.cancel()


async def test_a_checkpoint_that_takes_long_is_rarer(
    store: MessageStore,
    memory_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A tenth of the time is for them; after 20 seconds the next one comes all the same."""
    took, began = 0.0, []

    async def run(act: Any) -> None:
        began.append(trio.current_time())
        await trio.sleep(took)
        act()

    monkeypatch.setattr(trio.to_thread, "run_sync", run)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(write_derived, store, StoreConfig(root=memory_path))
        for took, pause in ((0.0, 5), (1.0, 10), (5.0, 25)):
            await trio.sleep(120)
            apart = began[-1] - began[-2]
            assert pause <= apart <= pause + 2, (took, apart)
        nursery.cancel_scope.cancel()


async def test_late_checkpoints_leave_the_disk_half_of_the_time(
    store: MessageStore, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """Somebody is behind the bound all the time, since so much comes."""
    began = []

    async def run(act: Any) -> None:
        began.append(trio.current_time())
        await trio.sleep(1)
        act()

    monkeypatch.setattr(trio.to_thread, "run_sync", run)
    config = StoreConfig(root=store._config.root)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(write_derived, store, config)
        for _ in range(1000):
            store.put(Message("T", 0, b"body"))
            store.derived_points._of_queues.hurry()
            await trio.sleep(0.1)
        nursery.cancel_scope.cancel()
    # Each writes queues, then a checkpoint: a second each.
    assert 20 <= len(began) // 2 <= 30


async def test_much_in_many_queues_is_not_waited_for(
    memory_path: Path,
    autojump_clock: trio.testing.MockClock,
) -> None:
    """What a start has to scan after a crash is bounded by bytes, too."""
    config = StoreConfig(
        root=memory_path, mapped_file_size_consume_queue=20 * 20, recovery_bytes=100_000
    )
    store = MessageStore(config, lambda: 1_700_000_000_000)
    store.open()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(write_derived, store, config)
        await trio.sleep(EVERY_SECOND)
        for number in range(MANY):
            store.put(Message("T", number, bytes(100)))
        await trio.sleep(1)
        assert written(memory_path) == MANY
        nursery.cancel_scope.cancel()
    store.close()
