"""offsets: all about a group's offsets, queue by queue. A command of our own.

What consumerProgress shows, and more: the queue's ends, how long the next message has been waiting, which
client has the queue, and whether the offset is one that the queue has.
"""

from typing import Final

import click

from trimq.admin.errors import AdminError
from trimq.admin.groups.groups import QueueHolder
from trimq.admin.groups.progress import QueueProgress
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.java.moments import duration, local_seconds
from trimq.mqadmin.failures import FAILURES, Failed
from trimq.mqadmin.framework import Run, admin_command
from trimq.mqadmin.text.java import cut

_ROW: Final = (
    "{:<32}  {:<24}  {:>4}  {:>12}  {:>12}  {:>12}  {:>9}  {:>9}  {:>9}  {:<19}  {:<19}  {}"
)
_TITLES: Final = (
    "#Topic",
    "#Broker Name",
    "#QID",
    "#Min",
    "#Max",
    "#Committed",
    "#Inflight",
    "#Backlog",
    "#Delay",
    "#Last Read",
    "#Last Consumed",
    "#Client",
)


@admin_command("offsets")
@click.option("-g", "--group", required=True, help="The group.")
@click.option("-t", "--topic", help="Only this topic of the group.")
def command(run: Run, group: str, topic: str | None) -> None:
    holders = _holders(run, group)
    found: list[QueueProgress] = []

    def add(addr: str) -> None:
        found.extend(run.admin.queue_progress(addr, group, topic, holders))

    run.on_each(run.admin.brokers_with_group(group, topic), add)
    if not found:
        if run.partly_failed:
            return
        where = f" in topic {topic!r}" if topic else ""
        raise Failed(f"no broker has offsets of group {group!r}{where}")
    _show(run, found)


def _holders(run: Run, group: str) -> dict[MessageQueue, QueueHolder]:
    """Who has which queue; nobody when nobody is online, or members cannot be asked."""
    try:
        return run.admin.queue_holders(group)
    except AdminError:
        return {}
    except FAILURES as error:
        run.problem(error)
        return {}


def _show(run: Run, found: list[QueueProgress]) -> None:
    run.out.head(_ROW.format(*_TITLES))
    for one in found:
        last = [local_seconds(at) if at else "-" for at in (one.last_read, one.last_consumed)]
        wrong = f" ({one.remark})" if one.remark else ""
        columns = (one.min_offset, one.max_offset, one.committed, one.in_flight, one.backlog)
        line = _ROW.format(
            cut(one.queue.topic, 32),
            cut(one.queue.broker_name, 24),
            one.queue.queue_id,
            *columns,
            duration(one.delay),
            *last,
            (one.client or "-") + wrong,
        )
        run.out.row(line, _value(one))
    run.out.line()
    run.out.line(f"Backlog: {sum(one.backlog for one in found)}")
    run.out.line(f"Longest delay: {duration(max(one.delay for one in found))}")
    last_consumed = max(one.last_consumed for one in found)
    run.out.line(f"Last consumed: {local_seconds(last_consumed) if last_consumed else '-'}")


def _value(one: QueueProgress) -> dict[str, object]:
    return {
        "topic": one.queue.topic,
        "brokerName": one.queue.broker_name,
        "queueId": one.queue.queue_id,
        "minOffset": one.min_offset,
        "maxOffset": one.max_offset,
        "committedOffset": one.committed,
        "pullOffset": one.pulled,
        "inFlight": one.in_flight,
        "backlog": one.backlog,
        "delayMillis": one.delay,
        "lastReadTimestamp": one.last_read,
        "lastConsumeTimestamp": one.last_consumed,
        "client": one.client,
        "remark": one.remark,
    }
