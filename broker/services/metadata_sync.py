"""A slave's tables follow its master's (SlaveSynchronize): asked for every minute, timers' progress every 3 s.

A message of an unknown topic has them asked for at once, so that it can be read. Tables with a version are
replaced when it differs; offsets are merged, and none is ever deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import trio

from trimq.broker.cluster.other_brokers import OtherBrokers
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.replication import HARuntimeInfo
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.base import Header
from trimq.remoting.contract import RemotingError
from trimq.store.errors import StoreError

log: Final = logging.getLogger("trimq.broker")

# BrokerController.startServiceWithoutCondition: the first time after 10 s there, and every 60 s. Ours begins at once.
TABLES_SECONDS: Final = 60
TIMERS_SECONDS: Final = 3
# No sooner again than this, whatever comes.
SOON_SECONDS: Final = 1

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
    ) -> None:
        """`name` is that of master and slave; `tables`: by the request code that asks for each.

        `log_end`: that of the copied log.
        """
        self._log_end = log_end
        # The master's progress, and where its log ended after that.
        self._progress: tuple[bytes, int] | None = None
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
                await self._follow(code, follow)
            await trio.sleep(SOON_SECONDS)
            # Until the master answers for the first time: soon again.
            with trio.move_on_after(TIMERS_SECONDS if self._failing else TABLES_SECONDS):
                await self._wanted.wait()
            self._wanted = trio.Event()

    async def follow_timers(self) -> None:
        """Until cancelled."""
        timers = self._timers
        if timers is None:
            await trio.sleep_forever()
            return
        while True:
            if self._progress is None:
                await self._follow(RequestCode.GET_TIMER_CHECK_POINT, self._note)
            # What was delivered must be here before it is taken for delivered: its master may be lost now.
            if self._progress is not None and self._progress[1] <= self._log_end():
                (body, _), self._progress = self._progress, None
                await timers(body)
            await trio.sleep(TIMERS_SECONDS)

    async def _note(self, body: bytes) -> None:
        status = await self._others.ask(self._name, RequestCode.GET_BROKER_HA_STATUS, NoFields())
        end = decode_body(HARuntimeInfo, bytes(status.body)).master_commit_log_max_offset
        self._progress = body, end

    async def _follow(self, code: int, follow: Follow) -> None:
        why = ""
        try:
            reply = await self._others.ask(self._name, code, NoFields())
            if reply.code == ResponseCode.SUCCESS:
                await follow(bytes(reply.body))
            else:
                why = f"{reply.remark} (code {reply.code})"
        except RemotingError as error:
            why = str(error)
        except (CodecError, StoreError) as error:
            why = f"its answer cannot be used: {error}"
        if why and code not in self._failing:
            log.warning("a table of the master was not read: code=%d reason=%s", code, why)
        if why:
            self._failing[code] = why
        else:
            self._failing.pop(code, None)
