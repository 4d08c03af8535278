"""END_TRANSACTION: a producer commits or rolls back (EndTransactionProcessor).

A commit stages the copy for consumers; what settles the half is an op, one for all that a receive (or a
round of checks) has decided, staged last in the same write. So a half is delivered once: whatever a
crash leaves of the write, either the half is still pending or its copy is there
(docs/decisions/0016-ops-in-the-same-write.md).

An END that is repeated, in the same receive or years later, stores nothing and is answered like the
first. One that names a place where the half does not lie any more decides it where it lies now.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import logging
from typing import Final

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.elastic.maps import ElasticMaps
from trimq.broker.produce.puts.rules import PutRefused, PutRules, PutStatus, put_status
from trimq.broker.produce.puts.staging import Staging
from trimq.broker.produce.puts.wait_stored import wait_stored
from trimq.broker.topics.table import Topics
from trimq.broker.transactions.half_copies import (
    OP_PROPERTIES,
    BadHalf,
    HalfSays,
    committed,
    committed_as_it_says,
    op_body,
)
from trimq.broker.transactions.pending import HALF, PendingHalves, end_millis
from trimq.codec.codes import ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.names import TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC
from trimq.codec.records.record import Record, parse_record
from trimq.remoting.contract import RemotingError
from trimq.store.errors import StoreError, TooManyLightQueues
from trimq.store.message_store import MessageStore

log = logging.getLogger("trimq.transactions")

_ILLEGAL: Final = (PutStatus.MESSAGE_ILLEGAL, PutStatus.PROPERTIES_SIZE_EXCEEDED)


class TooLate(Exception):
    """The half has an immunity of its own, and that is over: its producer has to wait to be asked."""


class NotPending(Exception):
    """A commit of what is no pending half any more: it was ended, or given up."""


class End:
    """What a producer says: about the half at these two offsets, on behalf of its group.

    `checked`: it was asked, and did not come by itself.
    """

    __slots__ = ("checked", "commit", "group", "physical_offset", "queue_offset")

    def __init__(
        self, group: str, queue_offset: int, physical_offset: int, commit: bool, checked: bool
    ) -> None:
        self.group = group
        self.queue_offset = queue_offset
        self.physical_offset = physical_offset
        self.commit = commit
        self.checked = checked


class Ending:
    __slots__ = (
        "_clock",
        "_config",
        "_maps",
        "_pending",
        "_rules",
        "_staging",
        "_store",
        "_topics",
    )

    def __init__(
        self,
        config: BrokerConfig,
        pending: PendingHalves,
        staging: Staging,
        rules: PutRules,
        topics: Topics,
        clock: Clock,
        maps: ElasticMaps,
    ) -> None:
        self._maps = maps
        self._config = config
        self._pending = pending
        self._staging = staging
        self._store: MessageStore = staging.store
        self._rules = rules
        self._topics = topics
        self._clock = clock

    def end(self, end: End, record: Record) -> int:
        """Decide the half that this record is or was; -1, or up to where its producer waits for the disk.

        Staged, to be written at the end of the receive. RemotingError or TooLate: refused, nothing is
        changed. NotPending: nothing is changed, and a commit may still be late.
        """
        says = HalfSays(record)
        self._check_time(end, record, says.immunity)
        _check_fields(end, record, says.group)
        if record.topic != TRANS_HALF_TOPIC:
            raise not_found()
        key = (says.unique or b"", record.born_timestamp)
        half = self._pending.where_now(end.queue_offset, key)
        if half is None:
            if end.commit:
                raise NotPending
            return -1
        if (HALF, half.offset) in self._store.claims:
            return -1
        durable_at = self._commit(record, half.physical_offset, says) if end.commit else -1
        self._store.claims.add((HALF, half.offset))
        return durable_at

    def commit(self, record: Record, half_at: int) -> int:
        """Stage the message for consumers; `half_at`: the half that it settles. As `end`."""
        return self._commit(record, half_at, HalfSays(record))

    def _commit(self, record: Record, half_at: int, says: HalfSays) -> int:
        try:
            if says.ordinary:
                message, waits = committed_as_it_says(record, half_at, says), says.waits
                self._rules.apply_ready(message)
            else:
                message, properties = committed(record, half_at)
                config = self._topics.get(message.topic)
                attributes = None if config is None else config.attributes
                self._rules.apply(message, properties, attributes)
                self._rules.check_light(message, properties)
                waits = wait_stored(properties)
            message.queue_id = self._maps.place(message.topic, message.queue_id)
            appended = self._store.stage(message)
        except BadHalf as bad:
            # Names of their own: mypyc gives both handlers the type of the first.
            log.error("half message cannot be committed: at=%d reason=%s", half_at, bad)
            raise RemotingError(ResponseCode.SYSTEM_ERROR, str(bad)) from bad
        except (PutRefused, StoreError) as error:
            log.warning("half message not committed: at=%d reason=%s", half_at, error)
            raise self._refused(error) from error
        return appended.end if self._staging.waits and waits else -1

    def record_of(self, end: End) -> Record | None:
        """The record of a pending half, if it lies where the END says and is in memory; None: look for it there."""
        size = self._pending.size_at(end.queue_offset, end.physical_offset)
        data = self._store.read_now(end.physical_offset, size) if size else None
        if data is None:
            return None
        try:
            record = parse_record(bytes(data), 0, False)
        except CodecError:
            return None
        whole = record.physical_offset == end.physical_offset and record.total_size == size
        return record if whole else None

    def stage_op(self) -> None:
        """The store's last stager: settles the halves that are claimed."""
        offsets = sorted([number for table, number in self._store.claims if table == HALF])
        if offsets:
            body, now = op_body(offsets), self._clock.millis()
            self._store.stage(self._staging.own(TRANS_OP_HALF_TOPIC, body, OP_PROPERTIES, now))

    def _check_time(self, end: End, record: Record, immunity: bytes | None) -> None:
        """rejectCommitOrRollback: with an immunity of its own, a half is left to the checks after it."""
        if end.checked or immunity is None:
            return
        limit = end_millis(immunity, self._config.transaction_time_out)
        if self._clock.millis() - self._clock.of_peer(record.born_timestamp) > limit:
            raise TooLate

    def _refused(self, error: PutRefused | StoreError) -> RemotingError:
        """EndTransactionProcessor.sendFinalMessage: not quite what a send is told."""
        if put_status(error) is PutStatus.SERVICE_NOT_AVAILABLE:
            return RemotingError(ResponseCode.SERVICE_NOT_AVAILABLE, "Service not available now.")
        if isinstance(error, TooManyLightQueues):
            return RemotingError(ResponseCode.SYSTEM_ERROR, "UNKNOWN_ERROR DEFAULT")
        refused = self._staging.refused(TRANS_HALF_TOPIC, error)
        if put_status(error) in _ILLEGAL:
            # The same sentence, with a capital letter.
            return RemotingError(refused.code, "T" + refused.remark[1:])
        return RemotingError(refused.code, refused.remark)


def not_found() -> RemotingError:
    return RemotingError(ResponseCode.SYSTEM_ERROR, "Find prepared transaction message failed")


def _check_fields(end: End, record: Record, group: bytes | None) -> None:
    """checkPrepareMessage."""
    if group is None or group.decode(errors="replace") != end.group:
        raise RemotingError(ResponseCode.SYSTEM_ERROR, "The producer group wrong")
    if record.queue_offset != end.queue_offset:
        raise RemotingError(ResponseCode.SYSTEM_ERROR, "The transaction state table offset wrong")
    if record.physical_offset != end.physical_offset:
        raise RemotingError(ResponseCode.SYSTEM_ERROR, "The commit log offset wrong")
