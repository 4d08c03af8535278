"""The topics that every broker has from its start (TopicConfigManager.init)."""

from trimq.broker.config import BrokerConfig
from trimq.codec import names
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.flags import Perm

_SCHEDULE_QUEUES = 18
_BENCHMARK_QUEUES = 1024
_CLUSTER_QUEUES = 16
_READ_WRITE = Perm.READ | Perm.WRITE


def system_topics(config: BrokerConfig) -> list[TopicConfig]:
    """In the order in which they are added."""
    usable = Perm.INHERIT | _READ_WRITE
    topics = [_topic(names.SELF_TEST_TOPIC, 1)]
    if config.auto_create_topic_enable:
        topics.append(_topic(names.AUTO_CREATE_TOPIC, config.default_topic_queue_nums, usable))
    topics += [
        _topic(names.BENCHMARK_TOPIC, _BENCHMARK_QUEUES),
        _topic(
            config.broker_cluster_name,
            _CLUSTER_QUEUES,
            usable if config.cluster_topic_enable else Perm.INHERIT,
        ),
        _topic(config.broker_name, 1, usable if config.broker_topic_enable else Perm.INHERIT),
        _topic(names.OFFSET_MOVED_EVENT, 1),
        _topic(names.SCHEDULE_TOPIC, _SCHEDULE_QUEUES),
    ]
    if config.trace_topic_enable:
        topics.append(_topic(config.msg_trace_topic_name, 1))
    topics += [
        _topic(names.reply_topic(config.broker_cluster_name), 1),
        _topic(names.revive_topic(config.broker_cluster_name), config.revive_queue_num),
        _topic(names.sync_member_topic(config.broker_name), 1, Perm.INHERIT),
        _topic(names.TRANS_HALF_TOPIC, 1),
        _topic(names.TRANS_OP_HALF_TOPIC, 1),
        _topic(names.ROCKSDB_TRANS_HALF_TOPIC, 1),
        _topic(names.ROCKSDB_TRANS_OP_HALF_TOPIC, 1),
        _topic(names.TIMER_TOPIC, 1),
    ]
    return topics


def _topic(name: str, queues: int, perm: int = _READ_WRITE) -> TopicConfig:
    return TopicConfig(topic_name=name, read_queue_nums=queues, write_queue_nums=queues, perm=perm)
