"""Rounds of questions about half messages that nobody ended (TransactionalMessageServiceImpl.check).

Every transactionCheckInterval the pending halves are looked at in their order. For each, as there:

1. asked about transactionCheckMax times, or born longer ago than fileReservedTime: given up, it goes to
   TRANS_CHECK_MAX_TIME_TOPIC;
2. younger than its own immunity: put back at the end of the queue, which is no check; younger than
   transactionTimeOut: left alone;
3. else put back with one check more, and a member of its producer group is asked about the copy. Without a
   member nobody is asked, and it counts all the same.

What is stored while a round goes on is left to the next one. What a half message becomes and the op that
settles the old one are in one write, before anybody is asked. One that cannot be read or is no half
message is left out, and the round goes on. A round goes in slices: the records of one are read first (those
on a cold disk in a worker thread), then decided and written without a pause.
"""

import logging
from enum import Enum
from typing import Final, NamedTuple, Protocol

import trio

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.produce.puts.rules import PutRefused, PutRules
from trimq.broker.produce.puts.staging import Staging
from trimq.broker.records import ColdRecord, NoRecord, fetch_record, record_in_memory
from trimq.broker.steps import BYTES_PER_STEP
from trimq.broker.topics.table import Topics
from trimq.broker.transactions.check_requests import CheckRequest
from trimq.broker.transactions.half_copies import (
    BadHalf,
    Copy,
    given_up,
    put_back_immune,
    put_back_to_ask,
    real_place,
)
from trimq.broker.transactions.pending import HALF, Half, PendingHalves, immune_millis
from trimq.codec.errors import CodecError
from trimq.codec.flags import Perm
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.record import Record
from trimq.store.config import StoreConfig
from trimq.store.errors import MessageTooLarge, PropertiesLookTorn, PropertiesTooLong, StoreError

log = logging.getLogger("trimq.transactions")

# What one step of the loop does: some milliseconds, interpreted and with bodies of any size.
_SLICE: Final = 8
_LOOKED_AT: Final = 2_000
_ROUND_SECONDS: Final = 60
_HOUR_MILLIS: Final = 3_600_000
# What is wrong with one half, and not with the store.
_BAD: Final = (
    BadHalf,
    CodecError,
    PutRefused,
    MessageTooLarge,
    PropertiesLookTorn,
    PropertiesTooLong,
)


class Verdict(Enum):
    """What becomes of a pending half in this round."""

    GIVE_UP = "given up"
    PUT_BACK = "put back"
    ASK = "asked about"


class Case(NamedTuple):
    """A half that this round does something about."""

    half: Half
    verdict: Verdict
    record: Record


class Questioner(Protocol):
    """Takes questions to producers, once their records are written."""

    def ask(self, question: CheckRequest) -> None: ...


class Checking:
    def __init__(
        self,
        config: BrokerConfig,
        store_config: StoreConfig,
        pending: PendingHalves,
        staging: Staging,
        rules: PutRules,
        topics: Topics,
        questioner: Questioner,
        clock: Clock,
    ) -> None:
        self._config = config
        self._store_config = store_config
        self._pending = pending
        self._store = staging.store
        self._rules = rules
        self._topics = topics
        self._questioner = questioner
        self._clock = clock
        self._next_round = 0

    async def run(self) -> None:
        """Rounds, until cancelled."""
        while True:
            pause = self._config.transaction_check_interval
            self._next_round = self._clock.steady_millis() + pause
            await self._clock.sleep(pause / 1000)
            self._next_round = 0
            await self.round()

    def next_due(self, until: int) -> int | None:
        """When halves are looked at, in ms since 1970; 0 while they are. None if there is none."""
        return self._next_round if len(self._pending) else None

    async def round(self) -> None:
        ends_at = trio.current_time() + _ROUND_SECONDS
        cases: list[Case] = []
        size = 0
        for looked_at, offset in enumerate(self._pending.offsets(), 1):
            half = self._pending.at(offset)
            verdict = None if half is None else self._verdict(half)
            if half is not None and verdict is not None:
                size += half.size
                if cases and (len(cases) >= _SLICE or size > BYTES_PER_STEP):
                    if not self._settle(cases) or trio.current_time() > ends_at:
                        return
                    cases, size = [], half.size
                    await trio.lowlevel.checkpoint()
                record = await self._read(half)
                if record is not None:
                    cases.append(Case(half, verdict, record))
            if looked_at % _LOOKED_AT == 0:
                await trio.lowlevel.checkpoint()
        self._settle(cases)

    def _verdict(self, half: Half) -> Verdict | None:
        """None: it is left alone."""
        age = self._clock.millis() - self._clock.of_peer(half.born)
        most = self._config.transaction_check_max
        kept = self._store_config.file_reserved_time * _HOUR_MILLIS
        if (half.checks >= 0 and half.checks >= most) or age > kept:
            return Verdict.GIVE_UP
        timeout = self._config.transaction_time_out
        immune = immune_millis(half, timeout)
        if immune is not None:
            return Verdict.PUT_BACK if age <= immune else Verdict.ASK
        # Born in the future: the clocks differ, and its age says nothing.
        return None if 0 <= age <= timeout else Verdict.ASK

    async def _read(self, half: Half) -> Record | None:
        """The half's record; None when there is none, or when it was ended while the disk was read."""
        try:
            try:
                record = record_in_memory(self._store, half.physical_offset)
            except ColdRecord:
                record = await fetch_record(self._store, half.physical_offset)
        except NoRecord:
            if half.physical_offset < self._store.min_physical_offset:
                log.error("half message deleted with its file: at=%d", half.offset)
                if self._pending.has(half):
                    self._pending.settle(half.offset)
            else:
                log.error("half message left out, there is no record: at=%d", half.offset)
            return None
        return record

    def _settle(self, cases: list[Case]) -> bool:
        """Store what they become, then ask; False when the store accepts nothing."""
        questions: list[CheckRequest] = []
        accepts = True
        for case in cases:
            if not self._pending.has(case.half):
                # It was ended while others were read.
                continue
            try:
                question = self._stage(case)
            except _BAD as error:
                log.error("half message left out: at=%d reason=%s", case.half.offset, error)
                continue
            except StoreError as error:
                log.warning("half messages not checked: reason=%s", error)
                accepts = False
                break
            if question is not None:
                questions.append(question)
        try:
            self._store.write_staged()
        except StoreError as error:
            log.warning("half messages not checked: reason=%s", error)
            return False
        for question in questions:
            self._questioner.ask(question)
        return accepts

    def _stage(self, case: Case) -> CheckRequest | None:
        """What the half becomes, claimed as settled where it lay; the question about its copy."""
        half, verdict, record = case
        checks = max(half.checks, 0) + 1
        real_place(parse_properties(record.properties))
        copy = self._copy(verdict, record, checks)
        message, properties = copy
        self._rules.apply(message, properties, None)
        appended = self._store.stage(message)
        self._store.claims.add((HALF, half.offset))
        if verdict is Verdict.ASK:
            return CheckRequest(record, properties, appended)
        if verdict is Verdict.GIVE_UP:
            log.error(
                "half message given up: topic=%s unique=%s checks=%d stored_in=%s",
                half.topic,
                half.unique.decode(errors="replace"),
                half.checks,
                message.topic,
            )
        return None

    def _copy(self, verdict: Verdict, record: Record, checks: int) -> Copy:
        if verdict is Verdict.PUT_BACK:
            return put_back_immune(record)
        if verdict is Verdict.ASK:
            return put_back_to_ask(record, checks)
        self._topics.create_for_unchecked_transactions(1, Perm.READ | Perm.WRITE)
        # One that is only too old counts the round in which nobody was asked, as there.
        was_asked_enough = checks > self._config.transaction_check_max
        return given_up(record, checks - 1 if was_asked_enough else checks)
