"""One client in a consumer group, and what its own heartbeats say.

The group's table has one entry per topic, from whoever set it last; here each member keeps its own.
"""

from collections.abc import Iterable, Sequence

from trimq.broker.groups.clients.record import Client
from trimq.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from trimq.codec.enums import ConsumeFromWhere, ConsumeType, MessageModel

Point = tuple[str, str]
"""What members may say differently: (TOPIC, its name), or (one of MANNERS, "")."""
Opinion = tuple[str, str] | str | None

TOPIC = "topic"
CONSUME_TYPE, MESSAGE_MODEL, CONSUME_FROM_WHERE = "consumeType", "messageModel", "consumeFromWhere"
MANNERS = (CONSUME_TYPE, MESSAGE_MODEL, CONSUME_FROM_WHERE)


class Member:
    """A client in the group, with what it last said.

    `subscriptions` by topic are None until a heartbeat has any. `since` is when it began to say all
    that (milliseconds since 1970).
    """

    __slots__ = (
        "client",
        "consume_from_where",
        "consume_type",
        "message_model",
        "opinions",
        "since",
        "subscriptions",
    )

    def __init__(self, client: Client) -> None:
        self.client = client
        self.since = client.last_update
        self.consume_type: ConsumeType | None = None
        self.message_model: MessageModel | None = None
        self.consume_from_where: ConsumeFromWhere | None = None
        self.subscriptions: dict[str, SubscriptionData] | None = None
        self.opinions: dict[Point, Opinion] = {}

    def hear(self, data: ConsumerData, now: int, *, without_sub: bool = False) -> bool:
        """Record a heartbeat; true if it says something other than the last one."""
        silent = self.subscriptions is None
        if not without_sub:
            self.subscriptions = {one.topic: one for one in data.subscription_data_set}
        self.consume_type = data.consume_type
        self.message_model = data.message_model
        self.consume_from_where = data.consume_from_where
        opinions = self._opinions()
        if opinions == self.opinions and silent == (self.subscriptions is None):
            return False
        self.opinions = opinions
        self.since = now
        return True

    def opinion(self, point: Point) -> Opinion:
        """What it says about a point; None: nothing, or that it does not want the topic."""
        return self.opinions.get(point)

    def _opinions(self) -> dict[Point, Opinion]:
        manners = (self.consume_type, self.message_model, self.consume_from_where)
        opinions: dict[Point, Opinion] = {
            (name, ""): said for name, said in zip(MANNERS, manners, strict=True)
        }
        for topic, wanted in (self.subscriptions or {}).items():
            opinions[TOPIC, topic] = wanted.wish
        return opinions


def disputes(members: Sequence[Member]) -> set[Point]:
    """The points about which members say different things.

    A member that has said nothing about a point, or about topics at all, differs from nobody.
    """
    if len(members) < 2:
        return set()
    found: set[Point] = set()
    for name in MANNERS:
        point = (name, "")
        if len({said for one in members if (said := one.opinion(point)) is not None}) > 1:
            found.add(point)
    speakers = [one for one in members if one.subscriptions is not None]
    for point in {point for one in speakers for point in one.opinions if point[0] == TOPIC}:
        if len({one.opinion(point) for one in speakers}) > 1:
            found.add(point)
    return found


class Opinions:
    """What the members of a group say, counted: however many there are, a change is found by its points alone."""

    __slots__ = ("_counts", "_speakers")

    def __init__(self) -> None:
        self._counts: dict[Point, dict[Opinion, int]] = {}
        # Members that have said something about topics.
        self._speakers = 0

    def add(self, member: Member) -> None:
        self._speakers += member.subscriptions is not None
        for point, opinion in member.opinions.items():
            if opinion is not None:
                counts = self._counts.setdefault(point, {})
                counts[opinion] = counts.get(opinion, 0) + 1

    def remove(self, member: Member) -> None:
        """As it was added."""
        self._speakers -= member.subscriptions is not None
        for point, opinion in member.opinions.items():
            if opinion is None:
                continue
            counts = self._counts[point]
            counts[opinion] -= 1
            if not counts[opinion]:
                del counts[opinion]
                if not counts:
                    del self._counts[point]

    def all_as(self, member: Member) -> bool:
        """Whether all members say just the same as this one. False may mean that some say nothing about a point."""
        said = {point: opinion for point, opinion in member.opinions.items() if opinion is not None}
        return self._counts.keys() == said.keys() and all(
            len(counts) == 1 and said[point] in counts for point, counts in self._counts.items()
        )

    def disputes(self) -> set[Point]:
        """As `disputes` of all members finds them."""
        return {
            point
            for point, counts in self._counts.items()
            if len(counts) > 1 or (point[0] == TOPIC and sum(counts.values()) < self._speakers)
        }


def account(members: Iterable[Member], point: Point) -> str:
    """Who says what about a point, for a log line or a remark."""
    return ", ".join(f"{one.client.client_id}: {_said(one.opinion(point))}" for one in members)


def _said(opinion: Opinion) -> str:
    if opinion is None:
        return "nothing"
    return opinion if isinstance(opinion, str) else f"{opinion[1]!r} ({opinion[0]})"
