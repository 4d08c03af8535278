"""Compaction topics: the same messages sent to the real server and to TriMQ, and one directory for both in turn.

Files are so small that each has room for nine messages, and queues are rewritten every few seconds.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from compat_tests.servers.containers import launcher
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.real import RealServer
from compat_tests.servers.server import Options, Server
from compat_tests.wire import reading
from compat_tests.wire.asks import create_topic, properties, pull, queue_question, send
from compat_tests.wire.cases.filtering import brief
from compat_tests.wire.stage import Place, Stage
from tests.patience import PATIENCE

SETTINGS: Final = {
    "compactionCqMappedFileSize": "460",
    "compactionMappedFileSize": "2300",
    "compactionScheduleInternal": "300",
}
RUN: Final = "rcompact"
KEYS: Final = 5
# The only one of its key: it stays, with a hole behind it.
RARE: Final = 7
COUNT: Final = 60
# One of each key, and the last file.
MOST: Final = KEYS + 1 + 9
# Both rewrite a queue after at most twice the interval and a second.
TURN_SECONDS: Final = 2.5
MAX_OFFSET, MIN_OFFSET = 30, 31


class Turn:
    """One server, and a topic of it."""

    def __init__(self, server: Server) -> None:
        place = Place(server.namesrv_addr, server.broker_addr, RUN)
        self.stage = Stage(place, "compaction")
        self.topic = self.stage.topic

    def create(self) -> None:
        self.stage.must(create_topic(queues=1, attributes="+cleanup.policy=COMPACTION"))

    def send(self, first: int, count: int = COUNT) -> None:
        for number in range(first, first + count):
            body = b"body of %03d" % number
            key = "rare" if number == RARE else f"key{number % KEYS}"
            known = properties(KEYS=key, UNIQ_KEY=f"U{number:04d}", TAGS="A")
            self.stage.must(send(body, queueId=0, properties=known))

    def pulled(self, offset: int, **more: object) -> dict[str, Any]:
        return reading.reply(self.stage.ask(pull(queueOffset=offset, **more)), brief)

    def contents(self) -> list[str]:
        """What a consumer from the beginning on gets."""
        found: list[str] = []
        offset = 0
        while True:
            seen = self.pulled(offset)
            if seen["code"] != 0:
                return found
            found += seen["body"]
            offset = int(seen["ext"]["nextBeginOffset"])

    def settled(self, last: int, gone: str = "0:body of 000") -> list[str]:
        """The same, when the last message is there and that one is gone, all files but the last are thinned out, and
        nothing more is rewritten.
        """
        deadline = time.monotonic() + PATIENCE
        before = self.contents()
        while time.monotonic() < deadline:
            time.sleep(TURN_SECONDS)
            now = self.contents()
            whole = now != [] and now[-1].endswith(f"body of {last:03d}")
            if now == before and whole and gone not in now and len(now) <= MOST:
                return now
            before = now
        raise AssertionError(f"the queue is rewritten for ever, or lacks {last}: {before}")


@contextmanager
def turn(server: RealServer | TrimqServer, in_order: bool = True) -> Iterator[Turn]:
    """`in_order`: what it leaves is looked at, so it is stopped and not killed; a real one takes its time."""
    server.start()
    try:
        one = Turn(server)
        with one.stage:
            yield one
        if in_order:
            server.stop()
        else:
            server.kill()
    except BaseException:
        server.kill()
        raise


def played(one: Turn) -> list[Any]:
    """Everything that a client sees."""
    seen: list[Any] = []
    one.create()
    stage = one.stage
    seen.append(reading.reply(stage.ask(send(b"x", properties=properties(UNIQ_KEY="U"))), brief))
    one.send(0)
    contents = one.settled(COUNT - 1)
    seen.append(contents)
    last = int(contents[-1].split(":")[0])
    for offset in (0, RARE, RARE + 1, last - 20, last, last + 1, last + 2, last + 100):
        seen.append(one.pulled(offset))
    seen += [one.pulled(0, maxMsgNums=3), one.pulled(0, subscription="B")]
    seen.append(one.pulled(0, subscription="A || B", maxMsgNums=1))
    for code in (MAX_OFFSET, MIN_OFFSET):
        seen.append(reading.reply(stage.ask(queue_question(code)), brief))
    one.send(COUNT, 30)
    seen.append(one.settled(COUNT + 29, contents[1]))
    return seen


def test_same_messages(tmp_path: Path) -> None:
    options = Options(SETTINGS)
    seen = []
    for server in (
        RealServer(launcher(), tmp_path / "real", options),
        TrimqServer(tmp_path / "ours", options),
    ):
        with turn(server, in_order=False) as one:
            seen.append(played(one))
    real, ours = seen
    for theirs, mine in zip(real, ours, strict=True):
        assert mine == theirs


def newest_are_there(contents: list[str], sent: int) -> None:
    """Of each key, the last message."""
    found = dict(one.split(":") for one in contents)
    for key in range(KEYS):
        newest = max(number for number in range(sent) if number % KEYS == key)
        assert found[str(newest)] == f"body of {newest:03d}"


def position_in(store: Path, topic: str) -> int:
    table = json.loads((store / "compaction" / "position-checkpoint").read_bytes())
    return int(table["queueOffsetMap"][f"{topic}_0"])


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
def test_in_turn(tmp_path: Path, kill: bool) -> None:
    options = Options(SETTINGS)
    real = RealServer(launcher(), tmp_path / "real", options)
    with turn(real) as one:
        one.create()
        one.send(0)
        theirs = one.settled(COUNT - 1)
        newest_are_there(theirs, COUNT)
        topic = one.topic
    before = position_in(real.broker.store, topic)

    ours = TrimqServer(tmp_path / "ours", options)
    shutil.copytree(real.broker.store, ours.store)
    with turn(ours) as one:
        assert one.contents() == theirs
        one.send(COUNT)
        after = one
        if kill:
            ours.kill9()
            after = Turn(ours)
        with after.stage:
            mine = after.settled(2 * COUNT - 1, theirs[1])
        newest_are_there(mine, 2 * COUNT)
    assert len(mine) < COUNT
    assert position_in(ours.store, topic) > before

    shutil.rmtree(real.broker.store)
    shutil.copytree(ours.store, real.broker.store)
    with turn(real, in_order=False) as one:
        assert one.contents() == mine
        one.send(2 * COUNT, 20)
        newest_are_there(one.settled(2 * COUNT + 19, mine[1]), 2 * COUNT + 20)
