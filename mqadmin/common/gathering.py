"""What the brokers of a topic or a group say together; those that do not answer are named and left out."""

from trimq.admin.groups.groups import ConsumeStats
from trimq.mqadmin.framework import Run


def progress_of(run: Run, group: str, topic: str | None = None) -> ConsumeStats:
    """A group's progress, from the brokers that answer; NotFound as `AdminClient.consume_stats`."""
    stats = ConsumeStats()

    def add(addr: str) -> None:
        stats.add(run.admin.broker_progress(addr, group, topic))

    if run.on_each(run.admin.group_brokers(group, topic), add):
        run.admin.check_stats(group, stats)
    return stats
