"""Whether a slave's log is still a copy of its master's: looked at on each link, before anything is copied or followed.

A master may come back without its disk, with an older store, or after a power loss that took the end of its log. Then
its slave has what nobody else has. The link that copies the log does not show it when the master is RocketMQ's
(DefaultHAConnection sends on from where the slave's log ends, as soon as its own has passed that), and when
the master's log has grown longer than the slave's by then.

Both questions are ones that every version of RocketMQ answers.
"""

from __future__ import annotations

from typing import Final

from trimq.broker.cluster.other_brokers import OtherBrokers
from trimq.broker.identity import BrokerIdentity
from trimq.broker.records import sound_record
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.kv import KVTable
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.base import Header
from trimq.codec.headers.messages import ViewMessageRequestHeader
from trimq.remoting.contract import RemotingError
from trimq.store.message_store import MessageStore

KEEP: Final = (
    "this store has what the master lacks: keep it. If the master does not get its own store back, stop it, make this "
    "broker the master (brokerRole=ASYNC_MASTER, brokerId=0), and start the old one as its slave with an empty store"
)
_LEAVE: Final = "stop this broker, remove its store and start it empty"
_BEHIND: Final = (
    "both logs go on differently from some point before that: what only this one has is not on the master. If nobody "
    f"needs it, {_LEAVE}"
)


class _NoFields(Header, kw_only=True):
    """The question has none."""


class LogComparison:
    def __init__(self, identity: BrokerIdentity, others: OtherBrokers, store: MessageStore) -> None:
        """It has the name of master and slave."""
        self._identity = identity
        self._others = others
        self._store = store

    async def masters_end(self) -> int:
        """Where the master's log ends. RemotingError: it does not say."""
        return (await self._masters_extent())[1]

    async def _masters_extent(self) -> tuple[int, int]:
        """Where it begins and ends."""
        reply = await self._others.ask(
            self._identity.name, RequestCode.GET_BROKER_RUNTIME_INFO, _NoFields()
        )
        why = reply.remark
        if reply.code == ResponseCode.SUCCESS:
            try:
                values = decode_body(KVTable, bytes(reply.body)).table
                return int(values["commitLogMinOffset"]), int(values["commitLogMaxOffset"])
            except (CodecError, KeyError, ValueError) as error:
                why = repr(error)
        raise RemotingError(reply.code, f"the master does not say where its log ends: {why}")

    async def why_not(self) -> str | None:
        """Why the master's log is another one, and what to do; None while it is the same. RemotingError: not known."""
        # Before the question: the master's only grows meanwhile.
        own_end, last = self._store.max_physical_offset, self._store.last_shown
        begin, end = await self._masters_extent()
        if end < own_end:
            return f"its log ends at {end}, this one at {own_end}: {KEEP}"
        if 0 < own_end < begin:
            return f"its log begins at {begin}, this one ends at {own_end}: {_LEAVE}"
        if last >= begin and await self._differs(last):
            first = self._store.min_physical_offset
            advice = KEEP if begin <= first < last and await self._differs(first) else _BEHIND
            return f"its log has another message at {last}, where this one has its last: {advice}"
        return None

    async def _differs(self, offset: int) -> bool:
        """Whether the master has something else there than this log."""
        own = self._store.record_at(offset)
        if own is None or sound_record(own) is None:
            # A master would not show it either.
            return False
        header = ViewMessageRequestHeader(offset=offset)
        reply = await self._others.ask(self._identity.name, RequestCode.VIEW_MESSAGE_BY_ID, header)
        return reply.code != ResponseCode.SUCCESS or bytes(reply.body) != own
