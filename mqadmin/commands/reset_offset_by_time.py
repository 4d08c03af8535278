"""resetOffsetByTime: move a group to a time, in all queues of a topic or in one.

Java: ResetOffsetByTimeCommand. An offset of 0 for one queue (-b, -q) is set too; the official tool says
that it does so, and leaves the group where it is.
"""

import click

from trimq.admin.errors import Invalid
from trimq.admin.groups.progress import Side, Target
from trimq.admin.messages.pulling import Place
from trimq.codec.bodies.locks import MessageQueue
from trimq.mqadmin.common.planning import plan_reset, show_moves, warn_without_offsets
from trimq.mqadmin.common.resetting import reset_everywhere, route_topic_of
from trimq.mqadmin.framework import (
    Run,
    admin_command,
    boolean_option,
    chosen_addrs,
    dry_run_option,
    topic_option,
)
from trimq.mqadmin.text.java import java
from trimq.mqadmin.text.moments import MOMENT, moment, say_if_future
from trimq.mqadmin.text.offsets import show_committed, show_reset


@admin_command("resetOffsetByTime")
@click.option("-g", "--group", required=True, help="The group.")
@topic_option
@click.option(
    "-s",
    "--timestamp",
    "when",
    required=True,
    metavar=MOMENT,
    help="The time; -1 for the end.",
)
@boolean_option("-f", "--force", default=True, help="false: never move forward.")
@click.option("-b", "--broker", "broker_addr", metavar="HOST:PORT", help="With -q: only there.")
@click.option("-q", "--queue", "queue_id", type=click.IntRange(min=0), help="Only this queue.")
@click.option(
    "-o", "--offset", type=click.IntRange(min=0), help="With -q: this offset, whatever -s says."
)
@click.option("-c", "--cluster", help="For lite topics: the topic whose route is used.")
@dry_run_option
def command(
    run: Run,
    group: str,
    topic: str,
    when: str,
    force: bool,
    broker_addr: str | None,
    queue_id: int | None,
    offset: int | None,
    cluster: str | None,
    dry_run: bool,
) -> None:
    millis = moment(when, "-s")
    if (broker_addr is None) != (queue_id is None):
        raise click.UsageError("-b and -q belong together: a broker and one of its queues")
    if offset is not None and queue_id is None:
        raise click.UsageError("-o needs -b and -q")
    if offset is None:
        say_if_future(millis, "every queue is set to its end")
    if broker_addr is not None and queue_id is not None:
        (addr,) = chosen_addrs(run, broker_addr, None)
        if dry_run:
            _plan_queue(
                run,
                group,
                Place(MessageQueue(topic=topic, queue_id=queue_id), addr),
                millis,
                offset,
            )
            return
        words = f"topic[{topic}], queueId[{queue_id}], broker[{addr}]"
        run.out.line(_start(group, words, when, millis))
        _one_queue(run, group, MessageQueue(topic=topic, queue_id=queue_id), addr, millis, offset)
        return
    if dry_run:
        plan_reset(run, group, topic, millis, force, route_topic_of(topic, cluster))
        return
    resets = reset_everywhere(run, group, topic, millis, force, route_topic_of(topic, cluster))
    words = f"topic[{topic}], force[{java(force)}]"
    if resets.committed is not None:
        run.out.line(
            f"reset consumer offset by specified consumerGroup[{group}], {words},"
            f" timestamp(string)[{when}], timestamp(long)[{millis}]"
        )
        show_committed(run, resets.committed, "#resetOffset")
    if resets.offsets:
        run.out.line(_start(group, words, when, millis))
        show_reset(run, resets.offsets)


def _start(group: str, words: str, when: str, millis: int) -> str:
    return (
        f"start reset consumer offset by specified, group[{group}], {words},"
        f" timestamp(string)[{when}], timestamp(long)[{millis}]"
    )


def _plan_queue(run: Run, group: str, place: Place, millis: int, offset: int | None) -> None:
    target = Target(Side.TIME, millis) if offset is None else Target(Side.OFFSET, offset)
    queue = place.queue
    moved = run.admin.planned_moves(place.addr, group, queue.topic, target, queue.queue_id)
    warn_without_offsets(run, group, queue.topic, [place.addr])
    show_moves(run, moved, dry_run=True)


def _one_queue(
    run: Run, group: str, queue: MessageQueue, addr: str, millis: int, offset: int | None
) -> None:
    if offset is None:
        offset = run.admin.search_offset(Place(queue, addr), millis)
    if offset < 0:
        raise Invalid(f"{addr} has no queue {queue.queue_id} of topic {queue.topic!r}")
    run.out.line(f"reset consumer offset to {offset}")
    run.admin.reset_queue(addr, group, queue.topic, queue.queue_id, offset)
    run.out.value({"addr": addr, "queue": queue, "offset": offset})
