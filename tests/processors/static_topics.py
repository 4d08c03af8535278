"""Static topics for the tests of processors: queue 0 in parts, the first ones on this or another broker."""

from typing import Any

from trimq.codec.bodies.static_topics import LogicQueueMappingItem, TopicQueueMappingDetail
from trimq.codec.bodies.topics import TopicConfig

THERE = "another-broker"


def map_queue(broker: Any, *parts: tuple[bool, int], queues: int = 4, epoch: int = 1) -> None:
    """Make topic S, whose queue 0 has parts: (whether it lies here, where it begins).

    The part of number n lies in queue n of its broker.
    """
    here = broker.config.broker_name
    items = [
        LogicQueueMappingItem(
            bname=here if is_here else THERE, gen=number, queue_id=number, logic_offset=begin
        )
        for number, (is_here, begin) in enumerate(parts)
    ]
    detail = TopicQueueMappingDetail(
        topic="S", bname=here, epoch=epoch, total_queues=1, hosted_queues={0: items}
    )
    broker.topics.mappings.update(detail, force=False)
    broker.topics.update(
        TopicConfig(topic_name="S", read_queue_nums=queues, write_queue_nums=queues)
    )
