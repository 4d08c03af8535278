"""RESUME_CHECK_HALF_MESSAGE: an operator has a half message taken up again (AdminBrokerProcessor).

It is stored among the pending ones as if nobody had been asked about it yet. One that is pending is left
as it is: a second place would deliver it twice.
"""

import logging
from typing import Final

from trimq.broker.produce.puts import PutRefused, PutRules
from trimq.broker.transactions.copies import BadHalf, real_place, resumed
from trimq.broker.transactions.pending import PendingHalves, key_of
from trimq.codec.codes import ResponseCode
from trimq.codec.names import TRANS_CHECK_MAX_TIME_TOPIC, TRANS_HALF_TOPIC
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.record import Record
from trimq.remoting.contract import RemotingError
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore

log = logging.getLogger("trimq.transactions")

# The table that claims name: the record at this physical offset is taken up again.
_RESUMED: Final = "resumed half"


class Resuming:
    def __init__(self, store: MessageStore, pending: PendingHalves, rules: PutRules) -> None:
        self._store = store
        self._pending = pending
        self._rules = rules

    def resume(self, record: Record) -> None:
        """Stage it, to be written at the end of the receive. RemotingError: it is no half message, or
        cannot be stored.
        """
        claim = (_RESUMED, record.physical_offset)
        key = key_of(record.properties, record.born_timestamp)
        if record.topic not in (TRANS_CHECK_MAX_TIME_TOPIC, TRANS_HALF_TOPIC):
            raise _failed("it is not a half message")
        if self._pending.of_key(key) is not None or claim in self._store.claims:
            return
        try:
            real_place(parse_properties(record.properties))
            message, properties = resumed(record)
            self._rules.apply(message, properties, None)
            self._store.stage(message)
        except (BadHalf, PutRefused, StoreError) as error:
            raise _failed(str(error)) from error
        self._store.claims.add(claim)
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
