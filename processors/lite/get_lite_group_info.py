"""GET_LITE_GROUP_INFO: how far a group is behind in one lite topic, or in those where it is furthest behind."""

from typing import Final

from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.lite.consumer_lag import LiteConsumerLag
from trimq.broker.lite.metadata import LiteMetadata
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.lite import GetLiteGroupInfoResponseBody
from trimq.codec.bodies.progress import OffsetWrapper
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.lite import GetLiteGroupInfoRequestHeader
from trimq.codec.names import REMARK_LEFT, lite_queue
from trimq.processors._steps import WholeProcessor
from trimq.remoting.contract import RemotingError, Request, Response
from trimq.store.message_store import MessageStore

_NOTHING: Final = -1


class GetLiteGroupInfo(WholeProcessor[GetLiteGroupInfoRequestHeader]):
    codes = (RequestCode.GET_LITE_GROUP_INFO,)
    header = GetLiteGroupInfoRequestHeader

    def __init__(
        self,
        metadata: LiteMetadata,
        lags: LiteConsumerLag,
        offsets: ConsumerOffsets,
        store: MessageStore,
    ) -> None:
        self._metadata = metadata
        self._lags = lags
        self._offsets = offsets
        self._store = store

    def answer(self, request: Request[GetLiteGroupInfoRequestHeader]) -> Response:
        header = request.header
        topic = self._metadata.bound_topic(header.group)
        body = GetLiteGroupInfoResponseBody(
            group=header.group, parent_topic=topic, lite_topic=header.lite_topic
        )
        if header.lite_topic:
            self._fill_one(body, header.group, lite_queue(topic, header.lite_topic))
        else:
            group, most = header.group, header.top_k
            if most <= 0:
                raise RemotingError(
                    ResponseCode.SYSTEM_ERROR, f"topK is {most}, and has to be above 0"
                )
            counted, body.total_lag_count = self._lags.by_count(group, most)
            timed, body.earliest_unconsumed_timestamp = self._lags.by_time(group, topic, most)
            body.lag_count_top_k, body.lag_timestamp_top_k = counted, timed
        return Response(remark=REMARK_LEFT, body=encode_body(body))

    def _fill_one(self, body: GetLiteGroupInfoResponseBody, group: str, queue: str) -> None:
        end = self._store.max_offset(queue, 0)
        if end <= 0:
            body.total_lag_count = body.earliest_unconsumed_timestamp = _NOTHING
            return
        offset = self._offsets.query(group, queue, 0)
        if offset < 0:
            return
        body.total_lag_count = end - offset
        body.earliest_unconsumed_timestamp = self._store.store_time(queue, 0, offset)
        last = self._store.store_time(queue, 0, offset - 1) if offset > 0 else 0
        body.lite_topic_offset_wrapper = OffsetWrapper(
            broker_offset=end, consumer_offset=offset, last_timestamp=last
        )
