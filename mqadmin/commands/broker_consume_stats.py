"""brokerConsumeStats: how far every group of a broker is behind. Java: BrokerConsumeStatsSubCommand."""

from collections.abc import Iterator
from typing import Final

import click

from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.progress import OffsetWrapper
from trimq.codec.bodies.queue_tables import BrokerConsumeStatsTable, by_queue
from trimq.codec.java.moments import local_seconds
from trimq.mqadmin.framework import Run, admin_command, boolean_option, chosen_addrs
from trimq.mqadmin.text.java import cut

_HEAD: Final = "{:<64}  {:<64}  {:<32}  {:<4}  {:<20}  {:<20}  {:<20}  {}"
_TITLES: Final = (
    "#Topic",
    "#Group",
    "#Broker Name",
    "#QID",
    "#Broker Offset",
    "#Consumer Offset",
    "#Diff",
    "#LastTime",
)


@admin_command("brokerConsumeStats")
@click.option(
    "-b", "--brokerAddr", "broker_addr", required=True, metavar="HOST:PORT", help="The broker."
)
@click.option(
    "-t",
    "--timeoutMillis",
    "timeout_millis",
    type=click.IntRange(min=1),
    default=50000,
    metavar="MILLIS",
    help="How long to wait for the answer.",
)
@click.option("-l", "--level", type=int, default=0, help="Only queues at least this far behind.")
@boolean_option(
    "-o", "--order", "ordered_only", default=False, help="Only groups that consume in order."
)
def command(
    run: Run, broker_addr: str, timeout_millis: int, level: int, ordered_only: bool
) -> None:
    (addr,) = chosen_addrs(run, broker_addr, None)
    patience = timeout_millis / 1000 / run.timeout
    table = run.admin.broker_consume_stats(addr, ordered_only, patience)
    run.out.head(_HEAD.format(*_TITLES))
    hidden = 0
    for group, queue, progress in _queues(table):
        behind = progress.broker_offset - progress.consumer_offset
        if behind < level:
            continue
        value = {"group": group, "queue": queue, "progress": progress, "diff": behind}
        run.out.value(value)
        # Without a time nothing was consumed yet; the official tool leaves such queues out.
        if progress.last_timestamp <= 0:
            hidden += 1
            continue
        line = _HEAD.format(
            cut(queue.topic, 64),
            group,
            cut(queue.broker_name, 32),
            queue.queue_id,
            progress.broker_offset,
            progress.consumer_offset,
            behind,
            local_seconds(progress.last_timestamp),
        )
        run.out.line(line)
    run.out.line(f"\nDiff Total: {table.total_diff}")
    if hidden and not run.out.as_json:
        run.warn(f"{hidden} queues without a time of consumption are not listed: --json shows them")


def _queues(table: BrokerConsumeStatsTable) -> Iterator[tuple[str, MessageQueue, OffsetWrapper]]:
    for groups in table.consume_stats_list:
        for group, topics in groups.items():
            for topic in topics:
                offsets = by_queue(topic.offset_table)
                for queue in sorted(offsets, key=lambda one: (one.topic, one.queue_id)):
                    yield group, queue, offsets[queue]
