"""How far groups are: waiting until all is consumed, what is popped and not acknowledged, dead letters."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from trimq.codec.names import dlq_topic, retry_topic
from trimq.codec.pop.handle import normal_topic
from trimq.hand.durations import seconds
from trimq.hand.looks import names, sending
from trimq.hand.looks.answers import Popped, Progress, QueueProgress, Sent
from trimq.hand.looks.waiting import until
from trimq.hand.operation import HandError, Operation, Words
from trimq.wiring.broker import Broker
from trimq.wiring.context import Context

if TYPE_CHECKING:
    from trimq.hand.hand import Hand

_SHOWN = 5


class ConsumedWords(Words):
    group: str
    topic: str | None = None
    timeout: float | str = 10.0


class GroupWords(Words):
    group: str


def operations(hand: Hand) -> list[Operation[Any]]:
    return [
        Operation(
            "looks/wait_until_consumed",
            ConsumedWords,
            partial(_wait_until_consumed, hand),
            "Wait until a group has committed all queues of a topic (or of all topics that it reads) up to their"
            " ends, its retry topics among them, and has acknowledged what it has popped. A retry that waits for its"
            " time is in no queue yet: looks/pending_timers has it.",
        ),
        Operation(
            "looks/dead_letters",
            GroupWords,
            partial(_dead_letters, hand),
            "The messages that a group was given too often, in the order in which they became dead letters.",
        ),
        Operation(
            "looks/in_flight",
            GroupWords,
            partial(_in_flight, hand),
            "How many messages a group has popped and not acknowledged, by topic, since the broker's start (a"
            " restored one has forgotten them, and gives them again when their time is over). What"
            " pulling consumers (orderly ones and their locks, too) have and have not committed is not known here.",
        ),
    ]


async def _dead_letters(hand: Hand, words: GroupWords) -> Sent:
    names.check_group(hand.broker, words.group)
    return await sending.sent(hand, dlq_topic(words.group), 1000)


async def _in_flight(hand: Hand, words: GroupWords) -> list[Popped]:
    names.check_group(hand.broker, words.group)
    return in_flight(hand.broker, words.group)


async def _wait_until_consumed(hand: Hand, words: ConsumedWords) -> Progress:
    timeout = seconds(words.timeout)

    def consumed() -> bool:
        if not hand.is_attached:
            # It is being restored.
            return False
        broker = hand.broker
        # A topic that nobody has sent to yet is not consumed: whoever waits has sent, or will.
        if not _is_there(broker, words):
            return False
        return not _left(progress(hand.context, broker, words.group, words.topic))

    if await until(consumed, timeout):
        return progress(hand.context, hand.broker, words.group, words.topic)
    of_topic = f"topic {words.topic}" if words.topic else "its topics"
    raise HandError(
        f"waited {timeout:g} s for group {words.group} to consume {of_topic}; {_instead(hand, words)}"
    )


def _is_there(broker: Broker, words: ConsumedWords) -> bool:
    """Whether there is anything to consume by anybody. Quick."""
    if not names.has_group(broker, words.group):
        return False
    if words.topic is None:
        return bool(read_topics(broker, words.group))
    return words.topic in broker.common.messaging.topics.table


def _missing(broker: Broker, words: ConsumedWords) -> str | None:
    """Why nothing can be said of the group; None when something can."""
    if words.topic is not None:
        why = names.no_topic(broker, words.topic)
        if why is not None:
            return why
    why = names.no_group(broker, words.group)
    if why is None and words.topic is None and not read_topics(broker, words.group):
        why = "it has read no topic, and none of its members subscribes to one"
    return why


def _instead(hand: Hand, words: ConsumedWords) -> str:
    why = _missing(hand.broker, words)
    if why is not None:
        return why
    left = _left(progress(hand.context, hand.broker, words.group, words.topic))
    more = [f"{len(left) - _SHOWN} more"] if len(left) > _SHOWN else []
    return "; ".join([*left[:_SHOWN], *more])


def _left(at: Progress) -> list[str]:
    """What the group has not consumed, a line for each."""
    left = [
        f"queue {queue.queue_id} of {queue.topic} ends at {queue.end}, and nothing is committed"
        if queue.committed < 0
        else f"queue {queue.queue_id} of {queue.topic} ends at {queue.end}, committed is {queue.committed}"
        for queue in at.queues
        if queue.committed < queue.end
    ]
    left += [
        f"{popped.count} of {popped.topic} popped and not acknowledged" for popped in at.in_flight
    ]
    return left


def progress(context: Context, broker: Broker, group: str, topic: str | None) -> Progress:
    """Where the group is in a topic, or in all that it reads, and in their retry topics. Quick."""
    store, offsets = context.store, broker.common.readers.offsets
    queues = []
    for name in sorted(_with_retries(broker, group, topic)):
        for queue_id in store.queues(name):
            low, end = store.bounds(name, queue_id)
            if end > max(low, 0):
                committed = offsets.query(group, name, queue_id)
                queues.append(
                    QueueProgress(topic=name, queue_id=queue_id, committed=committed, end=end)
                )
    popped = [
        one
        for one in in_flight(broker, group)
        if topic is None or normal_topic(one.topic, group) == topic
    ]
    return Progress(group=group, queues=queues, in_flight=popped)


def in_flight(broker: Broker, group: str) -> list[Popped]:
    return [
        Popped(topic=topic, count=count)
        for owner, topic, count in broker.common.features.in_flight
        if owner == group
    ]


def read_topics(broker: Broker, group: str) -> set[str]:
    """What a group reads: its members subscribe to it, or it has committed something there."""
    readers = broker.common.readers
    found = set(readers.offsets.topics_of(group))
    online = readers.clients.consumers.group(group)
    if online is not None:
        found |= online.subscriptions.keys()
    return {name for name in found if name in broker.common.messaging.topics.table}


def _with_retries(broker: Broker, group: str, topic: str | None) -> set[str]:
    found = read_topics(broker, group) if topic is None else {topic}
    topics = broker.common.messaging.topics.table
    retries = {retry_topic(group)}
    retries |= {name for name in topics.all() if normal_topic(name, group) in found}
    return found | {name for name in retries if name in topics}
