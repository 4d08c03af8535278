"""Filters and their maps in one directory, which the real server and TriMQ open in turn.

consumerFilter.json, the units of consume-queue extensions with their bit maps, and what pulls make of them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from compat_tests.servers.containers import launcher
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.real import RealServer
from compat_tests.servers.server import Options, Server
from compat_tests.wire.asks import (
    ask,
    consumer,
    create_topic,
    heartbeat,
    properties,
    pull,
    queue_question,
    send,
)
from compat_tests.wire.cases.filtering import brief, sql
from compat_tests.wire.stage import Place, Stage
from tests.patience import until
from trimq.broker.filters.bloom import Bloom
from trimq.codec.entries.extension_unit import FIRST_ADDRESS, bit_map_with
from trimq.codec.entries.queue import parse_all
from trimq.codec.layouts.queues import QUEUE_EXT_UNIT

SETTINGS: Final = {
    "enablePropertyFilter": "true",
    "enableConsumeQueueExt": "true",
    "enableCalcFilterBitMap": "true",
}
RUN: Final = "rfilters"
EXPRESSION: Final = "n > 5"
ROUND: Final = 12
MAX_OFFSET, QUERY_QUEUE = 30, 321


class Turn:
    """One server that has the directory, as a member of the group that filters."""

    def __init__(self, server: Server) -> None:
        place = Place(server.namesrv_addr, server.broker_addr, RUN)
        self.stage = Stage(place, "filters")
        self.topic, self.group = self.stage.topic, self.stage.group

    def join(self) -> None:
        self.stage.must(heartbeat(consumer("$G", sql(EXPRESSION))))

    def send(self, first: int) -> None:
        for number in range(first, first + ROUND):
            known = properties(UNIQ_KEY=f"U{number}", n=str(number % ROUND))
            self.stage.must(send(b"%d" % number, properties=known))
        # The real broker fills its queues in the background.
        until(lambda: self.end() == first + ROUND, "the queue has all")

    def end(self) -> int:
        return int(self.stage.must(queue_question(MAX_OFFSET)).ext["offset"])

    def pull(self, offset: int = 0) -> list[str]:
        request = pull(sysFlag=0, subVersion=5, queueOffset=offset)
        return brief(self.stage.must(request).body)

    def filter(self) -> dict[str, Any]:
        fields = {"topic": "$T", "queueId": 0, "index": 0, "count": 1, "consumerGroup": "$G"}
        body = json.loads(self.stage.must(ask(QUERY_QUEUE, fields)).body)
        found: dict[str, Any] = json.loads(body["filterData"])
        return found


@contextmanager
def turn(server: RealServer | TrimqServer) -> Iterator[Turn]:
    server.start()
    try:
        one = Turn(server)
        with one.stage:
            yield one
        server.stop()
    except BaseException:
        server.kill()
        raise


def matching(*firsts: int) -> list[str]:
    return [f"{n}:{n}" for first in firsts for n in range(first + 6, first + ROUND)]


def filter_in(store: Path, topic: str, group: str) -> dict[str, Any]:
    table = json.loads((store / "config" / "consumerFilter.json").read_bytes())
    found: dict[str, Any] = table["filterDataByTopic"][topic]["groupFilterData"][group]
    return found


def maps_in(store: Path, topic: str) -> list[bytes]:
    """Of every message of the queue, in their order."""
    (queue,) = (store / "consumequeue" / topic / "0").iterdir()
    (units,) = (store / "consumequeue_ext" / topic / "0").iterdir()
    data = units.read_bytes()
    entries = [one for one in parse_all(queue.read_bytes()[: 20 * 100]) if one[1]]
    return [
        bytes(QUEUE_EXT_UNIT.parse(data[address - FIRST_ADDRESS :]).bit_map)
        for _, _, address in entries
    ]


def expected_maps(topic: str, group: str, messages: int) -> list[bytes]:
    bloom = Bloom(20, 32)
    bits = sum(1 << at for at in set(bloom.data_of(group, topic).bit_pos or ()))
    return [bit_map_with(bits if n % ROUND > 5 else 0, bloom.bits // 8) for n in range(messages)]


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
def test_in_turn(tmp_path: Path, kill: bool) -> None:
    options = Options(SETTINGS)
    real = RealServer(launcher(), tmp_path / "real", options)
    with turn(real) as one:
        one.stage.must(create_topic())
        one.join()
        one.send(0)
        assert one.pull() == matching(0)
        born = one.filter()["bornTime"]
        topic, group = one.topic, one.group
    theirs = filter_in(real.broker.store, topic, group)
    assert maps_in(real.broker.store, topic) == expected_maps(topic, group, ROUND)

    ours = TrimqServer(tmp_path / "ours", options)
    shutil.copytree(real.broker.store, ours.store)
    with turn(ours) as one:
        one.join()
        # It is the filter that was there, so what was noted for it counts.
        assert one.filter() == theirs | {"dead": False, "deadTime": 0}
        assert one.filter()["bornTime"] == born
        assert one.pull() == matching(0)
        one.send(ROUND)
        assert one.pull() == matching(0, ROUND)
        if kill:
            ours.kill9()
            again = Turn(ours)
            with again.stage:
                again.join()
                assert again.pull() == matching(0, ROUND)
    mine = filter_in(ours.store, topic, group)
    assert mine.keys() == theirs.keys()
    assert mine["bloomFilterData"] == theirs["bloomFilterData"]
    if not kill:
        assert maps_in(ours.store, topic) == expected_maps(topic, group, 2 * ROUND)

    back = RealServer(launcher(), tmp_path / "back", options)
    shutil.copytree(ours.store, back.broker.store)
    with turn(back) as one:
        one.join()
        assert one.pull() == matching(0, ROUND)
        one.send(2 * ROUND)
        assert one.pull(ROUND) == matching(ROUND, 2 * ROUND)
