"""Moving a static topic's queues to other brokers: existing messages stay, new ones go to the new
brokers.

Java: TopicQueueMappingUtils.remappingStaticTopic, MQAdminUtils.remappingStaticTopic.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from trimq.admin.connecting.link import Link
from trimq.admin.errors import Invalid
from trimq.admin.topics.static_topics import (
    EPOCH_STEP,
    Configs,
    empty_part,
    epoch_of,
    leaders_of,
    mapping_of,
    master_addrs,
    put_static_topic,
    renew,
)
from trimq.admin.topics.topics import broker_topic_stats
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.static_topics import LogicQueueMappingItem

# A queue's new part begins at about the second multiple of this after the old part's end: the old
# broker takes messages until it has heard of the move.
_BLOCK = 10_000


@dataclass(slots=True)
class Remapping:
    """What moves: the parts of each moved queue by its number, and whose queues come and go."""

    epoch: int
    moved: dict[int, list[LogicQueueMappingItem]] = field(default_factory=dict)
    receivers: set[str] = field(default_factory=set)
    givers: set[str] = field(default_factory=set)


def remap(topic: str, configs: Configs, brokers: Iterable[str], now: int) -> Remapping:
    """Spread a static topic's queues over brokers evenly, in `configs` itself.

    As many as possible stay where they are. Where a new part begins is not decided yet. Invalid when
    the brokers' mappings do not fit together.
    """
    done = Remapping(max(epoch_of(configs) + EPOCH_STEP, now))
    leaders = leaders_of(configs)
    for number, name in _moves(leaders, set(brokers)).items():
        old = leaders[number]
        config = configs.get(name)
        if config is None:
            config = configs[name] = empty_part(topic, name)
        config.write_queue_nums += 1
        config.read_queue_nums += 1
        source = old.bname or ""
        part = LogicQueueMappingItem(
            bname=name, queue_id=config.write_queue_nums - 1, gen=old.gen + 1, logic_offset=-1
        )
        parts = [*mapping_of(source, configs[source]).hosted_queues[number], part]
        # One list for both: once the new part's start is decided, both know it.
        for one in (source, name):
            mapping_of(one, configs[one]).hosted_queues[number] = parts
        done.moved[number] = parts
        done.receivers.add(name)
        done.givers.add(source)
    renew(configs, done.epoch, len(leaders))
    return done


async def move_queues(link: Link, topic: str, configs: Configs, remapping: Remapping) -> None:
    """Tell the brokers; Invalid, before anything is changed, when one of them has no master.

    First the new leaders take messages, then the old ones refuse them; then it is known where the old
    parts end, and the new leaders are told where theirs begin.
    """
    addrs = await master_addrs(link, configs)
    receivers, givers = sorted(remapping.receivers), sorted(remapping.givers)
    for name in (*receivers, *givers):
        await put_static_topic(link, addrs[name], name, configs[name])
    ends = {name: (await broker_topic_stats(link, addrs[name], topic)).offsets for name in givers}
    for number, parts in remapping.moved.items():
        old, new = parts[-2:]
        queue = MessageQueue(broker_name=old.bname or "", queue_id=old.queue_id, topic=topic)
        found = ends[old.bname or ""].get(queue)
        if found is None or found.max_offset < old.start_offset:
            raise Invalid(
                f"broker {old.bname!r} does not say where its part of queue {number} ends"
            )
        new.logic_offset = _begin_behind(old.to_global(found.max_offset))
    others = sorted(configs.keys() - remapping.receivers - remapping.givers)
    for name in (*receivers, *others):
        await put_static_topic(link, addrs[name], name, configs[name])


def _moves(leaders: dict[int, LogicQueueMappingItem], brokers: set[str]) -> dict[int, str]:
    """Which queues have to go where, by number."""
    places = [item.bname or "" for item in leaders.values()]
    share, rest = divmod(len(places), len(brokers))
    # The brokers that have the most keep one more.
    order = sorted(brokers, key=lambda name: (-places.count(name), name))
    free = {name: share + (index < rest) for index, name in enumerate(order)}
    leaving: list[int] = []
    for number, item in sorted(leaders.items()):
        name = item.bname or ""
        if free.get(name, 0) > 0:
            free[name] -= 1
        else:
            leaving.append(number)
    targets = [name for name in sorted(free) for _ in range(free[name])]
    return dict(zip(leaving, targets, strict=True))


def _begin_behind(end: int) -> int:
    """A round offset after an end, with some distance (blockSeqRoundUp)."""
    blocks, rest = divmod(end, _BLOCK)
    return (blocks + (1 if rest < _BLOCK // 2 else 2)) * _BLOCK
