"""With a seed, what a server draws is the same in each run."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
import trio

from tests.requests import topic_header
from tests.trimq.hand.moving import Moving, moving
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.send import ConsumerSendMsgBackRequestHeader
from trimq.hand.hand import Hand
from trimq.hand.operation import Nothing
from trimq.hand.process import LEFT, _become, hand_of_process
from trimq.hand.seeding import Seed

COUNT = 24


async def _retries(it: Moving, seed: int) -> list[list[str]]:
    """In which queues of the group's retry topic the messages of a run lie, and in which order."""
    group = f"G{seed}"
    config = SubscriptionGroupConfig(group_name=group, retry_queue_nums=8)
    await it.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, encode_body(config))
    await it.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_header("Drawn", 1))
    await it.hand.time.freeze(Nothing())
    await it.hand.operations["server/seed"].do(Seed(seed=seed))
    store = it.hand.context.store
    for number in range(COUNT):
        offset = await it.send("Drawn", str(number))
        entry = store.queue_entry("Drawn", 0, offset)
        assert entry is not None
        header = ConsumerSendMsgBackRequestHeader(
            offset=entry.physical_offset, group=group, delay_level=3, origin_topic="Drawn"
        )
        answer = await it.ask(RequestCode.CONSUMER_SEND_MSG_BACK, header)
        assert answer.code == ResponseCode.SUCCESS, answer.remark
    await it.advance("10s")
    found = [it.stored(f"%RETRY%{group}", queue) for queue in range(8)]
    return [[record.body.decode() for record in queue] for queue in found]


async def test_the_same_seed_is_the_same_run(tmp_path: Path) -> None:
    runs = []
    for number, seed in enumerate((1, 1, 2)):
        async with moving(tmp_path / str(number)) as it:
            runs.append(await _retries(it, seed))
    one, again, other = runs
    assert one == again
    assert one != other
    assert sum(map(len, one)) == COUNT


async def test_a_server_that_starts_again_draws_from_its_seed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it is given by the process before it."""
    monkeypatch.setattr("os.execv", lambda *_: None)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    # It is as before when the test has ended.
    monkeypatch.setenv(LEFT, "")
    hand = Hand()
    await hand.operations["server/seed"].do(Seed(seed=7))
    first = random.random()
    _become(["another"], hand)
    random.seed(8)
    again = hand_of_process()
    assert random.random() == first
    assert again.seeding.given == 7
    assert LEFT not in os.environ


@pytest.fixture(autouse=True)
def _chance_as_before() -> object:
    before, tasks = random.getstate(), trio._core._run._r.getstate()
    yield
    random.setstate(before)
    trio._core._run._r.setstate(tasks)
