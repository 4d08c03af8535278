"""Maps of filters in the units of queue extensions: written, read, and trusted as far as they go."""

from __future__ import annotations

from typing import Any

import pytest

from tests.store.conftest import Bench
from trimq.broker.filters.message_filters import ExpressionFilter
from trimq.codec.java.hashes import string_hash
from trimq.codec.layouts.queues import QUEUE_EXT_UNIT
from trimq.codec.sql.grammar import parse
from trimq.store.message_store import MessageStore
from trimq.store.reading.pulls import ReadResult

BIG = 1 << 20
ON: dict[str, Any] = {
    "enable_consume_queue_ext": True,
    "mapped_file_size_commit_log": BIG,
    "mapped_file_size_consume_queue": 2000,
    "mapped_file_size_consume_queue_ext": 1 << 16,
}
MAP_BYTES = 14
# Positions of a group in maps of 112 bits.
OURS = [9, 69, 4]


def bits(*positions: int) -> bytes:
    return sum(1 << position for position in positions).to_bytes(MAP_BYTES, "little")


def fill(bench: Bench, store: MessageStore, count: int = 9) -> None:
    for number in range(count):
        tag, properties = "ab"[number % 2], f"n\x01{number}\x02".encode()
        store.put(
            bench.message(b"%d" % number, properties=b"TAGS\x01%s\x02" % tag.encode() + properties)
        )


def found(store: MessageStore, text: str, *, born: int = 0, mapped: bool = True) -> list[int]:
    wanted = ExpressionFilter(parse(text))
    if mapped:
        wanted.use_maps(MAP_BYTES, OURS, born)
    scan = store.scan("T", 0, 0, 32, wanted)
    assert not scan.is_paused
    return numbers(store, scan.result)


def numbers(store: MessageStore, result: ReadResult) -> list[int]:
    data = b"".join(bytes(part) for part in store.load_blocking(result.extents))
    return [int(piece.split(b"\x02", 1)[0]) for piece in data.split(b"\x02n\x01")[1:]]


@pytest.fixture
def mapped(bench: Bench) -> MessageStore:
    """Every third message has the bits of the group."""
    store = bench.open(**ON)
    store.bit_maps.calculate = lambda record: (
        bits(*OURS) if record.queue_offset % 3 == 0 else bits(9, 4, 100)
    )
    fill(bench, store)
    return store


def test_they_lie_as_the_real_broker_puts_them(bench: Bench, mapped: MessageStore) -> None:
    while mapped.write_derived():
        pass
    (file,) = (bench.root / "consumequeue_ext" / "T" / "0").iterdir()
    data, at = file.read_bytes(), 0
    for number in range(9):
        unit = QUEUE_EXT_UNIT.parse(data[at:])
        assert (unit.size, unit.bit_map_size) == (34, MAP_BYTES)
        assert unit.tags_code == string_hash("ab"[number % 2])
        assert unit.bit_map == (bits(*OURS) if number % 3 == 0 else bits(9, 4, 100))
        at += unit.size


def test_a_map_that_says_no_is_believed(mapped: MessageStore) -> None:
    assert found(mapped, "TRUE") == [0, 3, 6]
    assert found(mapped, "n > 2") == [3, 6]


def test_who_does_not_heed_maps_looks_at_every_message(mapped: MessageStore) -> None:
    assert found(mapped, "TRUE", mapped=False) == list(range(9))


def test_messages_from_before_the_filter_are_looked_at(mapped: MessageStore) -> None:
    fifth = mapped.store_time("T", 0, 4)
    assert found(mapped, "TRUE", born=fifth) == [0, 1, 2, 3, 4, 6]


def test_maps_of_another_length_say_nothing(bench: Bench) -> None:
    store = bench.open(**ON)
    maps = [b"", b"\0" * 8, b"\0" * 28, bits(*OURS), bits()]
    store.bit_maps.calculate = lambda record: maps[record.queue_offset]
    fill(bench, store, 5)
    assert found(store, "TRUE") == [0, 1, 2, 3]


def test_tags_are_found_beside_them(mapped: MessageStore) -> None:
    codes = frozenset([string_hash("a")])
    assert mapped.read("T", 0, 0, 32, BIG, codes).message_count == 5


def test_they_are_there_after_a_restart(bench: Bench, mapped: MessageStore) -> None:
    bench.close(mapped)
    store = bench.open(**ON)
    assert found(store, "TRUE") == [0, 3, 6]


def test_what_a_crash_takes_is_looked_at_again(bench: Bench, mapped: MessageStore) -> None:
    """Queues that are rebuilt have units without maps."""
    bench.kill(mapped)
    store = bench.open(**ON)
    assert found(store, "TRUE") == list(range(9))


def test_without_extensions_nothing_is_calculated(bench: Bench) -> None:
    store = bench.open(**(ON | {"enable_consume_queue_ext": False}))
    asked: list[object] = []
    store.bit_maps.calculate = lambda record: asked.append(record) or b""  # type: ignore[func-returns-value]
    fill(bench, store)
    assert found(store, "TRUE") == list(range(9))
    assert asked == []
