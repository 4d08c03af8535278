"""Clients of a run, each a thread with connections of its own, that note in a journal what they were answered.

They speak to any broker: TriMQ or the real one. What gets no answer is noted as unknown and never tried again under
the same name; the next thing is asked of whoever has the role by then.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.history import calls
from tests.history.reading import attempt_of, entries_of, pull_header
from tests.requests import send_header_v2
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
from trimq.codec.headers.offsets import (
    QueryConsumerOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.remoting.clients.blocking import BlockingClient
from trimq.remoting.errors import RemotingConnectError, TransportError

# Until the next try when a broker is away or refuses; nothing is noted for a connection that did not come about.
PAUSE: Final = 0.05
IDLE: Final = 0.01


@dataclass
class Members:
    """A broker name and who has which role in it now: "host:port".

    Whoever restarts a broker elsewhere or changes roles sets them anew, and clients follow. No master: None.
    `late`: slaves whose copy may lack the beginning of queues.
    """

    broker: str
    master: str | None
    slaves: list[str] = field(default_factory=list)
    late: frozenset[str] = frozenset()

    def all(self) -> list[tuple[calls.Role, str]]:
        masters = [] if self.master is None else [(calls.Role.MASTER, self.master)]
        return [*masters, *((calls.Role.SLAVE, addr) for addr in self.slaves)]


@dataclass(frozen=True)
class Answer:
    """`command` is None where there was no answer. Seconds of the monotonic clock."""

    begin: float
    end: float
    command: RemotingCommand | None

    @property
    def code(self) -> int:
        return 0 if self.command is None else int(self.command.code)

    @property
    def fields(self) -> Mapping[str, str]:
        return {} if self.command is None else self.command.ext_fields or {}

    def outcome(self, *good: ResponseCode) -> calls.Outcome:
        """`good`: codes that are an answer, beside SUCCESS."""
        if self.command is None:
            return calls.Outcome.UNKNOWN
        is_done = self.code in (ResponseCode.SUCCESS, *good)
        return calls.Outcome.DONE if is_done else calls.Outcome.REFUSED


class Line:
    """A connection to whoever has a role; `or_other`: to one with the other role while nobody has this one."""

    def __init__(
        self, members: Members, role: calls.Role, timeout: float, *, or_other: bool = False
    ) -> None:
        self._members = members
        self._wanted = role
        self._or_other = or_other
        self._timeout = timeout
        self._client: BlockingClient | None = None
        self.role = role
        self.addr = ""

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def connect(self) -> bool:
        """Whether there is somebody to ask: `role` and `addr` say who."""
        target = self._target()
        if target is None:
            return False
        if self._client is not None and (self.role, self.addr) == target:
            return True
        self.close()
        self.role, self.addr = target
        try:
            self._client = BlockingClient(self.addr, timeout=self._timeout)
        except RemotingConnectError:
            return False
        return True

    def ask(self, code: RequestCode, header: Header, body: bytes = b"") -> Answer:
        """Behind `connect`. After a call without an answer the next one gets a new connection."""
        assert self._client is not None
        begin = time.monotonic()
        try:
            command = self._client.request(code, header, body)
        except (TransportError, CodecError):
            command = None
        end = time.monotonic()
        if command is None:
            self.close()
        return Answer(begin, end, command)

    def _target(self) -> tuple[calls.Role, str] | None:
        """Stays with a slave while that is one."""
        master, slaves = self._members.master, self._members.slaves
        wants_slave = self._wanted is calls.Role.SLAVE
        if slaves and (wants_slave or (self._or_other and master is None)):
            return calls.Role.SLAVE, self.addr if self.addr in slaves else random.choice(slaves)
        if master is not None and (not wants_slave or self._or_other):
            return calls.Role.MASTER, master
        return None


class Client(threading.Thread):
    """Does one thing after the other until it is stopped; `failed` tells what should not have happened."""

    def __init__(self, name: str, seed: int, journal: calls.Journal) -> None:
        super().__init__(name=name)
        self._chance = random.Random(seed)
        self._journal = journal
        self._stopped = threading.Event()
        self.failed = ""

    def run(self) -> None:
        try:
            while not self._stopped.is_set():
                self.step()
        except Exception as error:
            self.failed = f"{self.name}: {error!r}"
        finally:
            self.close()

    def stop(self) -> None:
        self._stopped.set()

    def pause(self, seconds: float) -> None:
        self._stopped.wait(seconds)

    def step(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class Producer(Client):
    """Sends one request after the other to queues of masters, some of them with several messages."""

    def __init__(
        self,
        name: str,
        seed: int,
        journal: calls.Journal,
        lines: Mapping[str, Line],
        places: Sequence[calls.Place],
        *,
        sizes: Sequence[int] = (0, 100, 1000),
        between: float = 0.0,
    ) -> None:
        """`sizes`: of bodies, to be chosen from; `between`: seconds from an answer to the next send."""
        super().__init__(name, seed, journal)
        self._lines = lines
        self._places = places
        self._sizes = sizes
        self._between = between
        self._sent = 0

    def step(self) -> None:
        place = self._chance.choice(self._places)
        line = self._lines[place.broker]
        if not line.connect():
            self.pause(PAUSE)
            return
        bodies = [self._body() for _ in range(self._chance.choice((1, 1, 1, 1, 1, 1, 1, 4)))]
        send = calls.Send(
            *(
                self.name,
                line.addr,
                line.role,
                time.monotonic(),
                math.inf,
                calls.Outcome.UNKNOWN,
                0,
            ),
            place,
            tuple(map(attempt_of, bodies)),
            tuple(map(calls.digest_of, bodies)),
            None,
        )
        self._journal.note(send)
        self._ask(line, send, bodies)
        self._journal.note(send)
        self.pause(self._between if send.is_done else PAUSE)

    def close(self) -> None:
        for line in self._lines.values():
            line.close()

    def _body(self) -> bytes:
        self._sent += 1
        return f"{self.name}-{self._sent}|".encode() + b"x" * self._chance.choice(self._sizes)

    def _ask(self, line: Line, send: calls.Send, bodies: list[bytes]) -> None:
        is_batch = len(bodies) > 1
        header = send_header_v2(
            send.place.topic,
            producer_group="Producers",
            default_topic_queue_nums=8,
            queue_id=send.place.queue,
            properties="",
            batch=is_batch,
        )
        code = RequestCode.SEND_BATCH_MESSAGE if is_batch else RequestCode.SEND_MESSAGE_V2
        body = join_batch([BatchItem(0, one, b"") for one in bodies]) if is_batch else bodies[0]
        answer = line.ask(code, header, body)
        send.end, send.code, send.outcome = answer.end, answer.code, answer.outcome()
        if send.is_done:
            send.offset = int(answer.fields["queueOffset"])
            send.place = send.place._replace(queue=int(answer.fields["queueId"]))


class Consumer(Client):
    """One of a group, with queues of its own. Now and then it commits, asks, or begins anew where it committed."""

    def __init__(
        self,
        name: str,
        seed: int,
        journal: calls.Journal,
        group: str,
        places: Sequence[calls.Place],
        pulls: Mapping[str, Line],
        offsets: Mapping[str, Line],
    ) -> None:
        """`pulls` and `offsets`: by broker name, where it reads from and where it commits to."""
        super().__init__(name, seed, journal)
        self.group = group
        self._places = places
        self._pulls = pulls
        self._offsets = offsets
        # Where it reads on; a queue that is not there begins at the committed offset.
        self._positions: dict[calls.Place, int] = {}
        self._ends: Mapping[calls.Place, int] | None = None

    def finish(self, ends: Mapping[calls.Place, int]) -> None:
        """Begin anew, read every queue to there, and stop."""
        self._ends = ends

    def step(self) -> None:
        if self._ends is not None:
            self._read_all(self._ends)
            return
        moved = [self._read(place) for place in self._places]
        self.pause(0 if any(moved) else IDLE)

    def close(self) -> None:
        for line in (*self._pulls.values(), *self._offsets.values()):
            line.close()

    def _read_all(self, ends: Mapping[calls.Place, int]) -> None:
        self._positions.clear()
        left = list(self._places)
        while left and not self._stopped.is_set():
            moved = [self._read(place) for place in left]
            left = [it for it in left if self._positions.get(it, -1) < ends.get(it, 0)]
            self.pause(0 if any(moved) else IDLE)
        for place in self._places:
            self._commit(place)
        self.stop()

    def _read(self, place: calls.Place) -> bool:
        """Whether there was something; commits, asks and begins anew now and then."""
        if place not in self._positions:
            return self._begin(place)
        if not self._pull(place):
            return False
        act = self._chance.random()
        if act < 0.3:
            self._commit(place)
        elif act < 0.4:
            self.query(place)
        elif act < 0.43 and self._ends is None:
            del self._positions[place]
        return True

    def _begin(self, place: calls.Place) -> bool:
        query = self.query(place)
        if query is None or not query.is_done:
            self.pause(PAUSE)
            return False
        self._positions[place] = query.offset or 0
        return True

    def _pull(self, place: calls.Place) -> bool:
        line, offset = self._pulls[place.broker], self._positions[place]
        if not line.connect():
            self.pause(PAUSE)
            return False
        size = 32 if self._ends is not None else self._chance.choice((1, 8, 32))
        answer = line.ask(RequestCode.PULL_MESSAGE, pull_header(self.group, place, offset, size))
        outcome = answer.outcome(ResponseCode.PULL_NOT_FOUND)
        entries = entries_of(answer.command, place)
        asked = (self.name, line.addr, line.role, answer.begin, answer.end, outcome, answer.code)
        self._journal.note(calls.Pull(*asked, place, self.group, offset, tuple(entries)))
        if entries:
            self._positions[place] = entries[-1].offset + 1
        elif answer.code == ResponseCode.PULL_OFFSET_MOVED:
            self._positions[place] = int(answer.fields["nextBeginOffset"])
        elif outcome is not calls.Outcome.DONE:
            self.pause(PAUSE)
        return bool(entries)

    def _commit(self, place: calls.Place) -> None:
        line, offset = self._offsets[place.broker], self._positions.get(place)
        if offset is None or not line.connect():
            return
        header = UpdateConsumerOffsetRequestHeader(
            consumer_group=self.group,
            topic=place.topic,
            queue_id=place.queue,
            commit_offset=offset,
        )
        answer = line.ask(RequestCode.UPDATE_CONSUMER_OFFSET, header)
        asked = (self.name, line.addr, line.role, answer.begin, answer.end)
        self._journal.note(
            calls.Commit(*asked, answer.outcome(), answer.code, place, self.group, offset)
        )

    def query(self, place: calls.Place) -> calls.Query | None:
        """None: there was nobody to ask."""
        line = self._offsets[place.broker]
        if not line.connect():
            return None
        query = ask_committed(line, self.name, self.group, place)
        self._journal.note(query)
        return query


def ask_committed(line: Line, client: str, group: str, place: calls.Place) -> calls.Query:
    """Behind `line.connect`."""
    header = QueryConsumerOffsetRequestHeader(
        consumer_group=group, topic=place.topic, queue_id=place.queue
    )
    answer = line.ask(RequestCode.QUERY_CONSUMER_OFFSET, header)
    outcome = answer.outcome(ResponseCode.QUERY_NOT_FOUND)
    offset = int(answer.fields["offset"]) if answer.fields.get("offset") else None
    asked = (client, line.addr, line.role, answer.begin, answer.end, outcome, answer.code)
    # Some answers say -1 for nothing.
    return calls.Query(*asked, place, group, None if offset is None or offset < 0 else offset)


def lines(
    members: Iterable[Members], role: calls.Role, timeout: float, *, or_other: bool = False
) -> dict[str, Line]:
    """One for each broker name."""
    return {one.broker: Line(one, role, timeout, or_other=or_other) for one in members}
