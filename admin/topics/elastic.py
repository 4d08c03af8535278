"""Elastic topics: their number of queues changes without losing order. Only TriMQ's brokers have them.

Every operation asks one broker; Refused, with what to do, when the topic there is not an elastic one.
"""

from collections.abc import Sequence
from typing import Final

from trimq.admin.brokers.cluster import topic_route
from trimq.admin.brokers.runtime import is_trimq
from trimq.admin.connecting.link import Link, ask
from trimq.admin.errors import Invalid, Refused
from trimq.codec.bodies.base import Body, decode_body, encode_body
from trimq.codec.bodies.elastic_admin import (
    ElasticCreate,
    ElasticMove,
    ElasticPlan,
    ElasticScale,
    ElasticView,
)
from trimq.codec.codes import OwnRequestCode, ResponseCode
from trimq.codec.headers.elastic import ElasticTopicRequestHeader
from trimq.codec.names import MASTER_ID

# An ordinary topic, or none; a broker that has no elastic topics, such as RocketMQ's.
_NOT_ELASTIC: Final = (ResponseCode.TOPIC_NOT_EXIST, ResponseCode.REQUEST_CODE_NOT_SUPPORTED)


async def elastic_broker(link: Link, topic: str) -> str:
    """The address of the one master that has a topic; Invalid when several brokers have it."""
    addrs = await elastic_brokers(link, topic)
    if len(addrs) != 1:
        raise Invalid(
            f"topic {topic!r} is on {len(addrs)} masters ({', '.join(addrs)}): an elastic topic is on one;"
            f" mqadmin elasticTopic show -t {topic} says on which it is not elastic, delete it there"
        )
    return addrs[0]


async def elastic_brokers(link: Link, topic: str) -> list[str]:
    """The addresses of all masters that have a topic, in order of their names."""
    route = await topic_route(link, topic)
    return [
        broker.broker_addrs[MASTER_ID]
        for broker in sorted(route.broker_datas, key=lambda one: one.broker_name)
        if MASTER_ID in broker.broker_addrs
    ]


async def elastic_create(
    link: Link, addr: str, topic: str, queues: int = 0, *, dry_run: bool = False
) -> None:
    """Make a new topic with so many queues, or an existing one (0: as many as it has), elastic.

    `dry_run`: only Refused, if that would be.
    """
    body = ElasticCreate(queues=queues, dry_run=dry_run)
    await _ask(link, addr, OwnRequestCode.ELASTIC_CREATE, topic, body)


async def elastic_scale(
    link: Link,
    addr: str,
    topic: str,
    queues: int,
    *,
    now: bool = False,
    ignore: Sequence[str] = (),
    dry_run: bool = False,
) -> ElasticPlan:
    """Begin to change the number of queues; the changes that are to come."""
    body = ElasticScale(queues=queues, now=now, ignore=list(ignore), dry_run=dry_run)
    return await _plan(link, addr, OwnRequestCode.ELASTIC_SCALE, topic, body)


async def elastic_move(
    link: Link,
    addr: str,
    topic: str,
    queue: int,
    receiver: int = -1,
    *,
    partitions: Sequence[int] = (),
    merge: bool = False,
    dry_run: bool = False,
) -> ElasticPlan:
    """Begin to split a queue (-1: into a new one), or to merge the last one into another."""
    body = ElasticMove(
        queue=queue, receiver=receiver, partitions=list(partitions), merge=merge, dry_run=dry_run
    )
    return await _plan(link, addr, OwnRequestCode.ELASTIC_MOVE, topic, body)


async def elastic_cancel(link: Link, addr: str, topic: str) -> ElasticPlan:
    """Give up the changes that have not happened yet; which those were."""
    return await _plan(link, addr, OwnRequestCode.ELASTIC_CANCEL, topic)


async def elastic_view(link: Link, addr: str, topic: str) -> ElasticView:
    """Queues, changes, groups, and what holds them up."""
    answer = await _ask(link, addr, OwnRequestCode.ELASTIC_SHOW, topic)
    return decode_body(ElasticView, answer)


async def find_elastic_view(link: Link, addr: str, topic: str) -> ElasticView | None:
    """The same if the topic is elastic there; None otherwise, and for every broker that is not TriMQ's."""
    try:
        return await elastic_view(link, addr, topic)
    except Refused as error:
        if error.code not in _NOT_ELASTIC:
            raise
        return None


async def _plan(
    link: Link, addr: str, code: OwnRequestCode, topic: str, body: Body | None = None
) -> ElasticPlan:
    return decode_body(ElasticPlan, await _ask(link, addr, code, topic, body))


async def _ask(
    link: Link, addr: str, code: OwnRequestCode, topic: str, body: Body | None = None
) -> bytes:
    if not await is_trimq(link, addr):
        raise Refused(addr, code, ResponseCode.REQUEST_CODE_NOT_SUPPORTED, None)
    header = ElasticTopicRequestHeader(topic=topic)
    data = encode_body(body) if body is not None else b""
    return bytes((await ask(link, addr, code, header, data)).body)
