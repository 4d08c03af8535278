"""Which messages a group misses when its members subscribe differently, as data and as a sentence.

A message has to pass two filters: the broker's, which goes by the entry in force, and that of the
member that has the queue, which goes by its own subscription. What either drops is gone for good:
the queue's offset moves on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trimq.codec.bodies.heartbeat import SubscriptionData
from trimq.codec.bodies.locks import MessageQueue

UNREAD, REJECTED, FILTERED, MIXED = "unread", "rejected", "filtered", "mixed"
"""Kinds of loss: nobody reads the queues; pulls fail while the topic has no entry; messages are
dropped by a filter; queues are shared out or started in different ways."""

_ALL = "*"


@dataclass(slots=True, kw_only=True)
class Loss:
    """One way in which messages get lost, or stay where they are.

    `queues` are those concerned, None where that is not known. `tags` are what gets lost there: ["*"]
    for everything, or for everything but `kept`; empty where it cannot be told in tags.
    """

    kind: str
    members: list[str]
    queues: list[MessageQueue] | None
    tags: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    text: str


def losses_of_topic(
    entry: SubscriptionData | None,
    wishes: Mapping[str, SubscriptionData | None],
    held: Mapping[str, list[MessageQueue] | None],
    queues: Sequence[MessageQueue] | None,
) -> list[Loss]:
    """What gets lost of one topic.

    `entry` is what the broker goes by; `wishes` are what members want, by client id (None: not this
    topic), `held` what they read, `queues` all queues to be shared (None: everybody reads all).
    """
    wanted = {name: wish for name, wish in wishes.items() if wish is not None}
    others = [name for name in wishes if name not in wanted]
    found: list[Loss] = []
    if others and queues is not None:
        found += _unread(others, list(wanted), held, queues)
    if entry is None:
        found.append(_rejected(list(wanted), others))
        return found
    for name, wish in wanted.items():
        loss = _filtered(name, wish, entry, list(wanted.values()), held.get(name))
        if loss is not None:
            found.append(loss)
    return found


def losses_of_manner(name: str, by_opinion: Mapping[str, list[str]]) -> list[Loss]:
    """What results from different consume types, message models or start offsets."""
    sides = " and ".join(f"{said} ({', '.join(names)})" for said, names in by_opinion.items())
    text = {
        "consumeType": "push consumers count those that pull by themselves when they divide the "
        "queues: the queues of a member that never asks for them are not read",
        "messageModel": "clustering members leave a share of the queues to the broadcasting ones, "
        "which "
        "do not read on behalf of the group: nobody reads what those miss",
        "consumeFromWhere": "a queue that the group has never read starts where its first reader "
        "says: with CONSUME_FROM_LAST_OFFSET, what was sent before is skipped",
    }[name]
    members = [one for names in by_opinion.values() for one in names]
    return [Loss(kind=MIXED, members=members, queues=None, text=f"{sides}: {text}")]


def _unread(
    others: list[str],
    wanted: list[str],
    held: Mapping[str, list[MessageQueue] | None],
    queues: Sequence[MessageQueue],
) -> list[Loss]:
    """The queues assigned to members that do not want the topic."""
    known = [held.get(name) for name in wanted]
    left: list[MessageQueue] | None = None
    if queues and all(one is not None for one in known):
        read = {queue for one in known for queue in one or ()}
        left = [queue for queue in queues if queue not in read]
        if not left:
            return []
    where = "the queues that fall to them" if left is None else _named(left)
    text = f"{_listed(others)} not want the topic: nobody reads {where}"
    return [Loss(kind=UNREAD, members=others, queues=left, tags=[_ALL], text=text)]


def _rejected(wanted: list[str], others: list[str]) -> Loss:
    text = (
        f"the heartbeat of {' or '.join(others) or 'another member'} has removed the topic from the group: "
        f"pulls of {', '.join(wanted)} fail until their next heartbeat brings it back"
    )
    return Loss(kind=REJECTED, members=wanted, queues=None, tags=[_ALL], text=text)


def _filtered(
    name: str,
    wish: SubscriptionData,
    entry: SubscriptionData,
    all_wishes: list[SubscriptionData],
    held: list[MessageQueue] | None,
) -> Loss | None:
    """What both filters withhold from the queues of one member, of all that the group wants."""
    where = "the queues" if held is None else _named(held)
    if held == []:
        return None
    own, in_force = wish.sub_string or _ALL, entry.sub_string or _ALL
    filters = f"the broker lets {in_force!r} through, {name} itself takes {own!r}"
    tag_sets = [_tags(one) for one in (wish, entry, *all_wishes)]
    if any(one is None for one in tag_sets):
        if wish.wish == entry.wish and all(one.wish == wish.wish for one in all_wishes):
            return None
        text = f"in {where} of {name} all is skipped that does not pass both filters: {filters}"
        return Loss(kind=FILTERED, members=[name], queues=held, text=text)
    mine, forced, *wanted = (one for one in tag_sets if one is not None)
    everything = any(_ALL in one for one in wanted)
    kept = _both(mine, forced)
    if everything and _ALL in kept:
        return None
    lost = {_ALL} if everything else set().union(*wanted) - kept
    if not lost:
        return None
    tags = f"with {'tag' if len(lost) == 1 else 'tags'} {', '.join(sorted(lost))}"
    if everything:
        tags = f"without tag {' or '.join(sorted(kept))}" if kept else "of any kind"
    return Loss(
        kind=FILTERED,
        members=[name],
        queues=held,
        tags=sorted(lost),
        kept=sorted(kept) if everything else [],
        text=f"messages {tags} in {where} of {name} are skipped: {filters}",
    )


def _tags(wish: SubscriptionData) -> set[str] | None:
    """Its tags; "*" for all of them; None when it does not filter by tags."""
    kind, expression = wish.wish
    return set(expression.split(" || ")) if kind == "TAG" else None


def _both(one: set[str], other: set[str]) -> set[str]:
    if _ALL in one:
        return other
    return one if _ALL in other else one & other


def _named(queues: Sequence[MessageQueue]) -> str:
    """`queues 0, 1, 5 of broker-a`."""
    by_broker: dict[str, list[int]] = {}
    for queue in queues:
        by_broker.setdefault(queue.broker_name, []).append(queue.queue_id)
    return " and ".join(
        f"{'queue' if len(ids) == 1 else 'queues'} {', '.join(map(str, sorted(ids)))} of {broker}"
        for broker, ids in sorted(by_broker.items())
    )


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names)} {'does' if len(names) == 1 else 'do'}"
