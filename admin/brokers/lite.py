"""Lite topics (5.5.0): many small topics inside one, each with its own queue.

Every operation asks one broker; Refused when a topic or a group there is not a lite one.
"""

from trimq.admin.connecting.link import Link, ask
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.lite import (
    GetBrokerLiteInfoResponseBody,
    GetLiteClientInfoResponseBody,
    GetLiteGroupInfoResponseBody,
    GetLiteTopicInfoResponseBody,
    GetParentTopicInfoResponseBody,
)
from trimq.codec.codes import RequestCode
from trimq.codec.headers.lite import (
    GetLiteClientInfoRequestHeader,
    GetLiteGroupInfoRequestHeader,
    GetLiteTopicInfoRequestHeader,
    GetParentTopicInfoRequestHeader,
    TriggerLiteDispatchRequestHeader,
)


async def broker_lite_info(link: Link, addr: str) -> GetBrokerLiteInfoResponseBody:
    """How many lite topics, subscriptions and offsets a broker has."""
    answer = await ask(link, addr, RequestCode.GET_BROKER_LITE_INFO)
    return decode_body(GetBrokerLiteInfoResponseBody, answer.body)


async def parent_topic_info(link: Link, addr: str, topic: str) -> GetParentTopicInfoResponseBody:
    """A topic of lite topics: how many there are, and the groups that read them."""
    header = GetParentTopicInfoRequestHeader(topic=topic)
    answer = await ask(link, addr, RequestCode.GET_PARENT_TOPIC_INFO, header)
    return decode_body(GetParentTopicInfoResponseBody, answer.body)


async def lite_topic_info(
    link: Link, addr: str, parent: str, lite_topic: str
) -> GetLiteTopicInfoResponseBody:
    """One lite topic's offsets and subscribers."""
    header = GetLiteTopicInfoRequestHeader(parent_topic=parent, lite_topic=lite_topic)
    answer = await ask(link, addr, RequestCode.GET_LITE_TOPIC_INFO, header)
    return decode_body(GetLiteTopicInfoResponseBody, answer.body)


async def lite_client_info(
    link: Link, addr: str, parent: str, group: str, client_id: str
) -> GetLiteClientInfoResponseBody:
    """What a client of a group has subscribed to."""
    header = GetLiteClientInfoRequestHeader(parent_topic=parent, group=group, client_id=client_id)
    answer = await ask(link, addr, RequestCode.GET_LITE_CLIENT_INFO, header)
    return decode_body(GetLiteClientInfoResponseBody, answer.body)


async def lite_group_info(
    link: Link, addr: str, group: str, lite_topic: str | None, limit: int
) -> GetLiteGroupInfoResponseBody:
    """How far a group is behind: in one lite topic, or in the `limit` ones where it is worst."""
    header = GetLiteGroupInfoRequestHeader(group=group, lite_topic=lite_topic, top_k=limit)
    answer = await ask(link, addr, RequestCode.GET_LITE_GROUP_INFO, header)
    return decode_body(GetLiteGroupInfoResponseBody, answer.body)


async def trigger_lite_dispatch(
    link: Link, addr: str, group: str, client_id: str | None = None
) -> None:
    """Let a broker tell a group's clients, or one of them, what there is to read."""
    header = TriggerLiteDispatchRequestHeader(group=group, client_id=client_id)
    await ask(link, addr, RequestCode.TRIGGER_LITE_DISPATCH, header)
