"""CHECK_TRANSACTION_STATE: a broker wants to know what became of a transaction (ProxyClientRemotingProcessor)."""

from __future__ import annotations

import logging

import trio

from trimq.base.clock import Clock
from trimq.codec.codes import RequestCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.transactions import CheckTransactionStateRequestHeader
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.record import parse_record
from trimq.proxy import properties as names
from trimq.proxy.clients import Clients
from trimq.proxy.half_messages import Place
from trimq.proxy.protos.service_pb2 import TelemetryCommand
from trimq.proxy.questions.stored import stored_message
from trimq.proxy.transaction_producers import TransactionProducers
from trimq.proxy.transactions import Transactions
from trimq.remoting.contract import Processor, Request, Response

log = logging.getLogger("trimq.proxy")


class CheckTransactionState(Processor[CheckTransactionStateRequestHeader]):
    """One-way: one of those who send to that topic is asked, and answers by EndTransaction."""

    codes = (RequestCode.CHECK_TRANSACTION_STATE,)
    header = CheckTransactionStateRequestHeader

    def __init__(
        self,
        clients: Clients,
        transactions: Transactions,
        producers: TransactionProducers,
        nursery: trio.Nursery,
        clock: Clock,
    ) -> None:
        self._clients = clients
        self._transactions = transactions
        self._producers = producers
        self._nursery = nursery
        self._clock = clock

    def handle(self, request: Request[CheckTransactionStateRequestHeader]) -> Response:
        header = request.header
        try:
            record = parse_record(request.body, check_crc=False)
        except CodecError as error:
            log.warning("check of a transaction not understood: reason=%s", error)
            return Response(no_reply=True)
        group = parse_properties(record.properties).get(names.PRODUCER_GROUP)
        client = None if group is None else self._clients.next_producer_of(group)
        if client is None or group is None:
            log.warning("nobody to ask about a transaction: group=%s", group)
            return Response(no_reply=True)
        broker_name = header.bname or self._producers.broker_at(request.peer.remote_addr)
        transaction_id = header.transaction_id or ""
        if broker_name:
            place = Place(broker_name, header.tran_state_table_offset, header.commit_log_offset)
            self._transactions.add(group, transaction_id, place)
        command = TelemetryCommand()
        command.recover_orphaned_transaction_command.transaction_id = transaction_id
        command.recover_orphaned_transaction_command.message.CopyFrom(
            stored_message(record, self._clock)
        )
        self._nursery.start_soon(self._clients.tell, client, command)
        return Response(no_reply=True)
