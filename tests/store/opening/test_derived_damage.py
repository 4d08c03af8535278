"""Damage of files of a store, after a stop and after a kill: what can be made anew is, what can be done without is set
aside with a line, and what cannot is refused in words that say what to do.
"""

import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.processors.conftest import Broker
from tests.store.cleaning import write_all
from trimq.broker.config import BrokerConfig
from trimq.broker.tables.file import TableDamaged
from trimq.broker.topics.queue_types import stored_queue_types
from trimq.codec.bodies.request_modes import SetMessageRequestModeRequestBody
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.headers.fast import decode_send_v2
from trimq.codec.records.properties import format_properties
from trimq.store.errors import StoreDamaged, StoreError
from trimq.store.messages.message import Message

COUNT = 30
SETTINGS: dict[str, Any] = {
    "mapped_file_size_commit_log": 1 << 14,
    "mapped_file_size_consume_queue": 20 * 20,
    "enable_consume_queue_ext": True,
    "max_hash_slot_num": 50,
    "max_index_num": 40,
    "timer_warm_enable": False,
}


class Store:
    """A broker on a store with something of everything."""

    def __init__(self, root: Path) -> None:
        self.root = root
        known = Broker(root, BrokerConfig()).store_config.__dataclass_fields__
        settings = {key: value for key, value in SETTINGS.items() if key in known}
        self.broker = Broker(root, BrokerConfig(), **settings)

    def open(self) -> None:
        """As a server does it, which knows the kinds of queues from the topic table."""
        self.broker.store.open(stored_queue_types(self.root / "config"))
        self.broker.parts.load()

    def fill(self) -> None:
        broker = self.broker
        broker.topics.update(TopicConfig(topic_name="B", attributes={"+queue.type": "BatchCQ"}))
        compacted = {"+cleanup.policy": "COMPACTION"}
        broker.topics.update(TopicConfig(topic_name="C", attributes=compacted))
        for number in range(COUNT):
            broker.clock.now += 10
            for topic in ("T", "B", "C"):
                properties = format_properties({"KEYS": f"k{number}", "TAGS": "A"})
                broker.store.put(Message(topic, 0, b"%d" % number, properties))
        for number in range(5):
            properties = f"TIMER_DELAY_SEC\x01{1000 + number}\x02UNIQ_KEY\x01u{number}\x02"
            fields = {"a": "P", "b": "T", "c": "TBW102", "d": "4", "e": "0", "f": "0"}
            fields |= {"g": "1", "h": "0", "i": properties}
            broker.sending.send(decode_send_v2(fields), b"late", broker.peer, 513)
            broker.store.write_staged()
        broker.modes.put(SetMessageRequestModeRequestBody(topic="T", consumer_group="G"))
        broker.offsets.commit("c", "G", "T", 0, 7)
        broker.groups.find("G")
        broker.store.flush()
        write_all(broker.store)

    def close(self, kill: bool) -> None:
        self.broker.parts.close()
        if kill:
            self.broker.store.abandon()
        else:
            self.broker.store.close()

    def bodies(self, topic: str) -> list[bytes]:
        store = self.broker.store
        found = []
        for offset in range(store.max_offset(topic, 0)):
            entry = store.queue_entry(topic, 0, offset)
            data = None if entry is None else store.record_at(entry.physical_offset)
            found.append(b"" if data is None else data)
        return found

    def keys_found(self) -> int:
        count = 0
        for number in range(COUNT):
            search = self.broker.store.plan_query("T", f"k{number}", 8, 0, 1 << 60)
            search.run()
            count += len(search.offsets)
        return count

    def waiting(self) -> int:
        """Timer messages that are on the wheel, or still to be put there."""
        timers = self.broker.parts
        (load,) = [part.load for part in timers if part.name == "timers"]
        wheel = load.func.__self__ if hasattr(load, "func") else load.__self__
        return int(wheel._files.wheel.waiting + 5 - wheel._files.queue_offset)


def flip(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(200):
        at = chance.randrange(max(len(data), 1))
        if data:
            data[at] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def truncate(path: Path, chance: random.Random) -> None:
    os.truncate(path, path.stat().st_size // 2)


def zero(path: Path, chance: random.Random) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def grow(path: Path, chance: random.Random) -> None:
    path.write_bytes(path.read_bytes() + chance.randbytes(100))


def folder(path: Path, chance: random.Random) -> None:
    path.unlink()
    path.mkdir()
    (path / "x").touch()


def unreadable(path: Path, chance: random.Random) -> None:
    """Whoever one is: root may read anything but a link to itself."""
    path.unlink()
    path.symlink_to(path)


DAMAGES: list[Callable[[Path, random.Random], None]] = [
    flip,
    truncate,
    zero,
    grow,
    folder,
    unreadable,
]
# What has to be there again, and where the files are.
MADE_ANEW = {
    "checkpoint": "checkpoint",
    "index": "index/*",
    "wheel": "timerwheel",
    "timer log": "timerlog/*",
    "timer checkpoint": "config/timercheck",
}
SPARE = {
    "timermetrics": "config/timermetrics",
    "request modes": "config/messageRequestMode.json",
}
DERIVED_BUT_REFUSED = {
    "queue": "consumequeue/T/0/*",
    "extension": "consumequeue_ext/T/0/*",
    "batch queue": "batchconsumequeue/B/0/*",
}
KEPT = {
    "topics": "config/topics.json",
    "groups": "config/subscriptionGroup.json",
    "offsets": "config/consumerOffset.json",
    "delays": "config/delayOffset.json",
}
# After a kill the same code looks at the files, but what a crash may have left must not hide damage.
HOW = [("closed", damage) for damage in DAMAGES] + [("killed", flip), ("killed", zero)]
CASES = pytest.mark.parametrize(
    ("how", "damage"), HOW, ids=[f"{how}-{damage.__name__}" for how, damage in HOW]
)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {}
    for how in ("closed", "killed"):
        root = tmp_path_factory.mktemp(how) / "store"
        one = Store(root)
        one.open()
        one.fill()
        one.close(how == "killed")
        # Once more, so that there are twins.
        if how == "closed":
            one = Store(root)
            one.open()
            one.close(kill=False)
        made[how] = root
    return made


def damaged(
    stores: dict[str, Path], memory_path: Path, how: str, where: str, damage: Any, also_twin: bool
) -> tuple[Store, Path]:
    root = memory_path / "store"
    shutil.copytree(stores[how], root, symlinks=True)
    paths = sorted(root.glob(where))
    assert paths, f"the store has no {where}"
    chance = random.Random(f"{how} {where} {damage.__name__}")
    damage(paths[-1], chance)
    twin = paths[-1].with_name(paths[-1].name + ".bak")
    if also_twin and twin.exists():
        twin.write_bytes(b"no json")
    return Store(root), paths[-1]


@pytest.mark.parametrize(
    ("what", "how", "damage"),
    # No sum tells a right number in the timers' checkpoint from a wrong one, and a wheel of zeros is that of a broker
    # on which nothing waits (RocketMQ does not look either).
    [
        pytest.param(what, how, damage, id=f"{what}-{how}-{damage.__name__}")
        for what in MADE_ANEW
        for how, damage in HOW
        if (what, damage) not in (("timer checkpoint", flip), ("wheel", zero))
    ],
)
def test_what_can_be_made_anew_is(
    stores: dict[str, Path], memory_path: Path, what: str, how: str, damage: Any
) -> None:
    one, _ = damaged(stores, memory_path, how, MADE_ANEW[what], damage, also_twin=False)
    one.open()
    for topic in ("T", "B", "C"):
        for number, record in enumerate(one.bodies(topic)[:COUNT]):
            assert b"%d" % number in record
    assert one.keys_found() >= COUNT
    assert one.waiting() == 5
    one.close(kill=False)


@CASES
@pytest.mark.parametrize("what", SPARE)
def test_what_can_be_done_without_is(
    stores: dict[str, Path],
    memory_path: Path,
    what: str,
    how: str,
    damage: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    one, path = damaged(stores, memory_path, how, SPARE[what], damage, also_twin=True)
    one.open()
    assert (one.root / "damaged").is_dir() == (
        f"set aside, and what was in it made anew: path={path}" in caplog.text
    )
    one.close(kill=False)


@CASES
@pytest.mark.parametrize("what", KEPT)
def test_what_cannot_is_refused_in_words(
    stores: dict[str, Path], memory_path: Path, what: str, how: str, damage: Any
) -> None:
    one, path = damaged(stores, memory_path, how, KEPT[what], damage, also_twin=True)
    before = {each.name: each.read_bytes() for each in path.parent.iterdir() if each.is_file()}
    said = ""
    try:
        one.open()
    except TableDamaged as refused:
        said = str(refused)
    if not said:
        # Blanks behind the last brace, or bits of a name: JSON all the same.
        assert damage in (flip, grow, zero)
        one.close(kill=False)
        return
    one.broker.store.abandon()
    assert str(path) in said
    assert "from a backup, or from a slave" in said
    after = {each.name: each.read_bytes() for each in path.parent.iterdir() if each.is_file()}
    assert {name: after.get(name) for name in before} == before


@CASES
@pytest.mark.parametrize("what", DERIVED_BUT_REFUSED)
def test_queues_are_refused_in_words_or_read(
    stores: dict[str, Path], memory_path: Path, what: str, how: str, damage: Any
) -> None:
    """Their topic alone: a queue is examined when it is first used, and then the log is not read from its beginning."""
    one, path = damaged(
        stores, memory_path, how, DERIVED_BUT_REFUSED[what], damage, also_twin=False
    )
    said = ""
    try:
        one.open()
        for topic in ("T", "B"):
            one.bodies(topic)
    except StoreDamaged as refused:
        said = str(refused)
    except StoreError:
        # Bytes that are no message: nothing can say so before they are read.
        assert damage in (flip, zero)
    one.broker.store.abandon()
    if said:
        assert str(path.parent) in said
        follow(said, one.root)
        again = Store(one.root)
        again.open()
        for topic in ("T", "B"):
            found = again.bodies(topic)[:COUNT]
            assert len(found) == COUNT
            assert all(b"%d" % number in record for number, record in enumerate(found))
        write_all(again.broker.store)
        assert sorted(one.root.glob(DERIVED_BUT_REFUSED[what]))
        again.close(kill=False)


def follow(advice: str, root: Path) -> None:
    """Move away what is to be moved."""
    found = re.search(r"move (\S+) and", advice)
    assert found is not None, advice
    Path(found[1]).rename(root.parent / "moved")
    (root / "checkpoint").rename(root.parent / "checkpoint")
