"""Reading queues: their offsets, and their messages in order."""

from dataclasses import dataclass
from typing import Final

from trimq.admin.brokers.cluster import topic_route
from trimq.admin.connecting.link import Link, ask
from trimq.admin.errors import NotFound, Stuck
from trimq.admin.messages.message import Message, read_messages, unwrapped
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.progress import QueryConsumeQueueResponseBody
from trimq.codec.bodies.route import TopicRouteData
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.flags import Perm, PullFlag
from trimq.codec.headers.base import decode_header
from trimq.codec.headers.offsets import (
    GetMaxOffsetRequestHeader,
    GetMaxOffsetResponseHeader,
    GetMinOffsetRequestHeader,
    GetMinOffsetResponseHeader,
    QueryConsumeQueueRequestHeader,
    SearchOffsetRequestHeader,
    SearchOffsetResponseHeader,
)
from trimq.codec.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader
from trimq.codec.names import MASTER_ID, TOOLS_CONSUMER_GROUP
from trimq.codec.records import property_keys

# PullStatus, by response code (MQClientAPIImpl.processPullResponse).
_STATUS: Final = {
    ResponseCode.SUCCESS: "FOUND",
    ResponseCode.PULL_NOT_FOUND: "NO_NEW_MSG",
    ResponseCode.PULL_RETRY_IMMEDIATELY: "NO_MATCHED_MSG",
    ResponseCode.PULL_OFFSET_MOVED: "OFFSET_ILLEGAL",
}


@dataclass(slots=True)
class Pulled:
    """An answer to a pull: `status` is a PullStatus, `next_offset` where to continue."""

    status: str
    next_offset: int
    messages: list[Message]

    def after(self, place: "Place", offset: int) -> int:
        """Where to continue behind the pull at `offset`; Stuck when that would be there again, for ever."""
        if self.next_offset <= offset and self.status in ("FOUND", "NO_MATCHED_MSG"):
            raise Stuck(
                f"{place.addr} answers a pull of queue {place.queue.queue_id} at {offset} with messages, and says"
                f" to go on at {self.next_offset}: given up"
            )
        return self.next_offset


@dataclass(frozen=True, slots=True)
class Place:
    """A queue and the address of the broker that has it."""

    queue: MessageQueue
    addr: str


def readable_places(topic: str, route: TopicRouteData) -> list[Place]:
    """Every queue of a route that may be read and whose master is known.

    A static topic's queues go by their global numbers, at the broker that has the last part of each.
    """
    mappings = route.topic_queue_mapping_by_broker or {}
    masters = {one.broker_name: one.broker_addrs.get(MASTER_ID) for one in route.broker_datas}
    return [
        Place(MessageQueue(broker_name=data.broker_name, queue_id=number, topic=topic), addr)
        for data in route.queue_datas
        if Perm.readable(data.perm) and (addr := masters.get(data.broker_name))
        for number in (
            sorted(mappings[data.broker_name].curr_id_map)
            if data.broker_name in mappings
            else data.readable()
        )
    ]


async def read_queues(link: Link, topic: str, route_topic: str | None = None) -> list[Place]:
    """The queues of a topic that may be read; NotFound when there is none.

    A lite topic has no route of its own: `route_topic` names the topic whose route is used.
    """
    places = readable_places(topic, await topic_route(link, route_topic or topic))
    if not places:
        raise NotFound(f"no broker lets queues of topic {topic!r} be read")
    return places


async def place_of(
    link: Link, topic: str, broker_name: str, queue_id: int, route_topic: str | None = None
) -> Place:
    """A queue by its broker's name; NotFound when that broker does not have the topic."""
    for broker in (await topic_route(link, route_topic or topic)).broker_datas:
        addr = broker.broker_addrs.get(MASTER_ID)
        if broker.broker_name == broker_name and addr:
            queue = MessageQueue(broker_name=broker_name, queue_id=queue_id, topic=topic)
            return Place(queue, addr)
    raise NotFound(f"broker {broker_name!r} does not have topic {topic!r}")


async def min_offset(link: Link, place: Place) -> int:
    """The queue's first offset."""
    header = GetMinOffsetRequestHeader(topic=place.queue.topic, queue_id=place.queue.queue_id)
    answer = await ask(link, place.addr, RequestCode.GET_MIN_OFFSET, header)
    return decode_header(GetMinOffsetResponseHeader, answer.ext_fields or {}).offset


async def max_offset(link: Link, place: Place) -> int:
    """The offset that the queue's next message gets."""
    header = GetMaxOffsetRequestHeader(topic=place.queue.topic, queue_id=place.queue.queue_id)
    answer = await ask(link, place.addr, RequestCode.GET_MAX_OFFSET, header)
    return decode_header(GetMaxOffsetResponseHeader, answer.ext_fields or {}).offset


async def search_offset(link: Link, place: Place, millis: int) -> int:
    """The offset of the first message that was stored at that time or later."""
    header = SearchOffsetRequestHeader(
        topic=place.queue.topic, queue_id=place.queue.queue_id, timestamp=millis
    )
    answer = await ask(link, place.addr, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header)
    return decode_header(SearchOffsetResponseHeader, answer.ext_fields or {}).offset


async def consume_queue(
    link: Link, place: Place, index: int, count: int = 10, group: str | None = None
) -> QueryConsumeQueueResponseBody:
    """Entries of a queue from an index on, and what a group subscribes to.

    NotFound when the queue does not have that index.
    """
    queue = place.queue
    header = QueryConsumeQueueRequestHeader(
        topic=queue.topic, queue_id=queue.queue_id, index=index, count=count, consumer_group=group
    )
    answer = await ask(link, place.addr, RequestCode.QUERY_CONSUME_QUEUE, header)
    if not answer.body:
        raise NotFound(f"{place.addr} has no entries to show: {answer.remark}")
    return decode_body(QueryConsumeQueueResponseBody, answer.body)


async def pull(
    link: Link,
    place: Place,
    offset: int,
    tags: str = "*",
    limit: int = 32,
    group: str | None = None,
) -> Pulled:
    """Messages from an offset on, without waiting for new ones, and without committing.

    `tags` is like `TagA || TagB`; `group` is who reads, by default TOOLS_CONSUMER_GROUP.
    """
    header = PullMessageRequestHeader(
        consumer_group=group or TOOLS_CONSUMER_GROUP,
        topic=place.queue.topic,
        queue_id=place.queue.queue_id,
        queue_offset=offset,
        max_msg_nums=limit,
        sys_flag=PullFlag.SUBSCRIPTION,
        commit_offset=0,
        suspend_timeout_millis=0,
        subscription=tags,
        sub_version=0,
        expression_type="TAG",
    )
    answer = await ask(
        link, place.addr, RequestCode.PULL_MESSAGE, header, factor=3, accepted=tuple(_STATUS)
    )
    reply = decode_header(PullMessageResponseHeader, answer.ext_fields or {})
    wanted = {tag.strip() for tag in tags.split("||")} - {"*", ""}
    messages = []
    stored = read_messages(bytes(answer.body))
    for message in (one for record in stored for one in unwrapped(record)):
        # The broker compares hashes of tags; the client drops those whose tags merely share a hash.
        if wanted and message.tags not in wanted:
            continue
        message.broker_name = place.queue.broker_name
        message.properties[property_keys.MIN_OFFSET] = str(reply.min_offset)
        message.properties[property_keys.MAX_OFFSET] = str(reply.max_offset)
        messages.append(message)
    status = _STATUS[ResponseCode(answer.code)]
    return Pulled(status, reply.next_begin_offset, messages)
