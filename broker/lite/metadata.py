"""Which topics and groups are lite ones, and what their attributes say (LiteMetadataUtil)."""

from typing import Final

from trimq.broker.config import BrokerConfig
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import ResponseCode
from trimq.codec.java.numbers import parse_int
from trimq.remoting.contract import RemotingError

_NO_END: Final = -1


class LiteMetadata:
    """Finds lite topics and groups; questions about others are refused with the real broker's remarks."""

    def __init__(self, config: BrokerConfig, topics: Topics, groups: SubscriptionGroups) -> None:
        self._config = config
        self._topics = topics
        self._groups = groups

    # --- attributes

    def is_lite(self, topic: str) -> bool:
        found = self._topics.get(topic)
        return found is not None and _is_lite(found)

    def bind_topic(self, group: str) -> str | None:
        """The topic whose lite topics a group may read; None for other groups."""
        return self._attribute(group, "lite.bind.topic")

    def may_consume(self, group: str) -> bool:
        """Asking creates the group, as there."""
        found = self._groups.find(group)
        return found is not None and found.consume_enable

    def is_exclusive(self, group: str) -> bool:
        """Whether each lite topic has one reader in the group."""
        return self._attribute(group, "lite.sub.model") == "Exclusive"

    def is_wildcard(self, group: str) -> bool:
        """Whether the group's clients read all lite topics of the parent."""
        return self._attribute(group, "lite.sub.wildcard") is not None

    def begins_anew_for_another(self, group: str) -> bool:
        """Whether a lite topic is read from its beginning when another client takes it over."""
        return self._is_true(group, "lite.sub.reset.offset.exclusive")

    def begins_anew_when_left(self, group: str) -> bool:
        """Whether a lite topic is read from its beginning after a client has left it."""
        return self._is_true(group, "lite.sub.reset.offset.unsubscribe")

    def most_events(self, group: str) -> int:
        """How many lite topics with news a client is told of at a time."""
        found = parse_int(self._attribute(group, "lite.sub.client.max.event.cnt") or "")
        return found if found is not None and found > 0 else self._config.max_client_event_count

    def _is_true(self, group: str, attribute: str) -> bool:
        return (self._attribute(group, attribute) or "").lower() == "true"

    def _attribute(self, group: str, name: str) -> str | None:
        found = self._groups.get(group)
        return None if found is None else found.attributes.get(name)

    # --- questions of an administrator

    def topic(self, name: str) -> TopicConfig:
        found = self._topics.get(name)
        if found is None:
            raise RemotingError(ResponseCode.TOPIC_NOT_EXIST, f"Topic [{name}] not exist.")
        if not _is_lite(found):
            raise RemotingError(ResponseCode.INVALID_PARAMETER, f"Topic [{name}] type not match.")
        return found

    def bound_topic(self, group: str) -> str:
        """The topic that a lite group is bound to."""
        topic = self._bound(group)
        if not topic:
            raise RemotingError(
                ResponseCode.INVALID_PARAMETER, f"Group [{group}] is not a LITE group."
            )
        return topic

    def check_bound(self, group: str, topic: str) -> None:
        """Refuse a group that is bound to another topic, or to none."""
        if self._bound(group) != topic:
            raise RemotingError(
                ResponseCode.INVALID_PARAMETER,
                f"Subscription [{group}]-[{topic}] not match.",
            )

    def lifetime_of(self, topic: str) -> int:
        """Minutes that the messages of a topic's lite topics are kept; -1 for no end, and for other topics."""
        found = self._topics.get(topic)
        return lifetime(found) if found is not None and _is_lite(found) else _NO_END

    def lifetimes(self) -> dict[str, int]:
        """Those of all lite topics."""
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
