"""Effects: applied when a record was written, in the order of the log, and by a replay alike."""

from __future__ import annotations

import os
from typing import Any

import pytest

from trimq.store.errors import StoreError
from trimq.store.messages.message import Dispatched, Message


class Seen:
    """An effect that notes what it gets."""

    def __init__(self) -> None:
        self.records: list[tuple[int, int, bytes, int, bytes]] = []

    def __call__(self, record: Dispatched, message: Message) -> None:
        place = (record.queue_offset, record.physical_offset)
        self.records.append((*place, message.body, message.born_timestamp, record.properties))

    @property
    def bodies(self) -> list[bytes]:
        return [body for _, _, body, _, _ in self.records]


def fail_next_write(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(os, "pwritev"):
        pytest.skip("os.pwritev is missing here, and a write of several pieces is not one call")
    real = os.pwritev

    def fail(*args: Any) -> int:
        monkeypatch.setattr(os, "pwritev", real)
        raise OSError(5, "broken")

    monkeypatch.setattr(os, "pwritev", fail)


def test_an_effect_comes_with_the_write_and_before_the_listeners(bench: Any) -> None:
    store, seen = bench.open(), Seen()
    store.give_effect("T", seen)
    told: list[int] = []
    store.add_listener(lambda records: told.append(len(seen.records)))
    store.stage(bench.message(b"a", born_timestamp=5))
    store.stage(bench.message(b"other", topic="U"))
    store.stage(bench.message(b"b"))
    assert not seen.records
    store.write_staged()
    assert seen.bodies == [b"a", b"b"]
    assert told == [2]
    store.write_staged()
    assert seen.bodies == [b"a", b"b"]


def test_records_that_are_taken_back_have_none(bench: Any, monkeypatch: Any) -> None:
    store, seen = bench.open(), Seen()
    store.give_effect("T", seen)
    store.stage(bench.message(b"a"))
    fail_next_write(monkeypatch)
    with pytest.raises(StoreError):
        store.write_staged()
    store.put(bench.message(b"b"))
    assert seen.bodies == [b"b"]


def test_queues_that_exist_already_get_it_too(bench: Any) -> None:
    store, seen = bench.open(), Seen()
    store.put(bench.message(b"before"))
    store.give_effect("T", seen)
    store.put(bench.message(b"a"))
    bench.close(store)
    store = bench.open()
    store.give_effect("T", seen)
    store.put(bench.message(b"b"))
    assert seen.bodies == [b"a", b"b"]


def test_a_topic_that_was_deleted_and_made_again_keeps_it(bench: Any) -> None:
    store, seen = bench.open(), Seen()
    store.give_effect("T", seen)
    store.put(bench.message(b"a"))
    store.delete_topic("T")
    store.put(bench.message(b"b"))
    assert seen.bodies == [b"a", b"b"]


@pytest.mark.parametrize("size", [3, 20_000])
@pytest.mark.parametrize("bodies", [True, False])
def test_a_replay_is_what_running_was(bench: Any, size: int, bodies: bool) -> None:
    store, seen = bench.open(mapped_file_size_commit_log=1 << 20), Seen()
    store.give_effect("T", seen)
    for number in range(5):
        store.put(bench.message(b"%d" % number * size, tag="x", born_timestamp=number))
        store.put(bench.message(b"other", topic="U"))
    again = Seen()
    assert store.replay("T", 0, 2, again, bodies) == 5
    expected = seen.records[2:]
    if not bodies and size > 16 * 1024:
        expected = [(*record[:2], b"", *record[3:]) for record in expected]
    assert again.records == expected
    bench.close(store)
    store = bench.open(mapped_file_size_commit_log=1 << 20)
    last = Seen()
    assert store.replay("T", 0, 2, last, bodies) == 5
    assert last.records == expected


def test_a_replay_leaves_out_what_is_damaged(bench: Any) -> None:
    store, seen = bench.open(mapped_file_size_commit_log=1 << 16), Seen()
    places = [store.put(bench.message(b"%d" % number)).physical_offset for number in range(3)]
    with bench.commit_log_files()[0].open("r+b") as file:
        file.seek(places[1])
        file.write(bytes(4))
    store.replay("T", 0, 0, seen)
    assert seen.bodies == [b"0", b"2"]
    assert store.replay("T", 0, 7, seen) == 3
    assert store.replay("U", 0, 0, seen) == 0


# --- claims


def test_claims_end_with_the_write(bench: Any) -> None:
    store = bench.open()
    store.stage(bench.message(b"a"))
    store.claims.add(("half", 1))
    store.write_staged()
    assert not store.claims


def test_claims_end_when_the_write_fails(bench: Any, monkeypatch: Any) -> None:
    store = bench.open()
    store.stage(bench.message(b"a"))
    store.claims.add(("half", 1))
    fail_next_write(monkeypatch)
    with pytest.raises(StoreError):
        store.write_staged()
    assert not store.claims


def test_what_is_staged_for_claims_comes_last_and_once(bench: Any) -> None:
    store, seen = bench.open(), Seen()
    store.give_effect("T", seen)

    def stage_last() -> None:
        store.stage(bench.message(b"last of %d" % len(store.claims)))

    store.add_last_stager(stage_last)
    store.stage(bench.message(b"plain"))
    store.write_staged()
    store.stage(bench.message(b"a"))
    store.claims.update([("half", 1), ("half", 2)])
    store.stage(bench.message(b"b"))
    store.write_staged()
    store.claims.add(("half", 3))
    store.write_staged()
    assert seen.bodies == [b"plain", b"a", b"b", b"last of 2", b"last of 1"]


def test_what_cannot_be_staged_last_fails_the_write(bench: Any) -> None:
    store, seen = bench.open(), Seen()
    store.give_effect("T", seen)

    def stage_last() -> None:
        raise StoreError("no room")

    store.add_last_stager(stage_last)
    store.stage(bench.message(b"a"))
    store.claims.add(("half", 1))
    with pytest.raises(StoreError, match="no room"):
        store.write_staged()
    assert (seen.bodies, store.claims, store.max_offset("T", 0)) == ([], set(), 0)
    assert store.put(bench.message(b"b")).queue_offset == 0


def test_a_put_that_loses_a_claim_tells_its_owner(bench: Any, monkeypatch: Any) -> None:
    store = bench.open()
    store.claims.add(("half", 1))
    fail_next_write(monkeypatch)
    with pytest.raises(StoreError):
        store.put(bench.message(b"a"))
    with pytest.raises(StoreError, match="lost with another write"):
        store.write_staged()


# --- what fails


def test_an_effect_that_fails_takes_nothing_else_along(
    bench: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Others' effects, claims, write listeners, listeners: all of them have their turn, and the write is done."""
    store, seen = bench.open(), Seen()

    def fail(record: Dispatched, message: Message) -> None:
        raise OverflowError("int too large")

    store.give_effect("Bad", fail)
    store.give_effect("T", seen)
    told: list[str] = []
    store.add_write_listener(lambda: told.append("written"))
    store.add_listener(lambda records: told.extend(record.topic for record in records))
    store.stage(bench.message(b"x", topic="Bad"))
    store.stage(bench.message(b"a"))
    store.claims.add(("half", 1))
    store.write_staged()
    assert seen.bodies == [b"a"]
    assert told == ["written", "Bad", "T"]
    assert not store.claims
    assert store.max_offset("Bad", 0) == 1
    assert store.take_failed_effects() == {"Bad"}
    assert store.take_failed_effects() == set()
    assert caplog.text.count("effect of a stored record failed") == 1
    # The next write begins anew.
    store.put(bench.message(b"b"))
    assert seen.bodies == [b"a", b"b"]


@pytest.mark.parametrize("mode", ["ASYNC_FLUSH", "SYNC_FLUSH"])
def test_a_listener_that_fails_takes_no_other_along(
    bench: Any, caplog: pytest.LogCaptureFixture, mode: str
) -> None:
    store = bench.open(flush_disk_type=mode)
    told: list[str] = []

    def fail(*_: object) -> None:
        raise KeyError("nobody foresaw this")

    store.add_write_listener(fail)
    store.add_write_listener(lambda: told.append("written"))
    store.add_listener(fail)
    store.add_listener(lambda records: told.append("seen"))
    for _ in range(9):
        store.put(bench.message(b"a"))
        store.show(store.flush())
    assert told == ["written", "seen"] * 9
    assert store.failures == 18
    # The first time, and then ever more seldom.
    assert [record.args[-1] for record in caplog.records if record.args] == [1, 2, 4, 8, 16]


def test_a_replay_goes_on_behind_an_effect_that_fails(bench: Any) -> None:
    store, seen = bench.open(), Seen()
    for body in (b"a", b"bad", b"b"):
        store.put(bench.message(body))

    def effect(record: Dispatched, message: Message) -> None:
        if message.body == b"bad":
            raise ValueError("nobody foresaw this")
        seen(record, message)

    assert store.replay("T", 0, 0, effect) == 3
    assert seen.bodies == [b"a", b"b"]
