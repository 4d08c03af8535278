"""Which kind of queues a topic has, by its attribute `queue.type`."""

from pathlib import Path
from typing import Final

from trimq.broker.tables.persisted_table import read_table
from trimq.codec.bodies.topics import TopicConfig, TopicConfigSerializeWrapper

NOT_ELASTIC_TYPES: Final = ("LITE", "PRIORITY")
"""Values of `message.type`: such messages choose their queues otherwise than by a key's partition."""


def queue_type(topic: TopicConfig) -> str:
    """What its `queue.type` says, or nothing (QueueTypeUtils.getCQType)."""
    return (topic.attributes or {}).get("queue.type") or ""


def has_batch_queues(topic: TopicConfig) -> bool:
    """Whether its queues count the messages inside of records (QueueTypeUtils.isBatchCq)."""
    return queue_type(topic) == "BatchCQ"


def stored_queue_types(directory: Path) -> dict[str, str]:
    """What the store has to know before it opens, from its `config` folder. Blocks."""
    loaded = read_table(directory / "topics.json", TopicConfigSerializeWrapper)
    if loaded is None:
        return {}
    topics = loaded.topic_config_table.values()
    return {topic.topic_name: queue_type(topic) for topic in topics if queue_type(topic)}
