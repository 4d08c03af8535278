"""An effect that failed once: what it decides is known a second later, without a restart."""

from pathlib import Path
from typing import Any

import trio

from tests.broker.elastic.conftest import TOPIC, ElasticBroker
from tests.broker.transactions.conftest import COMMIT, Transacting
from trimq.codec.names import ELASTIC_MAP_TOPIC, TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Dispatched, Message
from trimq.wiring.part import Parts


def fail_once(store: MessageStore, topic: str) -> None:
    """The topic's next record has no effect when it is written."""
    effect = store._queues._effects[topic]

    def act(record: Dispatched, message: Message) -> None:
        store.give_effect(topic, effect)
        raise MemoryError("once")

    store.give_effect(topic, act)


async def redo(parts: Parts) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(parts.services["make anew what failed"])
        await trio.sleep(1.5)
        nursery.cancel_scope.cancel()


async def test_a_half_message_and_its_op(autojump_clock: Any, tmp_path: Path) -> None:
    trans = Transacting(tmp_path / "store")
    fail_once(trans.store, TRANS_HALF_TOPIC)
    half = trans.half("U1")
    assert len(trans.pending) == 0
    await redo(trans.parts)
    assert len(trans.pending) == 1
    fail_once(trans.store, TRANS_OP_HALF_TOPIC)
    assert trans.end(half, COMMIT) == 0
    assert len(trans.pending) == 1
    await redo(trans.parts)
    assert len(trans.pending) == 0
    assert trans.delivered == [b"hello"]
    trans.stop()


async def test_a_change_of_an_elastic_topic(autojump_clock: Any, tmp_path: Path) -> None:
    elastic = ElasticBroker(tmp_path / "store")
    elastic.create()
    fail_once(elastic.store, ELASTIC_MAP_TOPIC)
    elastic.move(p0=1)
    assert elastic.maps.place(TOPIC, 0) == 0
    await redo(elastic.broker.parts)
    assert elastic.maps.place(TOPIC, 0) == 1
    elastic.kill()


async def test_every_effect_has_an_owner_that_makes_it_anew(tmp_path: Path) -> None:
    """Timers read from their queue what is not on the wheel."""
    trans = Transacting(tmp_path / "store")
    decided = {topic for part in trans.parts for topic in part.decides}
    assert decided | {"rmq_sys_wheel_timer"} == set(trans.store._queues._effects)
    assert all(part.recover is not None for part in trans.parts if part.decides)
    trans.stop()
