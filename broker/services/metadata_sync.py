"""A slave's tables follow its master's (SlaveSynchronize): asked for every minute, timers' progress every 3 s.

A message of an unknown topic has them asked for at once, so that it can be read. What is taken over of a table that
has a version is in `broker/tables/replicated.py`; offsets are merged, and none is ever deleted.

Nothing is taken over of a master whose log is not the one that is copied: while there is no link, or when its log ends
before the copy. It has lost its store then, or part of it, and its tables speak of another one.

A master speaks of what it has done since its log was copied, too: of messages that were delivered or read. A table
that does is held until the copied log has come as far as the master's was then, because the master may be lost now,
and with it what a slave would take for delivered. (RocketMQ takes it over at once.)
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Container, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import trio

from trimq.broker.identity import BrokerIdentity
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
from trimq.codec.headers.topics import SlavesTopicConfigRequestHeader
from trimq.remoting.contract import RemotingError
from trimq.store.errors import StoreError

log: Final = logging.getLogger("trimq.broker")

# BrokerController.startServiceWithoutCondition: the first time after 10 s there, and every 60 s. Ours begins at once.
TABLES_SECONDS: Final = 60
TIMERS_SECONDS: Final = 3
# No sooner again than this, whatever comes.
SOON_SECONDS: Final = 1
# Between looks at whether the log has come far enough.
HELD_SECONDS: Final = 0.5

# What RocketMQ's brokers of 4.x do not have. Before 4.9.1 they leave what they do not know unanswered.
_NOT_OF_4: Final = frozenset(
    (
        RequestCode.GET_ALL_MESSAGE_REQUEST_MODE,
        RequestCode.GET_TIMER_METRICS,
        RequestCode.GET_TIMER_CHECK_POINT,
    )
)

# Takes over a table, from the body of the master's answer.
Follow = Callable[[bytes], Awaitable[None]]


class NoFields(Header, kw_only=True):
    """All of a table is asked for without a header's fields."""


class Questions(Protocol):
    """`OtherBrokers`."""

    async def ask(self, name: str, code: int, header: Header) -> RemotingCommand: ...

    async def ask_courteously(
        self, name: str, code: int, header: Header
    ) -> RemotingCommand | None: ...


@dataclass(frozen=True, slots=True)
class Copy:
    """The copied log: where it ends, whether it is being copied from a master whose log is the same, and where that
    one ends.
    """

    end: Callable[[], int]
    is_same: Callable[[], bool]
    masters_end: Callable[[], Awaitable[int]]


class MetadataSync:
    def __init__(
        self,
        identity: BrokerIdentity,
        others: Questions,
        tables: Mapping[int, Follow],
        timers: Follow | None,
        copy: Copy,
        of_log: Container[int] = (),
    ) -> None:
        """`identity` has the name of master and slave; `tables`: by the request code that asks for each.

        `of_log`: the codes of tables that speak of what is in the log.
        """
        self._copy = copy
        self._of_log = of_log
        # The master's answers by their codes, and where its log ended after each.
        self._held: dict[int, tuple[bytes, int]] = {}
        self._identity = identity
        self._others = others
        self._tables = tables
        self._timers = timers
        self._failing: dict[int, str] = {}
        self._wanted = trio.Event()
        self._found = trio.Event()

    def ask_soon(self) -> None:
        """The log speaks of something that the tables do not have."""
        self._wanted.set()

    def found(self) -> None:
        """There is a master with the same log."""
        self._found.set()

    async def follow_tables(self) -> None:
        """Until cancelled."""
        while True:
            await self._until_same()
            for code, follow in self._tables.items():
                if code in self._of_log:
                    await self._ask_for_held(code)
                else:
                    await self._follow(code, follow)
            await self._take_held(self._tables)
            await trio.sleep(SOON_SECONDS)
            # Until the master answers for the first time: soon again.
            pause = TIMERS_SECONDS if self._failing else TABLES_SECONDS
            await self._wait(trio.current_time() + pause)
            self._wanted = trio.Event()

    async def _until_same(self) -> None:
        """While there is no such master; what is held is taken over meanwhile."""
        while not self._copy.is_same():
            self._found = trio.Event()
            await self._take_held(self._tables)
            with trio.move_on_after(HELD_SECONDS if self._held else math.inf):
                await self._found.wait()

    async def _wait(self, until: float) -> None:
        """Until then, or until the tables are wanted; what is held is taken over meanwhile."""
        while not self._wanted.is_set() and (left := until - trio.current_time()) > 0:
            await self._take_held(self._tables)
            is_holding = any(code in self._held for code in self._tables)
            with trio.move_on_after(min(left, HELD_SECONDS) if is_holding else left):
                await self._wanted.wait()

    async def follow_timers(self) -> None:
        """Until cancelled."""
        if self._timers is None:
            await trio.sleep_forever()
            return
        code = RequestCode.GET_TIMER_CHECK_POINT
        while True:
            await self._ask_for_held(code)
            await self._take_held({code: self._timers})
            await trio.sleep(TIMERS_SECONDS)

    async def _ask_for_held(self, code: int) -> None:
        """Not replaced by newer ones, or a log that is always a little behind would never come that far."""
        held = self._held.get(code)
        try:
            if held is None:
                await self._follow(code, None)
            elif self._copy.is_same() and await self._copy.masters_end() < held[1]:
                # It is not waited for what a master has lost, or another one never had.
                del self._held[code]
        except RemotingError as error:
            self._tell(code, str(error))

    async def _take_held(self, tables: Mapping[int, Follow]) -> None:
        for code, follow in tables.items():
            held = self._held.get(code)
            if held is None or held[1] > self._copy.end():
                continue
            del self._held[code]
            try:
                await follow(held[0])
            except (CodecError, StoreError) as error:
                self._tell(code, f"its answer cannot be used: {error}")

    async def _follow(self, code: int, follow: Follow | None) -> None:
        """None: it is held."""
        if not self._copy.is_same():
            return
        why = ""
        # What the master has is what it had when it was asked: it must have had all of this by then.
        own_end = self._copy.end()
        try:
            reply = await self._asked(code)
            if reply is None:
                # An older master has nothing of that kind.
                self._tell(code, "")
                return
            if reply.code != ResponseCode.SUCCESS:
                why = f"{reply.remark} (code {reply.code})"
            elif (end := await self._copy.masters_end()) < own_end:
                why = f"its log ends at {end}, this one at {own_end}"
            elif not self._copy.is_same():
                why = "the link is gone on which its log was copied"
            elif follow is None:
                self._held[code] = bytes(reply.body), end
            else:
                await follow(bytes(reply.body))
        except RemotingError as error:
            why = str(error)
        except (CodecError, StoreError) as error:
            why = f"its answer cannot be used: {error}"
        self._tell(code, why)

    async def _asked(self, code: int) -> RemotingCommand | None:
        if code in _NOT_OF_4:
            return await self._others.ask_courteously(self._identity.name, code, _header(code))
        return await self._others.ask(self._identity.name, code, _header(code))

    def _tell(self, code: int, why: str) -> None:
        """One line when it begins to fail. Without a reason it was read."""
        if why and code not in self._failing:
            log.warning("a table of the master was not read: code=%d reason=%s", code, why)
        if why:
            self._failing[code] = why
        else:
            self._failing.pop(code, None)


def _header(code: int) -> Header:
    if code == RequestCode.GET_ALL_TOPIC_CONFIG:
        return SlavesTopicConfigRequestHeader(deletions=True)
    return NoFields()
