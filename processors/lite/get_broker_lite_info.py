"""GET_BROKER_LITE_INFO: sizes of the tables that lite topics use."""

from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.lite.events import LiteEvents
from trimq.broker.lite.metadata import LiteMetadata
from trimq.broker.lite.registry import LiteSubscriptions
from trimq.broker.pop.order.rules import OrderedBlocks
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.lite import GetBrokerLiteInfoResponseBody
from trimq.codec.codes import RequestCode
from trimq.processors._steps import WholeProcessor
from trimq.remoting.contract import Request, Response
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore


class GetBrokerLiteInfo(WholeProcessor[None]):
    codes = (RequestCode.GET_BROKER_LITE_INFO,)

    def __init__(
        self,
        metadata: LiteMetadata,
        subscriptions: LiteSubscriptions,
        events: LiteEvents,
        batches: OrderedBlocks,
        offsets: ConsumerOffsets,
        store: MessageStore,
        config: StoreConfig,
    ) -> None:
        self._metadata = metadata
        self._subscriptions = subscriptions
        self._events = events
        self._batches = batches
        self._offsets = offsets
        self._store = store
        self._config = config

    def answer(self, request: Request[None]) -> Response:
        body = GetBrokerLiteInfoResponseBody(
            store_type="default",
            max_lmq_num=self._config.max_lmq_consume_queue_num,
            current_lmq_num=self._store.light_queues,
            lite_subscription_count=self._subscriptions.count,
            order_info_count=len(self._batches),
            cq_table_size=len(self._store.topic_names()),
            offset_table_size=self._offsets.table_size(),
            event_map_size=len(self._events),
            topic_meta=self._metadata.lifetimes(),
            group_meta=self._metadata.groups_by_topic(),
        )
        return Response(body=encode_body(body))
