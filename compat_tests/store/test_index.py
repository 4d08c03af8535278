"""The index of one store directory, used in turn by TriMQ's store and by the real broker 5.5.0."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from compat_tests.store.shared_directory import (
    QUEUES,
    SEND,
    SETTINGS,
    TOPIC,
    Real,
    open_ours,
    send_fields,
)
from compat_tests.wire import records
from tests.patience import until
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message

SLOTS, ENTRIES = 101, 700
QUERY, FOUND, NOT_FOUND = 12, 0, 22
EVER: Final = (1 << 63) - 1
COUNT: Final = 500
# Keys and tags that are looked for, with the index type.
Question = tuple[str, str]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Real]:
    small = {"maxHashSlotNum": str(SLOTS), "maxIndexNum": str(ENTRIES)}
    broker = Real(tmp_path / "broker", {**SETTINGS, **small})
    yield broker
    broker.stop(kill=True)


def open_small(root: Path) -> MessageStore:
    return open_ours(root, max_hash_slot_num=SLOTS, max_index_num=ENTRIES)


def properties(number: int) -> str:
    pairs = {"UNIQ_KEY": f"U{number}", "KEYS": f"k{number} tens{number // 10}"}
    return records.property_text({**pairs, "TAGS": f"Tag{number % 3}"})


def write_ours(store: MessageStore, first: int, count: int) -> None:
    for number in range(first, first + count):
        body = bytes(1 + number % 700)
        store.put(Message(TOPIC, number % QUEUES, body, properties(number).encode()))


def write_real(broker: Real, first: int, count: int) -> None:
    for number in range(first, first + count):
        answer = broker.ask(
            SEND,
            send_fields(TOPIC, number % QUEUES, properties(number)),
            bytes(1 + number % 700),
        )
        assert answer.code == FOUND, answer.remark
    await_real(broker, first + count - 1)


def await_real(broker: Real, number: int) -> None:
    """The entries come a moment after the answers."""
    for question in ((f"Tag{number % 3}", "T"), (f"U{number}", "U")):
        until(lambda question=question: ask_real(broker, question), f"{question} has an answer")


def questions(count: int) -> list[Question]:
    asked = [(f"k{number}", "K") for number in range(0, count, 7)]
    asked += [(f"U{number}", "U") for number in range(0, count, 11)]
    asked += [(f"tens{number}", "K") for number in range(0, count // 10, 5)]
    return [*asked, ("Tag1", "T"), ("none", "K")]


def expected(question: Question, count: int) -> list[str]:
    """The unique keys of the messages that have the key: 64 at most, the newest."""
    key, kind = question
    return [
        f"U{number}"
        for number in range(count)
        if key in ({f"Tag{number % 3}"} if kind == "T" else words(number))
    ][-64:]


def words(number: int) -> set[str]:
    return {f"U{number}", f"k{number}", f"tens{number // 10}"}


def ask_real(broker: Real, question: Question) -> list[str]:
    key, kind = question
    answer = broker.ask(
        QUERY,
        {
            "topic": TOPIC,
            "key": key,
            "maxNum": 1000,
            "beginTimestamp": 0,
            "endTimestamp": EVER,
            "indexType": kind,
        },
    )
    assert answer.code in (FOUND, NOT_FOUND), answer.remark
    return [unique_key(record.properties) for record in records.read_records(answer.body)]


def ask_ours(store: MessageStore, question: Question) -> list[str]:
    key, kind = question
    search = store.plan_query(TOPIC, key, 1000, 0, EVER, kind)
    search.run()
    found = [store.record_at(offset) for offset in search.offsets]
    assert None not in found
    return [unique_key(records.read_record(data).properties) for data in found if data]


def unique_key(text: str) -> str:
    return records.read_properties(text)["UNIQ_KEY"]


def assert_ours(store: MessageStore, count: int) -> None:
    for question in questions(count):
        assert ask_ours(store, question) == expected(question, count), question


def assert_real(broker: Real, count: int, last_twice: bool = False) -> None:
    """After a crash the real broker enters the last message of its index once more."""
    for question in questions(count):
        found, wanted = ask_real(broker, question), expected(question, count)
        if last_twice:
            found, wanted = sorted(set(found)), sorted(set(wanted))
            if len(wanted) == 64:
                found, wanted = found[-60:], wanted[-60:]
        assert found == wanted, question


def images(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((root / "index").iterdir())}


@pytest.mark.parametrize("end", ["close", "kill", "kill after a checkpoint"])
def test_the_real_broker_finds_what_ours_wrote(broker: Real, end: str) -> None:
    store = open_small(broker.store)
    write_ours(store, 0, COUNT)
    count = COUNT
    if end == "close":
        store.close()
        before = images(broker.store)
        broker.start()
        broker.stop()
        assert images(broker.store) == before
    else:
        if end == "kill after a checkpoint":
            while store.write_derived():
                pass
            store.plan_checkpoint().run()
            before = images(broker.store)
            write_ours(store, COUNT, 50)
            count += 50
        store.abandon()
    broker.start()
    await_real(broker, count - 1)
    if end == "kill after a checkpoint":
        assert before.keys() <= images(broker.store).keys()
    assert_real(broker, count, last_twice=end != "close")
    write_real(broker, count, 100)
    broker.stop()
    store = open_small(broker.store)
    if end != "kill after a checkpoint":
        assert_ours(store, count + 100)
    else:
        assert ask_ours(store, (f"U{count + 99}", "U")) == [f"U{count + 99}"]
    store.close()


@pytest.mark.parametrize("kill", [False, True])
def test_ours_finds_what_the_real_broker_wrote(broker: Real, kill: bool) -> None:
    broker.start()
    write_real(broker, 0, COUNT)
    assert_real(broker, COUNT)
    broker.stop(kill)
    before = images(broker.store)
    store = open_small(broker.store)
    assert_ours(store, COUNT)
    store.close()
    assert list(images(broker.store).values()) == list(before.values())
    store = open_small(broker.store)
    write_ours(store, COUNT, 100)
    assert_ours(store, COUNT + 100)
    store.abandon()
    store = open_small(broker.store)
    assert_ours(store, COUNT + 100)
    store.close()


def test_it_goes_from_hand_to_hand(broker: Real) -> None:
    """ours (closed) -> real (killed) -> ours (killed) -> ours -> real (stopped) -> ours."""
    store = open_small(broker.store)
    write_ours(store, 0, 300)
    store.close()
    broker.start()
    write_real(broker, 300, 300)
    broker.stop(kill=True)
    store = open_small(broker.store)
    assert_ours(store, 600)
    write_ours(store, 600, 100)
    store.abandon()
    store = open_small(broker.store)
    assert_ours(store, 700)
    store.close()
    broker.start()
    assert_real(broker, 700)
    write_real(broker, 700, 100)
    assert_real(broker, 800)
    broker.stop()
    store = open_small(broker.store)
    assert_ours(store, 800)
    store.close()
