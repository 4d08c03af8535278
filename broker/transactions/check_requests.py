"""CHECK_TRANSACTION_STATE: asking a producer what became of its transaction.

One-way, to one member of the group that sent the half message, in turn; the answer is an END that says so
(AbstractTransactionalMessageCheckListener.sendCheckMessage).
"""

import logging
from typing import NamedTuple

from trimq.broker.groups.clients.producers import Producers
from trimq.broker.identity import BrokerIdentity
from trimq.broker.transactions.half_copies import real_place
from trimq.codec.codes import RequestCode
from trimq.codec.headers.transactions import CheckTransactionStateRequestHeader
from trimq.codec.names import TRANS_HALF_TOPIC
from trimq.codec.native import encode_record, message_id
from trimq.codec.records.properties import format_properties
from trimq.codec.records.property_keys import PGROUP, UNIQ_KEY, WAIT
from trimq.codec.records.record import Record
from trimq.store.messages.message import Appended

log = logging.getLogger("trimq.transactions")


class CheckRequest(NamedTuple):
    """About a half message: its record as it was, its properties now, and where it lies now."""

    record: Record
    properties: dict[str, str]
    appended: Appended


class CheckRequests:
    def __init__(self, producers: Producers, identity: BrokerIdentity) -> None:
        self._producers = producers
        self._identity = identity
        self._id_start = identity.packed_store_host.hex().upper()

    def ask(self, question: CheckRequest) -> None:
        """Sends it to a producer, if there is one; nobody waits for anything."""
        properties, appended = question.properties, question.appended
        group = properties.get(PGROUP, "")
        peer = self._producers.pick(group)
        if peer is None:
            return
        unique = properties.get(UNIQ_KEY)
        header = CheckTransactionStateRequestHeader(
            topic=TRANS_HALF_TOPIC,
            tran_state_table_offset=appended.queue_offset,
            commit_log_offset=appended.physical_offset,
            msg_id=unique,
            transaction_id=unique,
            offset_msg_id=message_id(self._id_start, appended.physical_offset),
            bname=self._identity.name,
        )
        log.debug("asking a producer: group=%s unique=%s peer=%s", group, unique, peer)
        peer.oneway(RequestCode.CHECK_TRANSACTION_STATE, header, _body(question))


def _body(question: CheckRequest) -> bytes:
    """The message as its producer knows it, at the place where the half lies now."""
    record, appended = question.record, question.appended
    topic, queue_id = real_place(question.properties)
    return encode_record(
        topic.encode(),
        queue_id,
        record.flag,
        appended.queue_offset,
        appended.physical_offset,
        record.sys_flag,
        record.born_timestamp,
        record.born_host,
        record.store_timestamp,
        record.store_host,
        record.reconsume_times,
        0,
        record.body,
        format_properties({**question.properties, WAIT: "false"}),
    )
