"""Sending a message, as a producer does."""

import os
import random
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from trimq.admin.brokers.cluster import topic_route
from trimq.admin.connecting.link import Link, ask
from trimq.admin.errors import Invalid, NotFound
from trimq.admin.messages.pulling import Place
from trimq.admin.topics.static_topics import GLOBAL_BROKER
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.route import TopicRouteData
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.flags import Perm
from trimq.codec.headers.base import decode_header
from trimq.codec.headers.send import SendMessageRequestHeaderV2, SendMessageResponseHeader
from trimq.codec.names import AUTO_CREATE_TOPIC, MASTER_ID
from trimq.codec.records import property_keys
from trimq.codec.records.properties import format_properties
from trimq.codec.records.unique_id import LOADER_SIZE, id_end, id_start

# DefaultMQProducer.defaultTopicQueueNums: queues of a topic that a send creates.
NEW_TOPIC_QUEUES: Final = 4
# SendStatus, by response code (MQClientAPIImpl.processSendResponse).
_STATUS: Final = {
    ResponseCode.SUCCESS: "SEND_OK",
    ResponseCode.FLUSH_DISK_TIMEOUT: "FLUSH_DISK_TIMEOUT",
    ResponseCode.FLUSH_SLAVE_TIMEOUT: "FLUSH_SLAVE_TIMEOUT",
    ResponseCode.SLAVE_NOT_AVAILABLE: "SLAVE_NOT_AVAILABLE",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """What to send; keys are separated by blanks."""

    topic: str
    body: bytes
    tags: str | None = None
    keys: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of a message: `status` is a SendStatus, the ids are the client's and the broker's.

    With `recall_handle` a timer message can be taken back.
    """

    status: str
    message_id: str
    offset_id: str
    queue: MessageQueue
    queue_offset: int
    recall_handle: str | None = None


async def send(
    link: Link, message: NewMessage, broker_name: str | None = None, queue_id: int | None = None
) -> Sent:
    """Send to the queue that is named, or to any writable one of the topic.

    A topic that does not exist is created where the brokers allow it. NotFound when there is no
    such queue, Refused when the broker does not take the message.
    """
    if broker_name is None and queue_id is not None:
        raise Invalid("a queue is chosen by its number and its broker's name")
    route = await sending_route(link, message.topic)
    if broker_name is not None and queue_id is not None:
        queue = MessageQueue(broker_name=broker_name, queue_id=queue_id, topic=message.topic)
        place = _place(queue, route)
    else:
        place = random.choice(_writable(message.topic, route))
    return await send_to(link, message, place)


async def write_queues(link: Link, topic: str) -> list[Place]:
    """The queues of a topic that may be written, by broker name and number, as producers list them.

    For a topic that does not exist, the queues that a send would create. NotFound when there is
    none.
    """
    return _writable(topic, await sending_route(link, topic))


async def send_to(link: Link, message: NewMessage, place: Place) -> Sent:
    """Send to a queue whose place is known: one request, and no question about the route.

    Refused when the broker does not take the message.
    """
    message_id = new_message_id()
    header = SendMessageRequestHeaderV2(
        producer_group="mqadmin",
        topic=message.topic,
        default_topic=AUTO_CREATE_TOPIC,
        default_topic_queue_nums=NEW_TOPIC_QUEUES,
        queue_id=place.queue.queue_id,
        sys_flag=0,
        born_timestamp=link.now(),
        flag=0,
        properties=_properties(message, message_id),
        reconsume_times=0,
        unit_mode=False,
        batch=False,
        broker_name=place.queue.broker_name,
    )
    code = RequestCode.SEND_MESSAGE_V2
    answer = await ask(link, place.addr, code, header, message.body, accepted=tuple(_STATUS))
    reply = decode_header(SendMessageResponseHeader, answer.ext_fields or {})
    status = _STATUS[ResponseCode(answer.code)]
    return Sent(
        status,
        message_id,
        reply.msg_id,
        place.queue,
        reply.queue_offset,
        reply.recall_handle,
    )


def new_message_id() -> str:
    """32 hex digits of the client's id: host, process, loader, time, counter in Java
    (MessageClientIDSetter). Random here, but for the time, which tools read.
    """
    now = time.localtime()
    month = time.mktime((now.tm_year, now.tm_mon, 1, 0, 0, 0, 0, 0, -1))
    since = int((time.time() - month) * 1000)
    start = id_start(os.urandom(4), secrets.randbits(16), os.urandom(LOADER_SIZE))
    return start + id_end(since, secrets.randbits(16))


async def sending_route(link: Link, topic: str) -> TopicRouteData:
    """The topic's route, or what it would be if the broker created it now."""
    try:
        return await topic_route(link, topic)
    except NotFound:
        try:
            route = await topic_route(link, AUTO_CREATE_TOPIC)
        except NotFound:
            raise NotFound(
                f"topic {topic!r} does not exist and no broker creates topics by itself"
            ) from None
    for queues in route.queue_datas:
        queues.write_queue_nums = min(queues.write_queue_nums, NEW_TOPIC_QUEUES)
    return route


def _writable(topic: str, route: TopicRouteData) -> list[Place]:
    """Every queue of a route that may be written and whose master is known; NotFound if none.

    A static topic's queues go by their global numbers; their broker knows its own.
    """
    masters = _masters(route)
    mappings = route.topic_queue_mapping_by_broker or {}
    places = [
        Place(MessageQueue(broker_name=data.broker_name, queue_id=number, topic=topic), addr)
        for data in sorted(route.queue_datas, key=lambda data: data.broker_name)
        if Perm.writable(data.perm) and (addr := masters.get(data.broker_name))
        for number in (
            sorted(mappings[data.broker_name].curr_id_map)
            if data.broker_name in mappings
            else data.writable()
        )
    ]
    if not places:
        raise NotFound(f"no broker lets messages be written to topic {topic!r}")
    return places


def _place(queue: MessageQueue, route: TopicRouteData) -> Place:
    name = queue.broker_name
    if name == GLOBAL_BROKER:
        mappings = (route.topic_queue_mapping_by_broker or {}).items()
        owners = (one for one, mapping in mappings if queue.queue_id in mapping.curr_id_map)
        name = next(owners, name)
        queue = MessageQueue(broker_name=name, queue_id=queue.queue_id, topic=queue.topic)
    addr = _masters(route).get(name)
    if addr is None:
        raise NotFound(f"broker {name!r} has no master with topic {queue.topic!r}")
    return Place(queue, addr)


def _masters(route: TopicRouteData) -> dict[str, str | None]:
    return {one.broker_name: one.broker_addrs.get(MASTER_ID) for one in route.broker_datas}


def _properties(message: NewMessage, message_id: str) -> str:
    properties = dict(message.properties)
    if message.keys:
        properties[property_keys.KEYS] = message.keys
    properties[property_keys.UNIQ_KEY] = message_id
    properties[property_keys.WAIT] = "true"
    if message.tags:
        properties[property_keys.TAGS] = message.tags
    return format_properties(properties).decode()
