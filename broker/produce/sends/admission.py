"""Whether a send may be stored at all: the checks before its message is examined.

Order, codes and remarks are those of SendMessageProcessor.preSend and
AbstractSendMessageProcessor.msgCheck. A topic's own permission is not among them: clients respect
it when they choose a queue, and the real broker stores what comes anyway.

Hot: compiled by mypyc when a compiler is there.
"""

import logging
import random

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.elastic.partition_routing import Placing
from trimq.broker.identity import BrokerIdentity
from trimq.broker.produce.puts.outcomes import Refused, Sender
from trimq.broker.topics.names import is_not_allowed_send_topic, validate_topic
from trimq.broker.topics.queue_choice import readable_queues
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.flags import Perm, TopicSysFlag
from trimq.codec.headers.fast import SendHeader
from trimq.codec.java.moments import local_time
from trimq.codec.names import RETRY_PREFIX, SEE_FAQ
from trimq.remoting.contract import RemotingError

log = logging.getLogger("trimq.produce")

_KNOWN_NAMES_LIMIT = 100_000


class Admission:
    """Checks topic and queue of a send; creates the topic if that is allowed."""

    def __init__(
        self, config: BrokerConfig, identity: BrokerIdentity, topics: Topics, clock: Clock
    ) -> None:
        self._config = config
        self._topics = topics
        self._clock = clock
        self._identity = identity
        # Names that passed the checks and belong to a topic: they need not be checked again.
        self._known: set[str] = set()
        self.reread()

    def reread(self) -> None:
        """Settings that every send needs; called again when one has changed."""
        self._broker_writable = Perm.writable(self._config.broker_permission)
        self._accept_from = self._config.start_accept_send_request_time_stamp

    def admit(
        self, header: SendHeader, sender: Sender, placing: Placing | None = None
    ) -> TopicConfig:
        """The topic's config; RemotingError with the real broker's code and remark.

        `placing`: the topic is elastic, and the header's queue one of its partitions.
        """
        topic = header.topic
        if self._accept_from and self._clock.millis() < self._accept_from:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR,
                f"broker unable to service, until {local_time(self._accept_from)}",
            )
        config = self._topics.get(topic)
        if config is None or topic not in self._known or not self._broker_writable:
            config = self._look(header, sender)
        queue_id = header.queue_id
        if placing is not None and queue_id < placing.size:
            return config
        if (
            queue_id >= config.write_queue_nums
            and queue_id >= config.read_queue_nums
            and queue_id >= self._topics.partitions.get(topic, 0)
        ):
            text = (
                f"request queueId[{queue_id}] is illegal, {topic_text(config)} "
                f"Producer: {sender.remote_addr}"
            )
            log.warning(text)
            raise RemotingError(ResponseCode.INVALID_PARAMETER, text)
        return config

    def check_transaction(self) -> None:
        """RemotingError when no half messages are accepted."""
        if self._config.reject_transaction_message:
            raise RemotingError(
                ResponseCode.NO_PERMISSION,
                f"the broker[{self._identity.host}] sending transaction message is forbidden",
            )

    def forbidden(self) -> Refused | None:
        """For messages that are sent back: the broker's permission counts for every topic."""
        if self._broker_writable:
            return None
        return Refused(ResponseCode.NO_PERMISSION, self._forbidden())

    def _forbidden(self) -> str:
        return f"the broker[{self._identity.host}] sending message is forbidden"

    def _look(self, header: SendHeader, sender: Sender) -> TopicConfig:
        topic = header.topic
        if not self._broker_writable and self._topics.is_order_topic(topic):
            raise RemotingError(ResponseCode.NO_PERMISSION, self._forbidden())
        wrong = validate_topic(topic)
        if wrong is not None:
            raise RemotingError(ResponseCode.INVALID_PARAMETER, wrong)
        if is_not_allowed_send_topic(topic):
            raise RemotingError(
                ResponseCode.NO_PERMISSION, f"Sending message to topic[{topic}] is forbidden."
            )
        config = self._topics.get(topic) or self._create(header, sender)
        if len(self._known) >= _KNOWN_NAMES_LIMIT:
            self._known.clear()
        self._known.add(topic)
        return config

    def _create(self, header: SendHeader, sender: Sender) -> TopicConfig:
        topic = header.topic
        retry = topic.startswith(RETRY_PREFIX)
        sys_flag = 0
        if header.unit_mode:
            sys_flag = TopicSysFlag.UNIT_SUB if retry else TopicSysFlag.UNIT
        if header.default_topic is None or header.default_topic_queue_nums is None:
            raise CodecError("a new topic needs the fields defaultTopic and defaultTopicQueueNums")
        created = self._topics.create_in_send(
            topic,
            header.default_topic,
            sender.remote_addr,
            header.default_topic_queue_nums,
            sys_flag,
        )
        if created is None and retry:
            created = self._topics.create_in_send_back(topic, 1, Perm.READ | Perm.WRITE, sys_flag)
        if created is None:
            raise RemotingError(
                ResponseCode.TOPIC_NOT_EXIST,
                f"topic[{topic}] not exist, apply first please!{SEE_FAQ}",
            )
        return created


def random_queue(config: TopicConfig) -> int:
    """For a client that leaves the choice to the broker (queue id -1)."""
    if config.write_queue_nums <= 0:
        raise RemotingError(
            ResponseCode.SYSTEM_ERROR, f"topic[{config.topic_name}] has no queue to write to"
        )
    return random.randrange(readable_queues(config))


def topic_text(config: TopicConfig) -> str:
    """TopicConfig.toString, as it is written in remarks."""
    attributes = ", ".join(f"{key}={value}" for key, value in (config.attributes or {}).items())
    order = "true" if config.order else "false"
    return (
        f"TopicConfig [topicName={config.topic_name}, readQueueNums={config.read_queue_nums}, "
        f"writeQueueNums={config.write_queue_nums}, perm={Perm.to_text(config.perm)}, "
        f"topicFilterType={config.topic_filter_type}, topicSysFlag={config.topic_sys_flag}, "
        f"order={order}, attributes={{{attributes}}}]"
    )
