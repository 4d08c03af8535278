"""What `--dry-run` says: where groups would move, and what would be deleted or hidden. Nothing is changed.

The sentences from `would` go where the command's own output goes; as JSON they are values with `dryRun`.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from trimq.admin.errors import AdminError, NotFound
from trimq.admin.groups.offsets import END
from trimq.admin.groups.progress import Moved, Side, Target
from trimq.codec.names import DLQ_PREFIX, RETRY_PREFIX
from trimq.mqadmin.failures import FAILURES, Failed
from trimq.mqadmin.framework import Run
from trimq.mqadmin.text.java import cut

_ROW: Final = "{:<64}  {:<32}  {:>4}  {:>20}  {:>20}"
_TITLES: Final = ("#Topic", "#Broker Name", "#QID", "#From", "#To")


def would(run: Run, text: str, **values: Any) -> None:
    """One thing that would happen."""
    run.out.row(f"would {text}", {"dryRun": True, "would": text, **values})


def show_moves(run: Run, moved: Sequence[Moved], *, dry_run: bool = False) -> None:
    """From where to where, queue by queue."""
    run.out.head(_ROW.format(*_TITLES))
    for one in moved:
        queue = one.queue
        columns = (cut(queue.topic, 64), cut(queue.broker_name, 32), queue.queue_id)
        value: dict[str, Any] = {"queue": queue, "from": one.before, "to": one.offset}
        if dry_run:
            value["dryRun"] = True
        run.out.row(_ROW.format(*columns, one.before, one.offset), value)
    if dry_run and not run.out.as_json:
        run.warn("nothing was moved: --dry-run")


def warn_without_offsets(run: Run, group: str, topic: str, addrs: Iterable[str]) -> None:
    """The name may be wrong, and where there is no offset the table shows 0."""
    try:
        has_any = any(run.admin.has_offsets(addr, group, topic) for addr in addrs)
    except FAILURES:
        # The command itself says what is wrong with that broker.
        return
    if not has_any:
        run.warn(f"group {group!r} has no offsets in topic {topic!r}: is its name right?")


def plan_reset(
    run: Run, group: str, topic: str, millis: int, force: bool, route_topic: str | None
) -> None:
    """What `reset_everywhere` would do; brokers that reset by themselves ignore `force`."""
    target = Target(Side.LATEST) if millis == END else Target(Side.TIME, millis)
    moved: list[Moved] = []

    def plan(addr: str) -> None:
        planned = run.admin.planned_moves(addr, group, topic, target)
        forced = force or run.admin.resets_by_itself(addr, topic)
        moved.extend(
            one if forced or one.offset <= one.before else Moved(one.queue, one.before, one.before)
            for one in planned
        )

    addrs = run.admin.route_addrs(route_topic or topic)
    if not addrs:
        raise Failed(f"no broker has topic {topic!r}")
    run.on_each(addrs, plan)
    if moved:
        warn_without_offsets(run, group, topic, addrs)
    if moved or not run.partly_failed:
        show_moves(run, moved, dry_run=True)


def plan_topic_deletion(run: Run, topic: str, addrs: Iterable[str]) -> None:
    """How many messages would be gone, and which groups read the topic."""

    def plan(addr: str) -> None:
        try:
            stats = run.admin.broker_topic_stats(addr, topic)
        except AdminError:
            run.out.line(f"{addr} does not have topic {topic!r}")
            return
        count = sum(one.max_offset - one.min_offset for one in stats.offsets.values())
        text = f"delete topic {topic!r} from {addr}: {len(stats.offsets)} queues, {count} messages"
        would(run, text, addr=addr, topic=topic, queues=len(stats.offsets), messages=count)

    run.on_each(addrs, plan)
    try:
        groups = run.admin.topic_groups(topic)
    except AdminError:
        return
    if groups:
        run.warn(f"groups that read {topic!r}: {', '.join(groups)}")


def plan_group_deletion(
    run: Run, group: str, addrs: Sequence[str], with_offsets: bool, with_topics: bool
) -> None:
    """The group at each broker, and its own topics."""

    def plan(addr: str) -> None:
        if group not in run.admin.groups_of(addr):
            run.out.line(f"{addr} does not have group {group!r}")
            return
        offsets = "with its offsets" if with_offsets else "its offsets stay"
        would(run, f"delete group {group!r} from {addr}, {offsets}", addr=addr, group=group)

    run.on_each(addrs, plan)
    for prefix in (RETRY_PREFIX, DLQ_PREFIX) if with_topics else ():
        plan_topic_deletion(run, prefix + group, addrs)


def warn_of_absent_topic(run: Run, topic: str, addrs: Iterable[str]) -> bool:
    """Brokers answer with success when there is nothing to delete. Whether one may have the topic."""
    there = False
    for addr in addrs:
        try:
            run.admin.topic_config(addr, topic)
            there = True
        except NotFound:
            run.warn(f"{addr} does not have topic {topic!r}: nothing to delete there")
        except FAILURES:
            # The deletion itself says what is wrong with that broker.
            there = True
    return there


def hidden_messages(run: Run, addr: str, topic: str, reads: int) -> tuple[int, int]:
    """(queues to read now, messages in those from number `reads` on); (0, 0) where there is no topic."""
    try:
        now = run.admin.topic_config(addr, topic).read_queue_nums
        if reads >= now:
            return now, 0
        offsets = run.admin.broker_topic_stats(addr, topic).offsets
    except FAILURES:
        return 0, 0
    tail = [one for queue, one in offsets.items() if queue.queue_id >= reads]
    return now, sum(one.max_offset - one.min_offset for one in tail)
