"""Which topics and groups are lite ones (LiteManagerProcessor, LiteMetadataUtil).

Lite messages cannot be sent here, so all counts of their messages, clients and events are 0.
"""

from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import ResponseCode
from trimq.codec.java.numbers import parse_int
from trimq.codec.java.texts import java_text
from trimq.remoting.contract import RemotingError

_NO_END = -1


class LiteChecks:
    """Finds lite topics and groups; others are refused with the real broker's remarks."""

    def __init__(self, topics: Topics, groups: SubscriptionGroups) -> None:
        self._topics = topics
        self._groups = groups

    def topic(self, name: str | None) -> TopicConfig:
        found = self._topics.get(name or "")
        if found is None:
            raise RemotingError(
                ResponseCode.TOPIC_NOT_EXIST, f"Topic [{java_text(name)}] not exist."
            )
        if not _is_lite(found):
            raise RemotingError(
                ResponseCode.INVALID_PARAMETER, f"Topic [{java_text(name)}] type not match."
            )
        return found

    def bound_topic(self, group: str) -> str:
        """The topic that a lite group is bound to."""
        topic = self._bound(group)
        if not topic:
            raise RemotingError(
                ResponseCode.INVALID_PARAMETER, f"Group [{group}] is not a LITE group."
            )
        return topic

    def check_bound(self, group: str | None, topic: str) -> None:
        """Refuse a group that is bound to another topic, or to none."""
        if self._bound(group or "") != topic:
            raise RemotingError(
                ResponseCode.INVALID_PARAMETER,
                f"Subscription [{java_text(group)}]-[{topic}] not match.",
            )

    def lifetimes(self) -> dict[str, int]:
        """Minutes that each lite topic's messages are kept."""
        lite = (topic for topic in self._topics.all().values() if _is_lite(topic))
        return {topic.topic_name: lifetime(topic) for topic in lite}

    def groups_by_topic(self) -> dict[str, list[str]]:
        bound: dict[str, list[str]] = {}
        for name, group in self._groups.all().items():
            topic = group.attributes.get("lite.bind.topic")
            if topic is not None:
                bound.setdefault(topic, []).append(name)
        return bound

    def _bound(self, name: str) -> str | None:
        group = self._groups.find(name)
        if group is None:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group [{name}] not exist."
            )
        return group.attributes.get("lite.bind.topic")


def lifetime(topic: TopicConfig) -> int:
    """Minutes; -1 for no end."""
    found = parse_int(topic.attributes.get("lite.topic.expiration", ""))
    return _NO_END if found is None else found


def _is_lite(topic: TopicConfig) -> bool:
    return topic.attributes.get("message.type") == "LITE"
