"""What operators export: the topics and groups that users made on a broker, and its counters."""

from collections.abc import Container, Mapping
from typing import Final

from trimq.admin.connecting.link import Link, ask
from trimq.codec import names
from trimq.codec.bodies.base import decode_body, encode_body
from trimq.codec.bodies.groups import SubscriptionGroupWrapper
from trimq.codec.bodies.topics import TopicConfig, TopicConfigSerializeWrapper, TopicList
from trimq.codec.codes import RequestCode
from trimq.codec.flags import Perm
from trimq.codec.headers.groups import GetAllSubscriptionGroupRequestHeader
from trimq.codec.headers.topics import GetAllTopicConfigRequestHeader

# Topics or groups that one answer holds at most (ClientConfig.maxPageSizeInGetMetadata).
_PART: Final = 2000
# MixAll.PREDEFINE_GROUP_SET.
_SYSTEM_GROUPS: Final = frozenset(
    [
        names.DEFAULT_CONSUMER_GROUP,
        names.DEFAULT_PRODUCER_GROUP,
        names.TOOLS_CONSUMER_GROUP,
        names.SCHEDULE_CONSUMER_GROUP,
        names.FILTERSRV_CONSUMER_GROUP,
        names.MONITOR_CONSUMER_GROUP,
        names.CLIENT_INNER_PRODUCER_GROUP,
        names.SELF_TEST_PRODUCER_GROUP,
        names.SELF_TEST_CONSUMER_GROUP,
        names.ONS_HTTP_PROXY_GROUP,
        names.ONSAPI_PERMISSION_GROUP,
        names.ONSAPI_OWNER_GROUP,
        names.ONSAPI_PULL_GROUP,
    ]
)


async def user_topics(
    link: Link, addr: str, *, with_special: bool = False
) -> TopicConfigSerializeWrapper:
    """A broker's topics without its own ones (DefaultMQAdminExtImpl.getUserTopicConfig).

    `with_special` adds groups' retry and dead-letter topics.
    """
    found = await all_topics(link, addr)
    system = await system_topics(link, addr)
    found.topic_config_table = {
        name: topic
        for name, topic in found.topic_config_table.items()
        if is_user_topic(topic, system, with_special=with_special)
    }
    return found


async def user_groups(link: Link, addr: str) -> SubscriptionGroupWrapper:
    """A broker's groups without its own ones (DefaultMQAdminExtImpl.getUserSubscriptionGroup)."""
    found = await all_groups(link, addr)
    found.subscription_group_table = {
        name: group for name, group in found.subscription_group_table.items() if is_user_group(name)
    }
    return found


async def system_topics(link: Link, addr: str) -> frozenset[str]:
    """The names of a broker's own topics."""
    answer = await ask(link, addr, RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)
    return frozenset(decode_body(TopicList, answer.body).topic_list)


def is_user_topic(topic: TopicConfig, system: Container[str], *, with_special: bool) -> bool:
    """Whether users made it; retry and dead-letter topics count only as `with_special` says."""
    name = topic.topic_name
    special = () if with_special else (names.RETRY_PREFIX, names.DLQ_PREFIX)
    own = name in system or name.startswith((names.SYSTEM_PREFIX, *special))
    return not own and 0 <= topic.perm < Perm.PRIORITY


def is_user_group(name: str) -> bool:
    """Whether users made it."""
    return name not in _SYSTEM_GROUPS and not name.startswith(names.SYSTEM_GROUP_PREFIX)


async def all_topics(link: Link, addr: str) -> TopicConfigSerializeWrapper:
    """All topics of a broker; it sends them in parts."""
    whole = TopicConfigSerializeWrapper()
    table = whole.topic_config_table
    version: str | None = None
    while True:
        header = GetAllTopicConfigRequestHeader(
            topic_seq=len(table), data_version=version, max_topic_num=_PART
        )
        answer = await ask(link, addr, RequestCode.GET_ALL_TOPIC_CONFIG, header)
        part = decode_body(TopicConfigSerializeWrapper, answer.body)
        whole.data_version = part.data_version
        before = len(table)
        table |= part.topic_config_table
        if _is_last(answer.ext_fields, "totalTopicNum", before, len(table)):
            return whole
        version = encode_body(part.data_version).decode()


async def all_groups(link: Link, addr: str) -> SubscriptionGroupWrapper:
    """All groups of a broker and their bans; it sends them in parts."""
    whole = SubscriptionGroupWrapper()
    table = whole.subscription_group_table
    version: str | None = None
    while True:
        header = GetAllSubscriptionGroupRequestHeader(
            group_seq=len(table), data_version=version, max_group_num=_PART
        )
        answer = await ask(link, addr, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, header)
        part = decode_body(SubscriptionGroupWrapper, answer.body)
        whole.data_version = part.data_version
        whole.forbidden_table |= part.forbidden_table
        before = len(table)
        table |= part.subscription_group_table
        if _is_last(answer.ext_fields, "totalGroupNum", before, len(table)):
            return whole
        version = encode_body(part.data_version).decode()


def _is_last(fields: Mapping[str, str] | None, total: str, before: int, now: int) -> bool:
    """Whether everything has come; a broker that does not say how much there is sends all at once."""
    return now >= int((fields or {}).get(total, "0")) or now == before
