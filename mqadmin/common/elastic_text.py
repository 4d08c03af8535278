"""How elasticTopic shows queues, changes, groups, and what it advises."""

from dataclasses import dataclass
from typing import Final

from trimq.codec.bodies.elastic_admin import (
    ElasticGroup,
    ElasticPlan,
    ElasticView,
    ElasticWait,
)
from trimq.codec.java.moments import local_seconds
from trimq.mqadmin.framework import Run
from trimq.mqadmin.text.java import cut

_QUEUE: Final = "{:>6}  {:>11}  {:>14}  {:>14}  {:>12}"
_LOAD: Final = "{:>10}  {:>6}  {:>12}"
_GROUP: Final = "{:<40}  {:>8}  {:>8}  {}"
_PRODUCER: Final = "{:<24}  {:<40}  {:>10}  {}"
_CHANGE: Final = "{:>8}  {:>6}  {:<32}  {}"
# A queue with so many times its share gets a sentence, and a topic with less than so much of one.
_HOT: Final = 2.0
_COLD: Final = 0.5
# A partition with so much of its queue's messages goes alone, and with so much of them it is the queue.
_HALF: Final = 0.5
_NEARLY_ALL: Final = 0.9
_SHOWN_PARTITIONS: Final = 10
_SHOWN_PRODUCERS: Final = 20


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to do, and why: messages a second of the queue, and the mean of all."""

    text: str
    action: str
    queue: int
    rate: float
    mean: float


def show_plan(run: Run, plan: ElasticPlan, *, dry_run: bool = False) -> None:
    """A line for each change that is to come."""
    if not plan.moves:
        run.out.row("nothing to change", {"moves": 0})
    for number, move in enumerate(plan.moves, 1):
        receivers = sorted(set(move.values()))
        text = f"change {number}: {len(move)} partitions to {_queues(receivers)}"
        value = {"change": number, "partitions": sorted(move), "receivers": receivers}
        run.out.row(f"would {text}" if dry_run else text, {**value, "dryRun": dry_run})


def _queues(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"queue {numbers[0]}"
    return f"queues {', '.join(map(str, numbers))}"


def show_queues(run: Run, view: ElasticView) -> None:
    """The physical queues: how many partitions each has, its offsets, and messages a second lately."""
    run.out.head(_QUEUE.format("#QID", "#Partitions", "#Min", "#Max", "#Messages/s"))
    for one in view.queues:
        rate = f"{one.rate:.1f}"
        run.out.line(_QUEUE.format(one.queue, one.partitions, one.min_offset, one.max_offset, rate))


def show_loads(run: Run, view: ElasticView) -> None:
    """The partitions that get most, if any gets something."""
    busy = sorted((one for one in view.loads if one.rate), key=lambda one: -one.rate)
    if not busy:
        return
    run.out.line()
    run.out.head(_LOAD.format("#Partition", "#QID", "#Messages/s"))
    for one in busy[:_SHOWN_PARTITIONS]:
        run.out.line(_LOAD.format(one.partition, one.queue, f"{one.rate:.1f}"))
    if len(busy) > _SHOWN_PARTITIONS:
        run.out.line(f"and {len(busy) - _SHOWN_PARTITIONS} more partitions: see --json")


def show_old_producers(run: Run, view: ElasticView) -> None:
    """Connections that seem to have the list of queues from before, if there are any."""
    if not view.old_producers:
        return
    run.out.line()
    run.out.line(
        f"These producers have sent to ids below {view.old_queues} alone, the topic's queues before it became elastic."
        " With that old list they spread keys otherwise than others do, so that these keys have no order; with few"
        " keys it may be chance."
    )
    run.out.head(_PRODUCER.format("#Address", "#Client", "#Sends", "#Since"))
    for one in view.old_producers[:_SHOWN_PRODUCERS]:
        client = cut(one.client_id or "-", 40)
        since = local_seconds(one.since)
        run.out.line(_PRODUCER.format(one.address, client, one.sends, since))
    if len(view.old_producers) > _SHOWN_PRODUCERS:
        run.out.line(f"and {len(view.old_producers) - _SHOWN_PRODUCERS} more producers: see --json")


def show_groups(run: Run, view: ElasticView) -> None:
    """The groups that read in order, and which queue each of them has to finish first."""
    run.out.line()
    run.out.head(_GROUP.format("#Group", "#Members", "#Passed", "#Waits For"))
    for group in view.groups:
        passed = sum(change.version in group.passed for change in view.changes)
        of_all = f"{passed}/{len(view.changes)}"
        run.out.line(_GROUP.format(cut(group.group, 40), group.members, of_all, _waits(group)))


def _waits(group: ElasticGroup) -> str:
    if not group.waits:
        return "-"
    return "; ".join(
        f"queue {one.queue}: {one.end - one.committed} messages before version {one.version}"
        f" ({_of_wait(one)})"
        for one in group.waits
    )


def _of_wait(one: ElasticWait) -> str:
    """Since when, who has the queue, and when it was committed last."""
    parts = [one.owner or "nobody has it locked"]
    if one.since:
        parts.insert(0, f"since {local_seconds(one.since)}")
    parts.append(
        f"last commit {local_seconds(one.last_commit)}"
        if one.last_commit
        else "no commit since the broker's start"
    )
    return ", ".join(parts)


def show_changes(run: Run, view: ElasticView) -> None:
    """The changes that are still remembered, oldest first."""
    run.out.head(_CHANGE.format("#Version", "#Moved", "#Ends", "#Starts"))
    for one in view.changes:
        row = _CHANGE.format(one.version, one.moved, _offsets(one.ends), _offsets(one.starts))
        run.out.row(row, one)


def _offsets(offsets: dict[int, int]) -> str:
    return " ".join(f"{queue}:{offset}" for queue, offset in sorted(offsets.items()))


def advice(before: ElasticView, after: ElasticView, seconds: float) -> list[Advice]:
    """What to split or merge, by how many messages came between two looks."""
    earlier = {one.queue: one.max_offset for one in before.queues}
    rates = {
        one.queue: (one.max_offset - earlier.get(one.queue, one.max_offset)) / seconds
        for one in after.queues
        # Nothing comes to queues that are to leave the route.
        if one.partitions
    }
    mean = sum(rates.values()) / max(len(rates), 1)
    found = []
    partitions = _partition_rates(before, after, seconds)
    sizes = {one.queue: one.partitions for one in after.queues}
    for queue, rate in rates.items():
        if mean and rate >= _HOT * mean and sizes[queue] > 1:
            action, text = _split(queue, rate, partitions.get(queue, {}))
            text += f"; the mean is {mean:.1f}"
            found.append(Advice(text, action, queue, rate, mean))
    last = max(rates, default=0)
    calmest = min((queue for queue in rates if queue != last), key=rates.__getitem__, default=None)
    if mean and calmest is not None and rates[last] + rates[calmest] <= _COLD * mean:
        text = f"merge --to {calmest}: queue {last} gets {rates[last]:.1f} messages a second"
        found.append(Advice(text, "merge", last, rates[last], mean))
    if not found:
        why = "the queues get about the same" if mean else "no message came"
        found.append(Advice(f"nothing to do: {why}", "none", -1, mean, mean))
    return found


def _partition_rates(
    before: ElasticView, after: ElasticView, seconds: float
) -> dict[int, dict[int, float]]:
    """Messages a second by queue and partition, of those that got any; a broker that was restarted counts anew."""
    earlier = {one.partition: one.messages for one in before.loads}
    found: dict[int, dict[int, float]] = {}
    for one in after.loads:
        came = one.messages - earlier.get(one.partition, 0)
        if came > 0:
            found.setdefault(one.queue, {})[one.partition] = came / seconds
    return found


def _split(queue: int, rate: float, partitions: dict[int, float]) -> tuple[str, str]:
    """How to split a queue that gets too much: the action and the sentence."""
    gets = f"it gets {rate:.1f} messages a second"
    hottest = max(partitions, key=partitions.__getitem__, default=None)
    if hottest is None or partitions[hottest] < _HALF * rate:
        return "split", f"split -i {queue}: {gets}"
    alone = f"{partitions[hottest]:.1f} of them of partition {hottest}"
    if partitions[hottest] >= _NEARLY_ALL * rate:
        return "none", f"queue {queue} cannot be helped by a split: {gets}, {alone}"
    return "split", f"split -i {queue} --partition {hottest}: {gets}, {alone}"
