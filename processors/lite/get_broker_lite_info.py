"""GET_BROKER_LITE_INFO: sizes of the tables that lite topics use."""

from typing import Final

from trimq.broker.groups.lite import LiteChecks
from trimq.broker.groups.offsets import ConsumerOffsets
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.lite import GetBrokerLiteInfoResponseBody
from trimq.codec.codes import RequestCode
from trimq.remoting.contract import Processor, Request, Response
from trimq.store.message_store import MessageStore

# MessageStoreConfig.maxLmqConsumeQueueNum, which cannot be set here.
_MOST_QUEUES: Final = 20_000


class GetBrokerLiteInfo(Processor[None]):
    codes = (RequestCode.GET_BROKER_LITE_INFO,)

    def __init__(self, checks: LiteChecks, offsets: ConsumerOffsets, store: MessageStore) -> None:
        self._checks = checks
        self._offsets = offsets
        self._store = store

    def handle(self, request: Request[None]) -> Response:
        body = GetBrokerLiteInfoResponseBody(
            store_type="default",
            max_lmq_num=_MOST_QUEUES,
            cq_table_size=len(self._store.topics()),
            offset_table_size=self._offsets.table_size(),
            topic_meta=self._checks.lifetimes(),
            group_meta=self._checks.groups_by_topic(),
        )
        return Response(body=encode_body(body))
