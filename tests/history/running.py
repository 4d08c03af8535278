"""A run: clients under load while brokers are disturbed, then everything is healed, read, and checked.

What disturbs is given by the caller, as functions of the run; they say with `Run.marked` what may take committed
offsets back, and set the addresses in `Members` anew where these change.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.history.calls import Change, Journal, Mark, Place, Role
from tests.history.checking import Copy, Report, check
from tests.history.clients import Client, Consumer, Line, Members, Producer, ask_committed, lines
from tests.history.committed import Periods
from tests.history.findings import Finding, Rule
from tests.history.reading import LAST_READERS, ends, pull_header, read_queues
from tests.requests import topic_header
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.clients.blocking import BlockingClient

# Between two looks at the ends of queues that are to be the same.
_BETWEEN: Final = 0.3
_UNKNOWN: Final = (ResponseCode.TOPIC_NOT_EXIST, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST)
_ROOT: Final = Path(__file__).parents[2]


@dataclass(frozen=True)
class Plan:
    """What clients do. Times in seconds.

    `groups`: each with the role that it reads from and that many consumers; `timeout`: until a call is unknown;
    `patience`: for what has to come after healing; `periods`: how old saved and synced offsets may be.
    """

    seconds: float = 10
    producers: int = 4
    consumers: int = 2
    groups: Mapping[str, Role] = field(default_factory=lambda: {"Readers": Role.MASTER})
    topics: Sequence[str] = ("History",)
    queues: int = 4
    between: float = 0.0
    sizes: Sequence[int] = (0, 100, 1000)
    timeout: float = 5
    patience: float = 60
    periods: Periods = Periods(save=10, sync=15)
    seed: int = 1


class Run:
    """What a disturbance is given: who is there, and where to say what it does."""

    def __init__(self, members: Sequence[Members], plan: Plan, journal: Journal) -> None:
        self.members = {one.broker: one for one in members}
        self.plan = plan
        self.journal = journal
        self.places = [
            Place(one.broker, topic, queue)
            for one in members
            for topic in plan.topics
            for queue in range(plan.queues)
        ]

    @contextmanager
    def marked(self, change: Change, broker: str, since: float | None = None) -> Iterator[None]:
        """What happens inside takes back offsets of that broker name; `since`: when a change of role began earlier."""
        begin = time.monotonic() if since is None else since
        try:
            yield
        finally:
            self.journal.note(Mark(change, broker, begin, time.monotonic()))


Disturbance = Callable[[Run], None]


def play(
    members: Sequence[Members],
    plan: Plan,
    path: Path,
    disturb: Sequence[Disturbance] = (),
    heal: Disturbance | None = None,
) -> Report:
    """Load for `plan.seconds`, with the disturbances at even times between; `path`: a new file for the journal.

    The brokers run, and all of them do again when `heal` has returned. A client that fails otherwise than by an
    answer, and a copy that cannot be read to its end, are AssertionErrors; a broker that is away is TransportError.
    """
    journal = Journal(path)
    run = Run(members, plan, journal)
    try:
        prepare(run)
        producers, consumers = _producers(run), _consumers(run)
        clients: list[Client] = [*producers, *consumers]
        try:
            for client in clients:
                client.start()
            _disturb(run, disturb, heal)
            _end(producers)
            _drain(run, consumers)
        finally:
            _end(clients)
        failed = [client.failed for client in clients if client.failed]
        assert not failed, failed
        copies = read_copies(run)
        _ask_last(run)
        return check(journal.read(), copies, plan.periods, plan.groups)
    finally:
        journal.close()


def prepare(run: Run) -> None:
    """Topics and groups on the masters; where groups read from slaves, these have them too when it returns."""
    plan = run.plan
    for one in run.members.values():
        assert one.master is not None, f"{one.broker} has no master to begin with"
        with BlockingClient(one.master, timeout=plan.patience) as client:
            for topic in plan.topics:
                _create_topic(client, topic, plan.queues)
            for group in (*plan.groups, LAST_READERS):
                body = encode_body(SubscriptionGroupConfig(group_name=group))
                answer = client.request(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, body)
                assert answer.code == ResponseCode.SUCCESS, answer.remark
    deadline = time.monotonic() + plan.patience
    for group in [group for group, role in plan.groups.items() if role is Role.SLAVE]:
        for one in run.members.values():
            for addr in one.slaves:
                _wait_known(addr, group, _places_of(run, one.broker), deadline)


def _create_topic(client: BlockingClient, topic: str, queues: int) -> None:
    header = topic_header(topic, queues)
    answer = client.request(RequestCode.UPDATE_AND_CREATE_TOPIC, header)
    assert answer.code == ResponseCode.SUCCESS, answer.remark


def _wait_known(addr: str, group: str, places: Iterable[Place], deadline: float) -> None:
    """Slaves learn of topics and groups with the next sync, up to a minute later."""
    with BlockingClient(addr, timeout=30) as client:
        for place in places:
            header = pull_header(group, place, 0, 1)
            while (code := client.request(RequestCode.PULL_MESSAGE, header).code) in _UNKNOWN:
                assert time.monotonic() < deadline, f"{addr} knows no {place} for {group}: {code}"
                time.sleep(_BETWEEN)


def read_copies(run: Run) -> list[Copy]:
    """Every queue of every broker, once all copies of it reach equally far and nothing is added any more.

    When they never do, they are read as they are.
    """
    deadline = time.monotonic() + run.plan.patience
    while True:
        before = _settled_ends(run, deadline)
        copies = [
            Copy(
                one.broker,
                role,
                addr,
                read_queues(
                    addr,
                    _places_of(run, one.broker),
                    timeout=run.plan.patience,
                    patience=run.plan.patience,
                ),
                begins_late=addr in one.late,
            )
            for one in run.members.values()
            for role, addr in one.all()
        ]
        if _all_ends(run) == before or time.monotonic() > deadline:
            return copies


def check_store(folder: Path) -> list[Finding]:
    """(e) `trimq check` of a store on which no broker runs."""
    command = [sys.executable, "-m", "trimq", "check", "--json", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=_ROOT)
    if done.returncode == 0:
        return []
    said = (done.stdout or done.stderr).strip()[-2000:]
    return [Finding(Rule.COPIES, str(folder), f"trimq check exits with {done.returncode}: {said}")]


def _producers(run: Run) -> list[Producer]:
    plan, chance = run.plan, random.Random(run.plan.seed)
    return [
        Producer(
            f"P{number}",
            chance.randrange(1 << 30),
            run.journal,
            lines(run.members.values(), Role.MASTER, plan.timeout),
            run.places,
            sizes=plan.sizes,
            between=plan.between,
        )
        for number in range(plan.producers)
    ]


def _consumers(run: Run) -> list[Consumer]:
    """A queue belongs to one consumer of each group."""
    plan, chance = run.plan, random.Random(run.plan.seed + 1)
    members = run.members.values()
    return [
        Consumer(
            f"{group}-{number}",
            chance.randrange(1 << 30),
            run.journal,
            group,
            run.places[number :: plan.consumers],
            lines(members, role, plan.timeout, or_other=True),
            lines(members, Role.MASTER, plan.timeout, or_other=True),
        )
        for group, role in plan.groups.items()
        for number in range(plan.consumers)
    ]


def _disturb(run: Run, disturb: Sequence[Disturbance], heal: Disturbance | None) -> None:
    """Each slice of the time begins when the disturbance before it has returned."""
    for one in disturb:
        time.sleep(run.plan.seconds / (len(disturb) + 1))
        one(run)
    time.sleep(run.plan.seconds / (len(disturb) + 1))
    if heal is not None:
        heal(run)


def _end(clients: Iterable[Client]) -> None:
    started = [client for client in clients if client.ident is not None]
    for client in started:
        client.stop()
    for client in started:
        client.join()


def _drain(run: Run, consumers: Sequence[Consumer]) -> None:
    """The ends are those of the copies that are furthest; who has not come so far in time has lost something."""
    furthest: dict[Place, int] = {}
    for found in _settled_ends(run, time.monotonic() + run.plan.patience).values():
        for place, end in found.items():
            furthest[place] = max(end, furthest.get(place, 0))
    for consumer in consumers:
        consumer.finish(furthest)
    deadline = time.monotonic() + run.plan.patience
    for consumer in consumers:
        consumer.join(max(deadline - time.monotonic(), 0))


def _settled_ends(run: Run, deadline: float) -> dict[str, dict[Place, int]]:
    """By address, when all copies of a broker name reach equally far twice in a row, or at the deadline."""
    before = _all_ends(run)
    while True:
        time.sleep(_BETWEEN)
        now = _all_ends(run)
        if now == before and all(
            now[addr] == now[one.all()[0][1]]
            for one in run.members.values()
            for _, addr in one.all()
        ):
            return now
        if time.monotonic() > deadline:
            return now
        before = now


def _all_ends(run: Run) -> dict[str, dict[Place, int]]:
    return {
        addr: ends(addr, _places_of(run, one.broker), run.plan.patience)
        for one in run.members.values()
        for _, addr in one.all()
    }


def _places_of(run: Run, broker: str) -> list[Place]:
    return [place for place in run.places if place.broker == broker]


def _ask_last(run: Run) -> None:
    """What masters and slaves hold committed at the end."""
    for one in run.members.values():
        for role, addr in one.all():
            is_master = role is Role.MASTER
            alone = Members(one.broker, addr) if is_master else Members(one.broker, None, [addr])
            line = Line(alone, role, run.plan.patience)
            assert line.connect(), f"no connection to {addr}"
            for group in run.plan.groups:
                for place in _places_of(run, one.broker):
                    run.journal.note(ask_committed(line, "last", group, place))
            line.close()
