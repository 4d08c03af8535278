"""resetOffset: move a group, whether it is online or not. A command of our own.

One queue, a topic, or all topics of the group; to the first or the next offset, to an offset, or to a time.
Says for each queue where the group was, and for what is refused, why.
"""

from typing import Final

import click

from trimq.admin.errors import Invalid
from trimq.admin.groups.progress import Moved, Side, Target
from trimq.mqadmin.common.planning import show_moves, warn_without_offsets
from trimq.mqadmin.failures import FAILURES, Failed
from trimq.mqadmin.framework import Run, admin_command, dry_run_option
from trimq.mqadmin.text.moments import FORMS, MOMENT, moment, say_if_future

_SIDES: Final = {
    "earliest": Side.EARLIEST,
    "min": Side.EARLIEST,
    "latest": Side.LATEST,
    "max": Side.LATEST,
}
_TARGETS: Final = f"earliest|latest|OFFSET|{MOMENT}"
# Numbers from here on are milliseconds (since September 2001), below they are offsets.
_FIRST_MILLIS: Final = 10**12


def target_of(text: str) -> Target:
    """`--to` as it is written; a usage error when it is none of these."""
    word = text.strip().lower()
    if word in _SIDES:
        return Target(_SIDES[word])
    if word.isdecimal() and int(word) < _FIRST_MILLIS:
        return Target(Side.OFFSET, int(word))
    if word.removeprefix("-").isdecimal() and word.startswith("-"):
        raise click.BadParameter(f"{text!r} is not an offset: offsets start at 0")
    try:
        millis = moment(text)
    except click.BadParameter:
        raise click.BadParameter(f"{text!r} is not one of {_TARGETS}; a TIME is {FORMS}") from None
    say_if_future(millis, "every queue is set to its end")
    return Target(Side.TIME, millis)


@admin_command("resetOffset")
@click.option("-g", "--group", required=True, help="The group.")
@click.option("-t", "--topic", help="The topic.")
@click.option("--all-topics", is_flag=True, help="Every topic of the group except its retry topic.")
@click.option("-q", "--queue", "queue_id", type=click.IntRange(min=0), help="Only this queue.")
@click.option("-b", "--broker", "broker_name", help="Only on the broker with this name.")
@click.option(
    "--to",
    "target",
    type=target_of,
    required=True,
    metavar=_TARGETS,
    help="Numbers from 1000000000000 on are milliseconds.",
)
@dry_run_option
def command(
    run: Run,
    group: str,
    topic: str | None,
    all_topics: bool,
    queue_id: int | None,
    broker_name: str | None,
    target: Target,
    dry_run: bool,
) -> None:
    if (topic is None) != all_topics:
        raise click.UsageError("give either -t or --all-topics")
    if topic is None and queue_id is not None:
        raise click.UsageError("-q needs -t: a queue belongs to a topic")
    moved: list[Moved] = []
    move = run.admin.planned_moves if dry_run else run.admin.move_group
    addrs = _addrs(run, group, topic, broker_name)
    if topic is not None:
        warn_without_offsets(run, group, topic, addrs)
    for addr in addrs:
        try:
            topics = [topic] if topic is not None else run.admin.group_topics(addr, group)
        except FAILURES as error:
            run.problem(error)
            continue
        for name in topics:
            try:
                moved += move(addr, group, name, target, queue_id)
            except FAILURES as error:
                run.problem(error)
    if moved:
        show_moves(run, moved, dry_run=dry_run)
    elif not run.partly_failed:
        raise Failed(f"no broker has offsets of group {group!r}")


def _addrs(run: Run, group: str, topic: str | None, broker_name: str | None) -> list[str]:
    addrs = (
        run.admin.route_addrs(topic) if topic is not None else run.admin.brokers_with_group(group)
    )
    if broker_name is None:
        return addrs
    broker = run.admin.cluster_info().broker_addr_table.get(broker_name)
    here = [addr for addr in addrs if broker and addr in broker.broker_addrs.values()]
    if not here:
        raise Invalid(f"no broker {broker_name!r} has {topic or group!r}")
    return here
