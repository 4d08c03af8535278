"""Sends to a retry topic: clients do that when sending back has failed; orderly consumers always
do.

SendMessageProcessor.handleRetryAndDLQ: once a message was consumed often enough it becomes a dead
letter, and so does any of a group that holds queue locks (an orderly consumer gives up that way).

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Protocol

from trimq.broker.topics.table import Topics
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import ResponseCode
from trimq.codec.flags import Perm
from trimq.codec.headers.fast import SendHeader
from trimq.codec.names import RETRY_PREFIX, SEE_FAQ, dlq_topic
from trimq.codec.records.property_keys import DELAY
from trimq.remoting.contract import RemotingError

# Requests of clients before 3.4.9 carry no maximum of their own (MQVersion.V3_4_9).
_FIRST_VERSION_WITH_MAXIMUM = 121
DLQ_QUEUES = 1


class Groups(Protocol):
    def find(self, group: str) -> SubscriptionGroupConfig | None: ...


class Locks(Protocol):
    def all_expired(self, group: str) -> bool: ...


class Target:
    """Where the message goes in the end."""

    __slots__ = ("config", "queue_id", "topic")

    def __init__(self, topic: str, queue_id: int, config: TopicConfig) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.config = config


class RetrySends:
    """Decides between the retry topic and the dead-letter topic."""

    def __init__(self, topics: Topics, groups: Groups, locks: Locks) -> None:
        self._topics = topics
        self._groups = groups
        self._locks = locks

    def redirect(
        self, header: SendHeader, version: int, asked: Target, properties: dict[str, str]
    ) -> Target:
        """The target of a send to a retry topic; the properties of a dead letter say so."""
        group = group_of_retry_topic(header.topic)
        config = self._groups.find(group)
        if config is None:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
                f"subscription group not exist, {group} {SEE_FAQ}",
            )
        most = most_retries(config, version, header.max_reconsume_times)
        if (header.reconsume_times or 0) <= most and self._locks.all_expired(group):
            return asked
        properties[DELAY] = "-1"
        return dead_letter_target(self._topics, group)


def most_retries(group: SubscriptionGroupConfig, version: int, asked: int | None) -> int:
    """How often the group's messages are tried again: what the client asks for, or as configured."""
    if asked is None or version < _FIRST_VERSION_WITH_MAXIMUM:
        return group.retry_max_times
    return asked


def dead_letter_target(topics: Topics, group: str) -> Target:
    """The group's dead-letter topic, created if it is missing."""
    name = dlq_topic(group)
    config = topics.create_in_send_back(name, DLQ_QUEUES, Perm.READ | Perm.WRITE, 0)
    return Target(name, 0, config)


def group_of_retry_topic(topic: str) -> str:
    """KeyBuilder.parseGroup: POP's second naming scheme has the topic after a plus sign."""
    parts = topic.split("+")
    return (parts[0] if len(parts) == 2 else topic).removeprefix(RETRY_PREFIX)
