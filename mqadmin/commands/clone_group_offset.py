"""cloneGroupOffset: give a group the offsets of another one. Java: CloneGroupOffsetCommand.

Offsets of all topics of the source are copied; the topic determines at which brokers.
"""

import click

from trimq.admin.groups.progress import Moved
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.progress import OffsetWrapper
from trimq.mqadmin.common.planning import show_moves
from trimq.mqadmin.framework import Run, admin_command, dry_run_option, topic_option


@admin_command("cloneGroupOffset")
@click.option("-s", "--srcGroup", "source", required=True, help="The group to copy from.")
@click.option("-d", "--destGroup", "target", required=True, help="The group to copy to.")
@topic_option
@click.option("-o", "--offline", help="Accepted and ignored, as by the official tool.")
@dry_run_option
def command(
    run: Run, source: str, target: str, topic: str, offline: str | None, dry_run: bool
) -> None:
    if dry_run:
        _plan(run, source, target, topic)
        return
    copied = run.admin.clone_offsets(source, target, topic)
    # Without a line end, like the official tool.
    run.out.text(
        f"clone group offset success. srcGroup[{source}], destGroup=[{target}], topic[{topic}]"
    )
    run.out.value([{"queue": queue, "offset": offset} for queue, offset in copied.items()])


def _plan(run: Run, source: str, target: str, topic: str) -> None:
    planned = run.admin.planned_clone(source, topic)
    before: dict[MessageQueue, OffsetWrapper] = {}
    for addr in dict.fromkeys(addr for addr, _, _ in planned):
        before |= run.admin.broker_progress(addr, target).offsets
    moved = [
        Moved(queue, before.get(queue, OffsetWrapper()).consumer_offset, offset)
        for _, queue, offset in planned
    ]
    show_moves(run, moved, dry_run=True)
