"""Who is woken by what."""

from typing import Any

import pytest
import trio

from trimq.base.waits import Waited
from trimq.broker.config import BrokerConfig
from trimq.broker.pop.reading.long_polling import PopLongPolling
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message

ALL = ("T", "G", -1)


class Bench:
    """Waits by name, and how they ended."""

    def __init__(self, nursery: trio.Nursery, waits: PopLongPolling) -> None:
        self.nursery = nursery
        self.waits = waits
        self.ended: dict[str, Waited] = {}

    async def begin(self, name: str, key: Any, seconds: float = 10, **more: Any) -> Any:
        scope = trio.CancelScope()

        async def wait() -> None:
            with scope:
                self.ended[name] = await self.waits.wait(key, seconds, **more)

        self.nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        return scope


@pytest.fixture
async def bench(nursery: Any) -> Bench:
    """Tests that use it name `autojump_clock`: pytest-trio looks at their arguments only."""
    return Bench(nursery, PopLongPolling(BrokerConfig()))


async def test_time_is_up(bench: Bench, autojump_clock: Any) -> None:
    begin = trio.current_time()
    assert await bench.waits.wait(ALL, 3) is Waited.TIME_OUT
    assert trio.current_time() - begin == pytest.approx(3, abs=0.5)
    assert bench.waits.waiting == 0


async def test_who_has_the_least_time_is_woken_first(bench: Bench, autojump_clock: Any) -> None:
    await bench.begin("long", ALL, 20)
    await bench.begin("short", ALL, 10)
    assert len(bench.waits.at(*ALL)) == 2
    assert bench.waits.wake_first(*ALL)
    await trio.testing.wait_all_tasks_blocked()
    assert bench.ended == {"short": Waited.WOKEN}
    assert bench.waits.wake_first(*ALL)
    assert not bench.waits.wake_first(*ALL)


async def test_notifications_are_woken_the_other_way(nursery: Any, autojump_clock: Any) -> None:
    bench = Bench(nursery, PopLongPolling(BrokerConfig(), latest_first=True))
    await bench.begin("long", ALL, 20)
    await bench.begin("short", ALL, 10)
    bench.waits.wake_first(*ALL)
    await trio.testing.wait_all_tasks_blocked()
    assert bench.ended == {"long": Waited.WOKEN}
    bench.waits.wake_first(*ALL)


async def test_a_client_that_leaves_passes_its_wake_on(bench: Bench, autojump_clock: Any) -> None:
    first = await bench.begin("first", ALL, 10)
    await bench.begin("second", ALL, 20)
    first.cancel()
    assert bench.waits.wake_first(*ALL)
    await trio.testing.wait_all_tasks_blocked()
    assert bench.ended == {"second": Waited.WOKEN}


async def test_only_so_many_wait(nursery: Any, autojump_clock: Any) -> None:
    bench = Bench(nursery, PopLongPolling(BrokerConfig(max_pop_polling_size=1)))
    await bench.begin("first", ALL, 10)
    assert await bench.waits.wait(("T", "Other", -1), 10) is Waited.FULL
    assert len(bench.waits.at("T", "Other", -1)) == 0
    bench.waits.wake_first(*ALL)
    await trio.testing.wait_all_tasks_blocked()
    assert await bench.waits.wait(("T", "Other", -1), 1) is Waited.TIME_OUT


async def test_an_arrival_wakes_one_of_its_queue_and_one_of_all(
    bench: Bench, tmp_path: Any, make_store: Any
) -> None:
    store: MessageStore = make_store()
    store.add_listener(bench.waits.arrived)
    for name, queue in {"all": -1, "all too": -1, "own": 1, "other": 2}.items():
        await bench.begin(name, ("T", "G", queue))
    await bench.begin("other tag", ("T", "G2", 1), codes=frozenset({66}))
    store.put(Message("T", 1, b"x", b"TAGS\x01A\x02"))
    await trio.testing.wait_all_tasks_blocked()
    assert set(bench.ended) == {"all", "own"}
    store.put(Message("%RETRY%G_T", 2, b"x", b"ORIGIN_GROUP\x01G\x02"))
    await trio.testing.wait_all_tasks_blocked()
    assert set(bench.ended) == {"all", "own", "all too", "other"}
    store.put(Message("T", 1, b"x", b"TAGS\x01B\x02"))
    await trio.testing.wait_all_tasks_blocked()
    assert "other tag" in bench.ended
