"""topicStatus: first and next offset of each queue, and when it was last written to.

Java: TopicStatusSubCommand.
"""

from typing import Final

import click

from trimq.admin.errors import NotFound
from trimq.admin.topics.topics import TopicStats
from trimq.codec.java.moments import local_time
from trimq.mqadmin.framework import Run, admin_command, topic_option
from trimq.mqadmin.text.java import cut, java

_HEAD: Final = "{:<32}  {:<4}  {:<20}  {:<20}    {}"


@admin_command("topicStatus")
@topic_option
@click.option("-c", "--cluster", help="Ask the brokers of this cluster (or lite topic's parent).")
def command(run: Run, topic: str, cluster: str | None) -> None:
    stats = _gathered(run, topic, cluster)
    if not stats.offsets:
        if run.partly_failed:
            return
        raise NotFound(f"no broker has queues of topic {topic!r}")
    titles = ("#Broker Name", "#QID", "#Min Offset", "#Max Offset", "#Last Updated")
    run.out.head(_HEAD.format(*titles))
    for queue in sorted(stats.offsets, key=lambda one: (one.topic, one.broker_name, one.queue_id)):
        offset = stats.offsets[queue]
        updated = offset.last_update_timestamp
        columns = (queue.queue_id, offset.min_offset, offset.max_offset)
        when = local_time(updated) if updated > 0 else ""
        run.out.line(_HEAD.format(cut(queue.broker_name, 32), *columns, when))
        run.out.value(
            {
                "brokerName": queue.broker_name,
                "queueId": queue.queue_id,
                "minOffset": offset.min_offset,
                "maxOffset": offset.max_offset,
                "lastUpdateTimestamp": updated,
            }
        )
    run.out.line()
    run.out.line(f"Topic Put TPS: {java(stats.put_tps)}")


def _gathered(run: Run, topic: str, cluster: str | None) -> TopicStats:
    """What the brokers that answer say. A cluster has a topic with its own name on all its brokers.

    The rate stays 0 without a cluster, as in DefaultMQAdminExtImpl.examineTopicStats.
    """
    stats = TopicStats()

    def add(addr: str) -> None:
        stats.offsets |= run.admin.broker_topic_stats(addr, topic).offsets

    run.on_each(run.admin.route_addrs(cluster or topic), add)
    if cluster is None and not run.partly_failed:
        run.admin.add_global_numbers(topic, stats)
    return stats
