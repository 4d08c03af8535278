"""Looking messages up: by position, by id, by key; and what groups did with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from trimq.admin.brokers.cluster import cluster_info, preferred_addr, topic_route
from trimq.admin.connecting.link import Link, ask
from trimq.admin.errors import NotFound, Refused
from trimq.admin.groups.groups import consume_stats, consumer_connection
from trimq.admin.messages.message import Message, read_messages
from trimq.admin.topics.topics import topic_groups
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.queue_tables import ConsumeMessageDirectlyResult
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.clients import ConsumeMessageDirectlyResultRequestHeader
from trimq.codec.headers.messages import QueryMessageRequestHeader, ViewMessageRequestHeader
from trimq.codec.names import MASTER_ID
from trimq.codec.records import property_keys
from trimq.codec.records.addresses import unpack_host
from trimq.codec.records.message_id import parse_offset_message_id
from trimq.remoting.errors import TransportError

END_OF_TIME: Final = (1 << 63) - 1
DAY: Final = 24 * 3600 * 1000

# Kinds of index keys (MessageConst.INDEX_KEY_TYPE and the like).
KEY: Final = "K"
UNIQUE_KEY: Final = "U"
TAG: Final = "T"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageQuery:
    """What to look for; times are milliseconds since 1970, both ends included."""

    topic: str
    key: str
    kind: str = KEY
    limit: int = 64
    begin: int = 0
    end: int = END_OF_TIME
    cluster: str | None = None
    last_key: str | None = None


@dataclass(slots=True)
class Track:
    """What a group did with a message (MessageTrack); `kind` is a TrackType."""

    group: str
    kind: str = "UNKNOWN"
    problem: str | None = None


async def view_message(link: Link, topic: str, offset_id: str) -> Message:
    """The message at the broker and position that its offset id names.

    CodecError when that is not an offset id, Refused when nothing lies there, or a message of another topic.
    """
    store_host, offset = parse_offset_message_id(offset_id)
    header = ViewMessageRequestHeader(topic=topic, offset=offset)
    answer = await ask(link, unpack_host(store_host), RequestCode.VIEW_MESSAGE_BY_ID, header)
    for message in read_messages(bytes(answer.body)):
        return message
    raise NotFound(f"there is no message {offset_id}")


async def query_messages(link: Link, query: MessageQuery) -> list[Message]:
    """What the indexes of the topic's brokers hold; brokers that fail are skipped.

    Messages that only share a hash with the key are left out. TransportError or Refused when every
    broker failed.
    """
    header = QueryMessageRequestHeader(
        topic=query.topic,
        key=query.key,
        max_num=query.limit,
        begin_timestamp=query.begin,
        end_timestamp=query.end,
        index_type=query.kind,
        last_key=query.last_key,
    )
    found: list[Message] = []
    failures: list[TransportError | Refused] = []
    addrs = await _addrs(link, query.topic, query.cluster)
    code = RequestCode.QUERY_MESSAGE
    accepted = (ResponseCode.SUCCESS, ResponseCode.QUERY_NOT_FOUND)
    for addr in addrs:
        try:
            answer = await ask(link, addr, code, header, factor=3, accepted=accepted)
        except (TransportError, Refused) as failure:
            failures.append(failure)
            continue
        found += [one for one in read_messages(bytes(answer.body)) if _is_meant(one, query)]
    if failures and len(failures) == len(addrs):
        raise failures[0]
    return found


async def message_by_id(link: Link, topic: str, message_id: str, cluster: str | None) -> Message:
    """By offset id, else by unique id in the last three days; NotFound when there is none."""
    try:
        return await view_message(link, topic, message_id)
    except (CodecError, Refused, TransportError, NotFound):
        # A unique id often looks like an offset id.
        pass
    begin = link.now() - 3 * DAY
    query = MessageQuery(
        topic=topic, key=message_id, kind=UNIQUE_KEY, limit=32, begin=begin, cluster=cluster
    )
    found = await query_messages(link, query)
    if not found:
        raise NotFound(f"there is no message {message_id} in topic {topic!r}")
    return found[0]


async def consume_directly(
    link: Link, message: Message, group: str, client_id: str
) -> ConsumeMessageDirectlyResult:
    """Deliver a message to one consumer once more, now; nothing is committed."""
    header = ConsumeMessageDirectlyResultRequestHeader(
        consumer_group=group,
        client_id=client_id,
        msg_id=message.offset_id,
        topic=message.topic,
    )
    code = RequestCode.CONSUME_MESSAGE_DIRECTLY
    answer = await ask(link, message.store_host, code, header, factor=3)
    return decode_body(ConsumeMessageDirectlyResult, answer.body)


async def message_tracks(link: Link, message: Message) -> list[Track]:
    """What each group of the message's topic did with it
    (DefaultMQAdminExtImpl.messageTrackDetail).
    """
    return [await _track(link, message, group) for group in await topic_groups(link, message.topic)]


async def _track(link: Link, message: Message, group: str) -> Track:
    track = Track(group)
    try:
        connection = await consumer_connection(link, group)
    except NotFound:
        # The words of a broker that knows nobody of the group; tools look for them.
        track.problem = f"CODE:{int(ResponseCode.CONSUMER_NOT_ONLINE)}"
        track.problem += f" DESC:the consumer group[{group}] not online"
        track.kind = "NOT_ONLINE"
        return track
    except (Refused, TransportError) as error:
        track.problem = str(error)
        return track
    if connection.consume_type == "CONSUME_ACTIVELY":
        track.kind = "PULL"
    elif connection.consume_type == "CONSUME_PASSIVELY":
        try:
            consumed = await _is_consumed(link, message, group)
        except (NotFound, Refused, TransportError) as error:
            track.problem = str(error)
            return track
        track.kind = "CONSUMED" if consumed else "NOT_CONSUME_YET"
        subscription = connection.subscription_table.get(message.topic)
        tags: Sequence[str] = sorted(subscription.tags_set) if subscription else ()
        if consumed and tags and message.tags not in tags and "*" not in tags:
            track.kind = "CONSUMED_BUT_FILTERED"
    return track


async def _is_consumed(link: Link, message: Message, group: str) -> bool:
    stats = await consume_stats(link, group)
    brokers = (await cluster_info(link)).broker_addr_table
    for queue, progress in stats.offsets.items():
        if (queue.topic, queue.queue_id) != (message.topic, message.queue_id):
            continue
        broker = brokers.get(queue.broker_name)
        here = broker is not None and broker.broker_addrs.get(MASTER_ID) == message.store_host
        if here and progress.consumer_offset > message.queue_offset:
            return True
    return False


async def _addrs(link: Link, topic: str, cluster: str | None) -> list[str]:
    brokers = (await topic_route(link, topic)).broker_datas
    chosen = [broker for broker in brokers if not cluster or broker.cluster == cluster]
    return [addr for broker in chosen if (addr := preferred_addr(broker))]


def _is_meant(message: Message, query: MessageQuery) -> bool:
    if query.kind == UNIQUE_KEY:
        return message.message_id == query.key
    if message.topic != query.topic:
        return False
    if query.kind == TAG:
        return message.tags == query.key
    return query.key in (message.keys or "").split(property_keys.KEY_SEPARATOR)
