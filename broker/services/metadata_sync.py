"""A slave's tables follow its master's (SlaveSynchronize): asked for every minute, timers' progress every 3 s.

A message of an unknown topic has them asked for at once, so that it can be read. Tables with a version are
replaced when it differs; offsets are merged, and none is ever deleted.

A master speaks of what it has done since its log was copied, too: of messages that were delivered or read. A table
that does is held until the copied log has come as far as the master's was then, because the master may be lost now,
and with it what a slave would take for delivered. (RocketMQ takes it over at once.)
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Container, Mapping
from functools import partial
from typing import Final

import trio

from trimq.broker.cluster.other_brokers import OtherBrokers
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.replication import HARuntimeInfo
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
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


class MetadataSync:
    def __init__(
        self,
        name: str,
        others: OtherBrokers,
        tables: Mapping[int, Follow],
        timers: Follow | None,
        log_end: Callable[[], int],
        of_log: Container[int] = (),
    ) -> None:
        """`name` is that of master and slave; `tables`: by the request code that asks for each.

        `log_end`: that of the copied log. `of_log`: the codes of tables that speak of what is in the log.
        """
        self._log_end = log_end
        self._of_log = of_log
        # The master's answers by their codes, and where its log ended after each.
        self._held: dict[int, tuple[bytes, int]] = {}
        self._name = name
        self._others = others
        self._tables = tables
        self._timers = timers
        self._failing: dict[int, str] = {}
        self._wanted = trio.Event()

    def ask_soon(self) -> None:
        """The log speaks of something that the tables do not have."""
        self._wanted.set()

    async def follow_tables(self) -> None:
        """Until cancelled."""
        while True:
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
        if code in self._held:
            await self._follow(RequestCode.GET_BROKER_HA_STATUS, partial(self._look_again, code))
        else:
            await self._follow(code, partial(self._hold, code))

    async def _look_again(self, code: int, body: bytes) -> None:
        """It is not waited for what a master has lost, or another one never had."""
        if _end_of(body) < self._held[code][1]:
            del self._held[code]

    async def _hold(self, code: int, body: bytes) -> None:
        code_of_ends = RequestCode.GET_BROKER_HA_STATUS
        status = await self._others.ask_courteously(self._name, code_of_ends, NoFields())
        if status is None:
            # A RocketMQ older than 5: as that one does it.
            self._held[code] = body, 0
            return
        self._held[code] = body, _end_of(bytes(status.body))

    async def _take_held(self, tables: Mapping[int, Follow]) -> None:
        for code, follow in tables.items():
            held = self._held.get(code)
            if held is None or held[1] > self._log_end():
                continue
            del self._held[code]
            try:
                await follow(held[0])
            except (CodecError, StoreError) as error:
                self._tell(code, f"its answer cannot be used: {error}")

    async def _follow(self, code: int, follow: Follow) -> None:
        why = ""
        try:
            reply = await self._asked(code)
            if reply is None:
                # An older master has nothing of that kind.
                self._tell(code, "")
                return
            if reply.code == ResponseCode.SUCCESS:
                await follow(bytes(reply.body))
            else:
                why = f"{reply.remark} (code {reply.code})"
        except RemotingError as error:
            why = str(error)
        except (CodecError, StoreError) as error:
            why = f"its answer cannot be used: {error}"
        self._tell(code, why)

    async def _asked(self, code: int) -> RemotingCommand | None:
        if code in _NOT_OF_4:
            return await self._others.ask_courteously(self._name, code, NoFields())
        return await self._others.ask(self._name, code, NoFields())

    def _tell(self, code: int, why: str) -> None:
        """One line when it begins to fail. Without a reason it was read."""
        if why and code not in self._failing:
            log.warning("a table of the master was not read: code=%d reason=%s", code, why)
        if why:
            self._failing[code] = why
        else:
            self._failing.pop(code, None)


def _end_of(body: bytes) -> int:
    """Where the log of the master ends that says this."""
    return decode_body(HARuntimeInfo, body).master_commit_log_max_offset
