"""What a topic is like that a send creates (createTopicInSendMessageMethod): like its template, mostly TBW102."""

import logging

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.tables.new_names import NewNames
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.flags import Perm

log = logging.getLogger("trimq.broker")


class AutoCreate:
    """Makes topics from templates, no faster than one address may ask for new ones."""

    def __init__(self, config: BrokerConfig, clock: Clock) -> None:
        self._new_names = NewNames(config, clock)

    def make(
        self,
        topic: str,
        template: TopicConfig,
        remote_addr: str,
        client_default_queue_nums: int,
        sys_flag: int,
    ) -> TopicConfig | None:
        """None when the template may not be inherited from. LimitReached: the address has created too many.

        Queues: what the client would like, at most what the template has; permissions: the
        template's without "inherit".
        """
        if not template.perm & Perm.INHERIT:
            log.warning(
                "topic not created, its template may not be inherited: topic=%s template=%s "
                "perm=%d producer=%s",
                topic,
                template.topic_name,
                template.perm,
                remote_addr,
            )
            return None
        self._new_names.admit(remote_addr)
        queues = max(0, min(client_default_queue_nums, template.write_queue_nums))
        return TopicConfig(
            topic_name=topic,
            read_queue_nums=queues,
            write_queue_nums=queues,
            perm=template.perm & ~Perm.INHERIT,
            topic_sys_flag=sys_flag,
            topic_filter_type=template.topic_filter_type,
        )
