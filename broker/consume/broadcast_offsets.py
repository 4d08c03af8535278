"""How far the members of broadcasting groups have read, as tools see it (BroadcastOffsetManager).

They keep their offsets themselves; a broker notes where each of them pulls, and commits for the group `NAME@broadcast`
the least of all every five seconds. That is where a member begins that comes back through a proxy.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.consume.outcomes import Pull
from trimq.broker.groups.consumers.group import CONSUME_PASSIVELY
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.codec.codes import ResponseCode

SCAN_SECONDS: Final = 5
_MOVED: Final = int(ResponseCode.PULL_OFFSET_MOVED)
_SUFFIX: Final = "@broadcast"
# Members that are looked at in one step.
_AT_ONCE: Final = 200
_COMMITTER: Final = "BroadcastOffset"


class _Reader:
    """One member's reading of one topic: where it has pulled of each queue, and when last."""

    __slots__ = ("offsets", "time")

    def __init__(self) -> None:
        self.offsets: dict[int, int] = {}
        self.time = 0


class BroadcastOffsets:
    """Told of every pull's outcome; `scan` commits and forgets."""

    __slots__ = ("_clock", "_config", "_consumers", "_offsets", "_readers")

    def __init__(
        self, config: BrokerConfig, consumers: Consumers, offsets: ConsumerOffsets, clock: Clock
    ) -> None:
        self._config = config
        self._consumers = consumers
        self._offsets = offsets
        self._clock = clock
        # By topic and group, then by client.
        self._readers: dict[tuple[str, str], dict[str, _Reader]] = {}

    def pulled(self, pull: Pull, code: int, following: int) -> None:
        """Whatever a member pulls it has read before; unless there was nothing, and it goes on at `following`."""
        header = pull.header
        group = self._consumers.group(header.consumer_group)
        if group is None or not group.broadcasting or group.consume_type != CONSUME_PASSIVELY:
            return
        member = group.members.get(pull.peer)
        if member is None or not self._config.enable_broadcast_offset_store:
            return
        readers = self._readers.setdefault((header.topic, header.consumer_group), {})
        reader = readers.get(member.client.client_id)
        if reader is None:
            reader = readers[member.client.client_id] = _Reader()
        reader.time = self._clock.steady_millis()
        offset = following if code == _MOVED else header.queue_offset
        if offset > reader.offsets.get(header.queue_id, -1):
            reader.offsets[header.queue_id] = offset

    def scan(self) -> Iterator[None]:
        """Commit for each group the least of its members, and forget members that are gone; a few at a step."""
        for topic, group in list(self._readers):
            known = self._consumers.group(group)
            online = set() if known is None else set(known.client_ids())
            least: dict[int, int] = {}
            readers = self._readers[topic, group]
            for number, client_id in enumerate(list(readers), 1):
                reader = readers.get(client_id)
                if reader is not None and self._look_at(reader, client_id in online, least):
                    del readers[client_id]
                if number % _AT_ONCE == 0:
                    yield
            for queue_id, offset in least.items():
                self._offsets.commit(_COMMITTER, group + _SUFFIX, topic, queue_id, offset)
            if not readers:
                del self._readers[topic, group]
            yield

    def _look_at(self, reader: _Reader, online: bool, least: dict[int, int]) -> bool:
        """Let it count among the least, if it does; true when it is to be forgotten."""
        config = self._config
        idle = (self._clock.steady_millis() - reader.time) // 1000
        of_gone = config.broadcast_offset_expire_second
        if online or idle < of_gone:
            for queue_id, offset in reader.offsets.items():
                least[queue_id] = min(least.get(queue_id, offset), offset)
        return idle >= (config.broadcast_offset_expire_max_second if online else of_gone)
