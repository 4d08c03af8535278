"""EndTransaction: a producer commits or rolls back (EndTransactionActivity)."""

from __future__ import annotations

from typing import Final

from trimq.codec.flags import SysFlag
from trimq.proxy.checks import check_topic, is_blank
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.protos.definition_pb2 import Code, TransactionResolution, TransactionSource
from trimq.proxy.protos.service_pb2 import EndTransactionRequest, EndTransactionResponse
from trimq.proxy.statuses import OK, ProxyError
from trimq.proxy.transactions import Resolution, Transactions

_KINDS: Final = {
    TransactionResolution.COMMIT: int(SysFlag.COMMIT),
    TransactionResolution.ROLLBACK: int(SysFlag.ROLLBACK),
}


class EndTransaction:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def __call__(
        self, caller: Caller, request: EndTransactionRequest
    ) -> EndTransactionResponse:
        topic = check_topic(request.topic)
        if is_blank(request.transaction_id):
            raise ProxyError(Code.INVALID_TRANSACTION_ID, "transaction id cannot be empty")
        said = Resolution(
            _KINDS.get(request.resolution, int(SysFlag.NOT_TRANSACTION)),
            request.message_id,
            request.source == TransactionSource.SOURCE_SERVER_CHECK,
        )
        await self._transactions.end(topic, request.transaction_id, said)
        return EndTransactionResponse(status=OK)
