"""Which queue the broker itself chooses in a topic: one that is there and is read.

RocketMQ takes the number from a setting (`retryQueueNums` of a group), or from the message as it was sent, and asks
nobody whether the topic has such a queue now: what lies beyond its read queues, no consumer is told of.

Hot: compiled by mypyc when a compiler is there.
"""

from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.names import RETRY_PREFIX


def readable_queues(config: TopicConfig) -> int:
    """How many queues are both written to and read. At least one: queue 0 is there if any is."""
    return max(min(config.read_queue_nums, config.write_queue_nums), 1)


def existing_queue(config: TopicConfig, queue_id: int) -> int:
    """The queue of a message that was sent some time ago; another one if that is not there any more.

    Nobody but the broker chooses queues of retry topics, so there it has to be one that is read. Elsewhere it counts
    as there while it can be written to: its readers may come.
    """
    there = config.read_queue_nums
    if not config.topic_name.startswith(RETRY_PREFIX):
        there = max(there, config.write_queue_nums)
    return queue_id if queue_id < there else queue_id % readable_queues(config)
