"""Transactions against a model: sends, ends for any place, rounds, halves taken up again, clocks that jump,
kills at any record, retention.

The model knows of each half message what a user would: who it was promised to, and how often its producer was
asked. Whatever happens, each committed message is delivered once, and nobody is asked about what was decided.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import trio
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from tests.broker.transactions.conftest import COMMIT, ROLLBACK, SECOND, Transacting, properties_of
from tests.store.cleaning import steps_of_trimming
from trimq.codec.names import TRANS_CHECK_MAX_TIME_TOPIC
from trimq.codec.records.record import Record

MOST_CHECKS = 2
DAY = 86_400 * SECOND
# fileReservedTime.
RESERVED = 3 * DAY
LOG_FILE = 8 * 1024
PENDING, COMMITTED, ROLLED_BACK, GIVEN_UP, GONE = (
    "pending",
    "committed",
    "rolled back",
    "given up",
    "gone",
)
# Committed after it was given up.
LATE = "late"


class Model:
    """One half message: where it lay, and what is known of it."""

    def __init__(self, unique: str, place: Record, immunity: int) -> None:
        self.unique = unique
        self.places = [place]
        self.immunity = immunity
        self.checks = 0
        self.state = PENDING
        self.given_up = 0

    @property
    def now(self) -> Record:
        return self.places[-1]


class Transactions(RuleBasedStateMachine):
    sent = Bundle("sent")

    def __init__(self) -> None:
        super().__init__()
        shared = Path("/dev/shm")
        self.folder = Path(tempfile.mkdtemp(dir=shared if shared.is_dir() else None))
        self.trans = Transacting(
            self.folder / "store",
            transaction_check_max=MOST_CHECKS,
            mapped_file_size_commit_log=LOG_FILE,
        )
        self.models: list[Model] = []
        self.listen()

    def teardown(self) -> None:
        self.trans.stop()
        shutil.rmtree(self.folder)

    def listen(self) -> None:
        """What consumers get from now on, with its place: files may be deleted later."""
        self.delivered: list[tuple[int, str]] = getattr(self, "delivered", [])

        def note(records: list[Any]) -> None:
            for record in records:
                if record.topic == "T":
                    at = record.physical_offset
                    data = self.trans.store.record_at(at)
                    assert data is not None
                    self.delivered.append((at, data_body(data)))

        self.trans.store.add_listener(note)

    # --- what happens

    @rule(
        target=sent, immunity=st.sampled_from([-1, -1, 1, 20, 100]), size=st.sampled_from([1, 900])
    )
    def send(self, immunity: int, size: int) -> Model:
        unique = f"U{len(self.models)}"
        more = {} if immunity < 0 else {"CHECK_IMMUNITY_TIME_IN_SECONDS": str(immunity)}
        half = self.trans.half(unique, f"{unique} ".encode() + b"x" * size, **more)
        model = Model(unique, half, immunity)
        self.models.append(model)
        return model

    @rule(model=sent, at=st.integers(0, 5), how=st.sampled_from([COMMIT, ROLLBACK]))
    def end(self, model: Model, at: int, how: int) -> None:
        """For any of the places where it ever lay."""
        place = model.places[at % len(model.places)]
        known = place.physical_offset >= self.trans.store.min_physical_offset
        code = self.trans.end(place, how, from_transaction_check=True)
        assert code == (0 if known else 1)
        if known:
            self.ended(model, how)

    def ended(self, model: Model, how: int) -> None:
        """A commit is in time even when the half was given up."""
        if model.state == PENDING:
            model.state = COMMITTED if how == COMMIT else ROLLED_BACK
        elif model.state == GIVEN_UP and how == COMMIT:
            model.state = LATE

    @rule(models=st.lists(sent, min_size=2, max_size=4), how=st.sampled_from([COMMIT, ROLLBACK]))
    def end_together(self, models: list[Model], how: int) -> None:
        """In one receive, some of them twice."""
        for model in models:
            if model.now.physical_offset >= self.trans.store.min_physical_offset:
                self.trans.ask_end(model.now, how, from_transaction_check=True)
                self.ended(model, how)
        self.trans.write()

    @rule(model=sent, at=st.integers(0, 5))
    def resume(self, model: Model, at: int) -> None:
        """By any of its places. What was delivered stays so, what is pending stays where it is."""
        place = model.places[at % len(model.places)]
        if place.physical_offset < self.trans.store.min_physical_offset:
            return
        trio.run(self.trans.resume, place)
        if model.state not in (PENDING, COMMITTED, LATE):
            model.state, model.checks = PENDING, 0
            self.find_places()

    @rule(seconds=st.sampled_from([1, 7, 30, 30, -60, 900]))
    def time(self, seconds: int) -> None:
        self.trans.later(seconds * SECOND)

    @rule(days=st.sampled_from([-30, -0.01, 2, 25, 400]))
    def clock_jumps(self, days: float) -> None:
        """Those that are too old by it are given up; those that are younger than 0 are asked about."""
        self.trans.later(max(int(days * DAY), -self.trans.broker.clock.now // 2))

    @rule()
    def round(self) -> None:
        expected = [model for model in self.models if model.state == PENDING]
        asked = {model.unique for model in expected if self.settled_by_round(model)}
        trio.run(self.trans.checking.round)
        questions = [header["msgId"] for header, _ in self.trans.questions()]
        assert sorted(questions) == sorted(asked)
        self.find_places()

    def settled_by_round(self, model: Model) -> bool:
        """What becomes of it; whether somebody is asked."""
        if model.now.physical_offset < self.trans.store.min_physical_offset:
            model.state = GONE
            return False
        age = self.trans.broker.clock.now - model.now.born_timestamp
        if model.checks >= MOST_CHECKS or age > RESERVED:
            model.state = GIVEN_UP
            model.given_up += 1
            return False
        if model.immunity >= 0 and age <= model.immunity * SECOND:
            return False
        if model.immunity < 0 and 0 <= age <= 6 * SECOND:
            return False
        model.checks += 1
        return True

    def find_places(self) -> None:
        known = {
            properties_of(half)["UNIQ_KEY"]: half
            for half in self.trans.halves
            if self.trans.pending.at(half.queue_offset)
        }
        for model in self.models:
            half = known.get(model.unique)
            if half is not None and half.queue_offset != model.now.queue_offset:
                model.places.append(half)

    @rule(persist=st.booleans())
    def kill(self, persist: bool) -> None:
        low = self.trans.store.min_physical_offset
        self.trans.kill(persist)
        self.listen()
        for model in self.models:
            if model.state == PENDING and model.now.physical_offset < low:
                model.state = GONE

    @rule(model=sent, cut=st.integers(0, 700), how=st.sampled_from([COMMIT, ROLLBACK]))
    def kill_in_an_end(self, model: Model, cut: int, how: int) -> None:
        """Nobody got an answer: it may be decided or not."""
        if model.state != PENDING:
            return
        store = self.trans.store
        if model.now.physical_offset < store.min_physical_offset:
            return
        begin = store.max_physical_offset
        self.trans.end(model.now, how, from_transaction_check=True)
        end = store.max_physical_offset
        cut = min(begin + cut, end)
        self.cut(cut, end)
        there = {record.physical_offset for record in self.trans.records("T", 1)}
        self.delivered = [one for one in self.delivered if one[0] < begin or one[0] in there]
        self.listen()
        if self.trans.pending.at(model.now.queue_offset) is None:
            model.state = COMMITTED if how == COMMIT else ROLLED_BACK

    def cut(self, cut: int, end: int) -> None:
        self.trans.store.abandon()
        for path in (self.trans.root / "commitlog").iterdir():
            base = int(path.name)
            if base + LOG_FILE > cut:
                with path.open("r+b") as file:
                    start = max(cut, base)
                    file.seek(start - base)
                    file.write(bytes(min(end, base + LOG_FILE) - start))
        self.trans._now = self.trans.broker.clock.now
        self.trans.start()

    @rule()
    def delete_the_oldest_file(self) -> None:
        store = self.trans.store
        store.flush()
        log = store._log
        if len(log.segments) < 3:
            return
        segment = log.remove_oldest(self.trans.broker.clock.now)
        store.cleaning.unlink(segment)
        for _ in steps_of_trimming(store):
            pass

    # --- what always holds

    @invariant()
    def each_committed_message_is_delivered_once(self) -> None:
        bodies = sorted(body.partition(" ")[0] for _, body in self.delivered)
        assert bodies == sorted(
            model.unique for model in self.models if model.state in (COMMITTED, LATE)
        )

    @invariant()
    def what_is_pending(self) -> None:
        pending = self.trans.pending
        keys = {
            half.key[0].decode()
            for half in map(pending.at, pending.offsets())
            if half and half.physical_offset >= self.trans.store.min_physical_offset
        }
        low = self.trans.store.min_physical_offset
        expected = {
            model.unique
            for model in self.models
            if model.state == PENDING and model.now.physical_offset >= low
        }
        assert keys == expected

    @invariant()
    def what_was_given_up_is_kept(self) -> None:
        kept = [
            properties_of(record)["UNIQ_KEY"]
            for record in self.trans.records(TRANS_CHECK_MAX_TIME_TOPIC)
        ]
        times = {model.unique: model.given_up for model in self.models}
        assert all(kept.count(unique) <= times[unique] for unique in set(kept))


def data_body(data: bytes) -> str:
    from trimq.codec.records.record import parse_record

    return parse_record(data).body.decode()


TestTransactions = Transactions.TestCase
TestTransactions.settings = settings(stateful_step_count=25)
