"""Which group wants which messages of a topic, by their properties (ConsumerFilterManager).

Members' heartbeats register what they filter by; it stays for a day after the last of them has left, because
maps of filters in the queues refer to it. `config/consumerFilter.json` is written every ten seconds, as there.
"""

import logging
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.filters.bloom import Bloom
from trimq.broker.filters.expressions import Expressions, is_filter
from trimq.broker.steps import Steps, in_steps
from trimq.broker.tables.file import TableFile
from trimq.broker.tables.json_members import pretty, quoted
from trimq.codec.bodies.base import decode_file
from trimq.codec.bodies.filters import BloomFilterData, ConsumerFilterData, ConsumerFilterTable
from trimq.codec.bodies.heartbeat import SubscriptionData
from trimq.codec.sql.building import Unreadable
from trimq.codec.sql.expression import Expression

log = logging.getLogger("trimq.consume")

PERSIST_SECONDS: Final = 10
DESCRIBED: Final = "group=%s topic=%s expression=%s version=%d"
# At a start nobody can be online yet; a filter counts as left since then.
_LEFT_BEFORE_START: Final = 30_000
_LEAST_ROOM: Final = 500
_POSITIONS: Final = re.compile(r'"bitPos":\[[^]]*\]')
_FULL: Final = (
    "filter not kept, there are too many: group=%s topic=%s characters=%d (maxFilterCharacters)"
)


class Filter:
    """One group's filter on one topic. `expression` is None until somebody is online after a start."""

    __slots__ = ("data", "expression")

    def __init__(self, data: ConsumerFilterData, expression: Expression | None) -> None:
        self.data = data
        self.expression = expression

    @property
    def is_dead(self) -> bool:
        """Whether its group has left, or wants the topic no longer."""
        return self.data.dead_time >= self.data.born_time

    @property
    def room(self) -> int:
        return _LEAST_ROOM + len(self.data.expression or "")

    def shown(self, tabs: int = 0) -> str:
        """As FastJSON writes it, indented by that many tabs."""
        self.data.dead = self.is_dead
        # Arrays of numbers stay in their line there.
        return _POSITIONS.sub(lambda found: "".join(found[0].split()), pretty(self.data, tabs), 1)

    def described(self) -> tuple[str, str, str | None, int]:
        """The values of `DESCRIBED`."""
        data = self.data
        return data.consumer_group, data.topic, data.expression, data.client_version


class ConsumerFilters:
    """All filters, by topic and group."""

    def __init__(
        self,
        config: BrokerConfig,
        directory: Path,
        clock: Clock,
        expressions: Expressions,
        topics: Container[str],
    ) -> None:
        """`directory` is the store's `config` folder. `topics`: those that there are; others get no filters."""
        self._config = config
        self._known_topics = topics
        self._clock = clock
        self._expressions = expressions
        self.bloom = Bloom(
            config.max_error_rate_of_bloom_filter, config.expect_consumer_num_use_filter
        )
        self._file = TableFile(directory / "consumerFilter.json", self._pieces, spare=True)
        self._topics: dict[str, dict[str, Filter]] = {}
        self._groups: dict[str, dict[str, Filter]] = {}
        # Those that nobody uses, the one that has been so for longest first.
        self._dead: dict[Filter, None] = {}
        self._count = 0
        self._room = 0
        self._changed = False

    # --- looking up

    @property
    def count(self) -> int:
        return self._count

    def find(self, topic: str, group: str) -> Filter | None:
        return self._topics.get(topic, {}).get(group)

    def on_topic(self, topic: str) -> Mapping[str, Filter]:
        """By group."""
        return self._topics.get(topic, {})

    def of_group(self, group: str) -> Mapping[str, Filter]:
        """By topic."""
        return self._groups.get(group, {})

    # --- heartbeats

    def unread(self, group: str, subscriptions: Iterable[SubscriptionData]) -> list[str]:
        """The expressions that have to be read before these subscriptions are registered.

        Also those of topics that there are not yet: a group's first heartbeat makes its retry topic.
        """
        texts: list[str] = []
        for one in subscriptions:
            text = one.sub_string
            if text is None or not is_filter(one.expression_type, text):
                continue
            old = self.find(one.topic, group)
            if old is not None and old.expression is not None and not _replaces(one, old):
                continue
            if self._expressions.find(one.expression_type, text) is None:
                texts.append(text)
        return texts

    def register(self, group: str, subscriptions: Iterable[SubscriptionData]) -> None:
        """What a member's heartbeat says. What is not an expression gets no filter."""
        topics: set[str] = set()
        for one in subscriptions:
            topics.add(one.topic)
            if one.sub_string and self._is_kept(one):
                self._register(group, one, one.sub_string)
        for topic, known in self.of_group(group).items():
            if topic not in topics and not known.is_dead:
                self._die(known, "topic no longer subscribed")

    def register_missing(self, group: str, subscriptions: Iterable[SubscriptionData]) -> None:
        """What its members said before, of topics that there were not then: they do not say it again."""
        for one in subscriptions:
            if not self._is_kept(one) or self.find(one.topic, group) is not None:
                continue
            text = one.sub_string or ""
            # Read with the heartbeat that said it; forgotten since, it comes with the next one that says it.
            if self._expressions.find(one.expression_type, text) is not None:
                self._put(group, one, text)

    def group_gone(self, group: str) -> None:
        """Its last member has left (unRegister)."""
        for known in self.of_group(group).values():
            if not known.is_dead:
                self._die(known, "group gone")

    def _is_kept(self, one: SubscriptionData) -> bool:
        """Whether a subscription has a filter, and a topic that it can be for."""
        return is_filter(one.expression_type, one.sub_string) and one.topic in self._known_topics

    def _register(self, group: str, one: SubscriptionData, text: str) -> None:
        old = self.find(one.topic, group)
        if old is None:
            self._put(group, one, text)
            return
        if one.sub_version > old.data.client_version:
            if _replaces(one, old):
                self._drop(old)
                self._put(group, one, text)
                return
            old.data.client_version = one.sub_version
            self._changed = True
        elif one.sub_version < old.data.client_version:
            return
        if old.is_dead:
            old.data.dead_time = 0
            self._dead.pop(old, None)
            self._changed = True
            log.info(f"filter in use again: {DESCRIBED}", *old.described())
        if old.expression is None:
            old.expression = self._read(old.data)

    def _put(self, group: str, one: SubscriptionData, text: str) -> None:
        with_maps = self._config.enable_calc_filter_bit_map
        data = ConsumerFilterData(
            bloom_filter_data=self.bloom.data_of(group, one.topic) if with_maps else None,
            born_time=self._clock.millis(),
            client_version=one.sub_version,
            consumer_group=group,
            expression=text,
            expression_type=one.expression_type,
            topic=one.topic,
        )
        expression = self._read(data)
        if expression is None:
            return
        made = Filter(data, expression)
        if not self._has_room(made):
            log.warning(_FULL, group, one.topic, self._room)
            return
        self._keep(made)
        self._changed = True
        log.info(f"filter registered: {DESCRIBED}", *made.described())

    def _read(self, data: ConsumerFilterData) -> Expression | None:
        found = self._expressions.find(data.expression_type, data.expression or "")
        if isinstance(found, Expression):
            return found
        log.error(
            "filter unreadable: group=%s topic=%s expression=%s reason=%s",
            data.consumer_group,
            data.topic,
            data.expression,
            found if isinstance(found, Unreadable) else "not read yet",
        )
        return None

    def _die(self, known: Filter, reason: str) -> None:
        # Never before it was born, or it would not count as dead: the clock may have been set back since.
        known.data.dead_time = max(self._clock.millis(), known.data.born_time)
        self._note_dead(known)
        self._changed = True
        log.info(f"filter out of use: reason=%s {DESCRIBED}", reason, *known.described())

    # --- keeping

    def _has_room(self, made: Filter) -> bool:
        most = self._config.max_filter_characters
        if most and self._room + made.room > most:
            while self._dead and self._room + made.room > most:
                self._drop(next(iter(self._dead)))
        return not most or self._room + made.room <= most

    def _note_dead(self, known: Filter) -> None:
        """A clock that was set back may have it died before it was born, and so alive."""
        self._dead.pop(known, None)
        if known.is_dead:
            self._dead[known] = None

    def _keep(self, made: Filter) -> None:
        topic, group = made.data.topic, made.data.consumer_group
        self._topics.setdefault(topic, {})[group] = made
        self._groups.setdefault(group, {})[topic] = made
        self._count += 1
        self._room += made.room

    def _drop(self, known: Filter) -> None:
        topic, group = known.data.topic, known.data.consumer_group
        self._dead.pop(known, None)
        self._count -= 1
        self._room -= known.room
        self._changed = True
        for table, key, other in ((self._topics, topic, group), (self._groups, group, topic)):
            del table[key][other]
            if not table[key]:
                del table[key]

    def clean(self) -> Steps[None]:
        """Forget what has been out of use for `filterDataCleanTimeSpan`."""
        now, span = self._clock.millis(), self._config.filter_data_clean_time_span
        for known in list(self._dead):
            yield
            if known in self._dead and now - known.data.dead_time >= span:
                self._drop(known)
                log.info(
                    f"filter forgotten, out of use for too long: {DESCRIBED}", *known.described()
                )

    # --- the file

    def load(self, *, read: bool) -> None:
        """Read the file, if there is one. Blocks: before the loop runs.

        `read`: the expressions too, for maps of messages that come before the groups do.
        """
        loaded = self._file.load(_decode)
        if loaded is None:
            return
        found = [
            data
            for topic in loaded.filter_data_by_topic.values()
            for data in topic.group_filter_data.values()
        ]
        if not all(self._fits(data.bloom_filter_data) for data in found):
            log.warning(
                "filters forgotten, they are not made for the maps now: count=%d", len(found)
            )
            self._changed = True
            return
        now = self._clock.millis()
        for data in found:
            if data.dead_time == 0:
                data.dead_time = max(now - _LEFT_BEFORE_START, data.born_time)
            expression = None
            if read and data.expression is not None:
                result = self._expressions.read_now(data.expression_type, data.expression)
                expression = result if isinstance(result, Expression) else None
            known = Filter(data, expression)
            self._keep(known)
            self._note_dead(known)

    def _fits(self, bits: BloomFilterData | None) -> bool:
        """Whether the maps of messages are those that the bits are for. Until 5.5.1 each filter had some.

        Without any it is made anew as soon as maps are wanted: those that there are say nothing of it.
        """
        if bits is None:
            return not self._config.enable_calc_filter_bit_map
        return self.bloom.is_ours(bits)

    async def persist(self) -> None:
        """Write what has changed since the last time; no step holds the loop for long."""
        await in_steps(self.clean())
        if self._changed:
            self._changed = False
            await self._file.write_in_steps()

    def close(self) -> None:
        """Write what has changed. Blocks: for the shutdown."""
        if self._changed:
            self._changed = False
            self._file.close()

    def _pieces(self) -> Iterator[bytes]:
        """A piece per filter, in FastJSON's pretty form."""
        yield b'{\n\t"filterDataByTopic":{'
        before = ""
        for topic, groups in list(self._topics.items()):
            yield f'{before}\n\t\t{quoted(topic)}:{{\n\t\t\t"groupFilterData":{{'.encode()
            before = ""
            for group, known in list(groups.items()):
                yield f"{before}\n\t\t\t\t{quoted(group)}:{known.shown(4)}".encode()
                before = ","
            yield f'\n\t\t\t}},\n\t\t\t"topic":{quoted(topic)}\n\t\t}}'.encode()
            before = ","
        yield b"\n\t}\n}" if before else b"}\n}"


def _replaces(one: SubscriptionData, old: Filter) -> bool:
    """Whether it says something newer and else."""
    data = old.data
    return one.sub_version > data.client_version and (
        one.sub_string != data.expression or one.expression_type != data.expression_type
    )


def _decode(data: bytes) -> ConsumerFilterTable:
    return decode_file(ConsumerFilterTable, data)
