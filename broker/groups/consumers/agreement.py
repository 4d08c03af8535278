"""Whether the members of a consumer group want the same, since when they do not, and who overwrites
whom.

RocketMQ has one subscription per group and topic, and each heartbeat replaces it: members that
disagree take messages from each other. Nothing here changes that; it is only recorded.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from trimq.broker.groups.consumers.member import Member, Opinions, Point, account
from trimq.codec.bodies.heartbeat import SubscriptionData
from trimq.remoting.contract import Peer

log = logging.getLogger("trimq.broker")

# Kinds of overwriting remembered per group; the oldest is forgotten first.
_REMEMBERED: Final = 50
# Topics for which we remember who set or removed them, before the removed ones are forgotten.
_AUTHORS: Final = 1000
# Members that a log line names for each point.
_NAMED: Final = 5


@dataclass(slots=True, kw_only=True)
class Overwrite:
    """One member's entry for a topic was replaced by another's; times are milliseconds.

    An expression of None: the topic was removed, or came back after that.
    """

    topic: str
    by: str
    of: str
    before: str | None
    after: str | None
    first: int
    last: int
    count: int = 1


class Agreement:
    """What the members of one group disagree on."""

    __slots__ = ("_authors", "_overwrites", "begun", "name", "since")

    def __init__(self, name: str) -> None:
        self.name = name
        self.since: dict[Point, int] = {}
        """The points in dispute, and since when (milliseconds since 1970)."""
        self.begun = 0
        """How often the members began to disagree."""
        self._authors: dict[str, tuple[str, str | None]] = {}
        self._overwrites: dict[tuple[str, str, str, str | None, str | None], Overwrite] = {}

    @property
    def overwrites(self) -> list[Overwrite]:
        """What members did to each other's entries, the latest last."""
        return list(self._overwrites.values())

    def look(self, opinions: Opinions, members: Mapping[Peer, Member], now: int) -> None:
        """Called when a member has come, gone, or said something new."""
        found = opinions.disputes()
        before = self.since
        self.since = {point: before.get(point, now) for point in sorted(found)}
        if self.since.keys() == before.keys():
            return
        if not found:
            log.info("members of a group agree again: group=%s", self.name)
        elif not before:
            self.begun += 1
            log.warning(
                "members of a group subscribe differently, messages will be missed: group=%s who=%s",
                self.name,
                "; ".join(_line(point, members) for point in self.since),
            )

    def put(self, topic: str, by: str, subscription: SubscriptionData | None, now: int) -> None:
        """A member has set the group's entry of a topic, or removed it."""
        after = None if subscription is None else subscription.sub_string or "*"
        of, before = self._authors.get(topic, (by, None))
        if by == of and after is None:
            self._authors.pop(topic, None)
            return
        self._authors[topic] = (by, after)
        if len(self._authors) > _AUTHORS:
            self._authors = {name: one for name, one in self._authors.items() if one[1] is not None}
        if by == of or before == after:
            return
        key = (topic, by, of, before, after)
        known = self._overwrites.pop(key, None)
        if known is None:
            if len(self._overwrites) >= _REMEMBERED:
                del self._overwrites[next(iter(self._overwrites))]
            known = Overwrite(
                topic=topic, by=by, of=of, before=before, after=after, first=now, last=now
            )
        else:
            known.count += 1
            known.last = now
        self._overwrites[key] = known


def _line(point: Point, members: Mapping[Peer, Member]) -> str:
    more = f", and {len(members) - _NAMED} more" if len(members) > _NAMED else ""
    return f"{' '.join(point).strip()} [{account(islice(members.values(), _NAMED), point)}{more}]"
