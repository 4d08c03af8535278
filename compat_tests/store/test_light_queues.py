"""Light queues written by one broker and read, continued and rebuilt by the other, the real 5.5.0 and TriMQ in turn."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from compat_tests.store.shared_directory import SETTINGS
from compat_tests.store.turns import Sides
from compat_tests.wire.asks import commit_offset, create_topic, properties, pull, query_offset, send
from compat_tests.wire.records import read_properties, read_records
from compat_tests.wire.stage import Stage
from tests.patience import until
from trimq.store.checking.check import StoreCheck

NAMES: Final = ("%LMQ%a", "%LMQ%b", "%LMQ%$$T$lite")
GROUP: Final = "%LMQ%$G"
LIGHT: Final = {**SETTINGS, "enableLmq": "true", "enableMultiDispatch": "true"}
ROUND: Final = 30


class Writer:
    """What each light queue must hold, as numbers of messages."""

    def __init__(self) -> None:
        self.wanted: dict[str, list[int]] = {name: [] for name in NAMES}
        self._next = 0

    def write(self, stage: Stage) -> None:
        for _ in range(ROUND):
            number = self._next
            self._next += 1
            names = [
                name for name, every in zip(NAMES, (2, 3, 5), strict=True) if number % every == 0
            ]
            held = {"UNIQ_KEY": f"U{number}", "WAIT": "true"}
            if names == [NAMES[2]]:
                held["__LITE_TOPIC"] = "lite"
            elif names:
                held["INNER_MULTI_DISPATCH"] = ",".join(names)
            stage.must(send(b"%d" % number, properties=properties(**held), queueId=number % 2))
            for name in names:
                self.wanted[name].append(number)

    def check(self, stage: Stage) -> None:
        for name, wanted in self.wanted.items():
            until(lambda name=name, wanted=wanted: len(read(stage, name)) >= len(wanted), name)
            found = read(stage, name)
            assert [number for number, _ in found] == wanted, name
            assert [offset for _, offset in found] == list(range(len(wanted))), name


def read(stage: Stage, name: str) -> list[tuple[int, int]]:
    """The numbers, and the offsets that the records say they have in this queue."""
    found: list[tuple[int, int]] = []
    while True:
        answer = stage.ask(pull(topic=name, queueOffset=len(found)))
        if answer.code != 0:
            return found
        for record in read_records(answer.body):
            held = read_properties(record.properties)
            queues = held["INNER_MULTI_DISPATCH"].split(",")
            offsets = held["INNER_MULTI_QUEUE_OFFSET"].split(",")
            at = queues.index(stage.fill(name))
            found.append((int(record.body), int(offsets[at])))


@pytest.fixture
def sides(tmp_path: Path) -> Iterator[Sides]:
    both = Sides(tmp_path / "both", {**LIGHT, "autoCreateTopicEnable": "true"}, "light")
    yield both
    both.end()


def committed(stage: Stage) -> int:
    return int(stage.must(query_offset(topic=NAMES[0], consumerGroup=GROUP)).ext["offset"])


@pytest.mark.parametrize("how", ["stopped", "killed", "rebuilt"])
@pytest.mark.parametrize("first", ["real", "ours"])
def test_one_goes_on_where_the_other_stopped(
    sides: Sides, tmp_path: Path, first: str, how: str
) -> None:
    writer = Writer()
    second = "ours" if first == "real" else "real"
    store = next((tmp_path / "both").rglob("store"), None)
    for turn, name in enumerate([first, second, first]):
        stage = sides.start(name)
        if turn == 0:
            stage.must(create_topic(queues=2))
        else:
            # Offsets are written every few seconds.
            assert how == "killed" or committed(stage) == turn
            writer.check(stage)
        writer.write(stage)
        writer.check(stage)
        stage.must(commit_offset(turn + 1, topic=NAMES[0], consumerGroup=GROUP))
        sides.stop(kill=how == "killed")
        store = store or next(
            path.parent for path in (tmp_path / "both").rglob("commitlog") if path.is_dir()
        )
        if how == "rebuilt":
            shutil.rmtree(store / "consumequeue")
    if how == "stopped":
        assert list(StoreCheck(store).run().findings.problems()) == []
