"""RESUME_CHECK_HALF_MESSAGE: an operator has a half message taken up again (AdminBrokerProcessor).

It is stored among the pending ones as if nobody had been asked about it yet. One that is pending is left
as it is: a second place would deliver it twice. So would one that was delivered already.
"""

import logging

from trimq.broker.produce.puts.rules import PutRefused, PutRules
from trimq.broker.transactions.discarded_halves import DiscardedHalves
from trimq.broker.transactions.half_copies import BadHalf, resumed
from trimq.broker.transactions.pending import PendingHalves, key_of
from trimq.codec.codes import ResponseCode
from trimq.codec.names import TRANS_CHECK_MAX_TIME_TOPIC, TRANS_HALF_TOPIC
from trimq.codec.records.record import Record
from trimq.remoting.contract import RemotingError
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore

log = logging.getLogger("trimq.transactions")


class Resuming:
    def __init__(
        self,
        store: MessageStore,
        pending: PendingHalves,
        rules: PutRules,
        given_up: DiscardedHalves,
    ) -> None:
        self._given_up = given_up
        self._store = store
        self._pending = pending
        self._rules = rules

    async def resume(self, record: Record) -> None:
        """Write it. RemotingError: it is no half message, or cannot be stored. StoreError of the write."""
        if record.topic not in (TRANS_CHECK_MAX_TIME_TOPIC, TRANS_HALF_TOPIC):
            raise _failed("it is not a half message")
        async with self._given_up.one_at_a_time:
            try:
                if await self._given_up.is_delivered(record):
                    return
            except BadHalf as error:
                raise _failed(str(error)) from error
            self._stage(record)
            self._store.write_staged()

    def _stage(self, record: Record) -> None:
        key = key_of(record.properties, record.born_timestamp)
        # Written by another one, or staged by the receive that goes on.
        if self._pending.of_key(key) is not None:
            return
        try:
            message, properties = resumed(record)
            self._rules.apply(message, properties, None)
            self._store.stage(message)
        except (BadHalf, PutRefused, StoreError) as error:
            raise _failed(str(error)) from error
        log.info("half message taken up again: unique=%s", key[0].decode(errors="replace"))


def _failed(reason: str) -> RemotingError:
    log.error("half message not taken up again: reason=%s", reason)
    return RemotingError(
        ResponseCode.SYSTEM_ERROR, "Put message back to RMQ_SYS_TRANS_HALF_TOPIC failed."
    )


def not_readable() -> RemotingError:
    """Nothing could be read there, or the id is none."""
    return RemotingError(
        ResponseCode.SYSTEM_ERROR,
        "Exception was thrown when putting message back to RMQ_SYS_TRANS_HALF_TOPIC.",
    )
