"""Groups of all kinds on an elastic topic that grows and shrinks, with unmodified official clients and selectors only.

A group is there from the start, and its second member joins, is killed, joins again and leaves; one takes a tag that
most queues end without; one lags until the last change; one starts then, from the first offset, and one when the last
queues have been read and have left the route. Journals of all listeners are judged by one clock. Then the real broker
opens the store, and a new group gets every message.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from compat_tests.elastic import journals
from compat_tests.elastic.playing import Played, expected
from compat_tests.servers import containers
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.real import RealServer
from tests.patience import until
from trimq.admin.blocking import BlockingAdminClient
from trimq.codec.bodies.elastic_admin import ElasticVersion, ElasticView

PATIENCE_SECONDS: Final = 300
SLOW_PAUSE: Final = 0.5
# A broker beside JVMs that start may be late; what is looked at is what it says.
ANSWER_SECONDS: Final = 60.0
# Clients ask for routes every 30 s, rebalance every 20 s; scaling waits 90 s at most.
CHANGED_SECONDS: Final = 300
# A member has queues after that, unless they were a killed one's: its locks are held for 60 s.
JOINED_SECONDS: Final = 15
GROUPS: Final = ("all", "tagged", "lagging", "late")


@dataclass(frozen=True, slots=True)
class Plan:
    """`least` numbers of each key are sent at least, and until all changes have happened."""

    clients: Sequence[str]
    counts: Sequence[int]
    keys: int
    least: int
    pause_millis: int

    def __str__(self) -> str:
        return f"{'+'.join(self.clients)}-{'-'.join(map(str, self.counts))}"


class Gates:
    """Looks at topics all the time: which gates have been seen closed for a group that has members."""

    def __init__(self, server: TrimqServer, topics: Sequence[str]) -> None:
        self._server = server
        self._topics = topics
        self._ended = threading.Event()
        # Topic, group, version.
        self.closed: set[tuple[str, str, int]] = set()

    @contextmanager
    def watched(self) -> Iterator[None]:
        thread = threading.Thread(target=self._watch)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _watch(self) -> None:
        with patient_admin(self._server) as admin:
            while not self._ended.wait(0.3):
                for topic in self._topics:
                    for group in admin.elastic_view(self._server.broker_addr, topic).groups:
                        if group.members:
                            self.closed |= {
                                (topic, group.group, one.version) for one in group.waits
                            }


def patient_admin(server: TrimqServer | RealServer) -> BlockingAdminClient:
    return BlockingAdminClient(server.namesrv_addr, timeout=ANSWER_SECONDS)


def comes(holds: Callable[[], bool], what: str | Callable[[], str]) -> None:
    """Asked seldom: each question reads journals, or is one to a broker that is at work."""
    until(holds, what, PATIENCE_SECONDS, pause=SLOW_PAUSE)


def scaled(admin: BlockingAdminClient, addr: str, topics: Sequence[str], queues: int) -> None:
    """Of all topics at a time, until all changes have happened."""
    for topic in topics:
        admin.elastic_scale(addr, topic, queues, now=True)

    def is_done(view: ElasticView) -> bool:
        # Queues at the end leave the route later, when everybody has read them.
        return sum(one.partitions > 0 for one in view.queues) == queues

    until(
        lambda: all(is_done(admin.elastic_view(addr, topic)) for topic in topics),
        "the route has the queues",
        CHANGED_SECONDS,
        pause=SLOW_PAUSE,
    )


def is_left(admin: BlockingAdminClient, addr: str, topic: str) -> bool:
    """Whether only queues in use are in the route."""
    return all(one.partitions for one in admin.elastic_view(addr, topic).queues)


def play(
    server: TrimqServer, plan: Plan, played: Sequence[Played], gates: Gates
) -> list[ElasticView]:
    """From the first send to the last change; every member that is to come and go has done so."""
    addr, topics = server.broker_addr, [one.topic for one in played]
    with patient_admin(server) as admin:
        for topic in topics:
            admin.elastic_create(addr, topic, plan.counts[0])
        with gates.watched():
            for one in played:
                one.take("stays", "all:*:", "tagged:rare:", f"lagging:*:{one.lifted}")
                one.take("killed", "all:*:", "tagged:rare:")
                one.send(plan.keys, plan.pause_millis, plan.least)
            time.sleep(JOINED_SECONDS)
            # On a busy machine nine processes may not have begun by then.
            comes(partial(has_consumed, played, "killed"), "all consume")
            for one in played:
                one.kill("killed")
                one.take("leaves", "all:*:", "tagged:rare:")
            for queues in plan.counts[1:]:
                scaled(admin, addr, topics, queues)
                time.sleep(JOINED_SECONDS)
            for one in played:
                # Queues at the end are in the route as long as the lagging group has not read them.
                one.take("late", "late:*:")
            comes(partial(have_begun, played), "late ones have begun")
            for one in played:
                one.lifted.touch()
                one.leave("leaves")
    # A connection that nobody uses for two minutes is closed.
    with patient_admin(server) as admin:
        return [admin.elastic_view(addr, topic) for topic in topics]


def has_consumed(played: Sequence[Played], member: str) -> bool:
    return all(
        any(call.member == f"{member}.journal" for call in one.calls("all")) for one in played
    )


def have_begun(played: Sequence[Played]) -> bool:
    return all(one.calls("late") for one in played)


def tails_without(calls: Sequence[journals.Seen], changes: Sequence[ElasticVersion]) -> int:
    """How many donors ended with a message whose key has not the rare tag."""
    keys = {(one.queue, one.offset): int(one.key.removeprefix("key-")) for one in calls}
    lasts = [
        keys.get((queue, end - 1), 0) for change in changes for queue, end in change.ends.items()
    ]
    return sum(key % 10 > 0 for key in lasts)


def check(plan: Plan, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Play it, and judge what every group saw."""
    # As the real server has it, which opens the store at the end.
    server = TrimqServer(home / "broker").start()
    played = [
        Played(client, server.namesrv_addr, f"Elastic{number}", home / f"played{number}")
        for number, client in enumerate(plan.clients)
    ]
    gates = Gates(server, [one.topic for one in played])
    try:
        views = play(server, plan, played, gates)
        sent = [one.sent(PATIENCE_SECONDS) for one in played]
        again = 0
        for one, numbers, view in zip(played, sent, views, strict=True):
            closed = sum(topic == one.topic for topic, _, _ in gates.closed)
            with capsys.disabled():
                print(f"\n  {one.client}: {closed} closed gates seen", end="")
            assert closed
            try:
                again += judge(one, numbers, view, capsys)
            except AssertionError:
                with patient_admin(server) as admin:
                    print(admin.elastic_view(server.broker_addr, one.topic))
                print(server.log()[-3000:])
                raise
        assert again
        come_back(server, played, sent, capsys)
        for one in played:
            one.end()
        server.stop()
        opened(home, played, sent, max(plan.counts))
    finally:
        for one in played:
            one.end()
        server.kill()


def judge(
    one: Played, sent: dict[str, int], view: ElasticView, capsys: pytest.CaptureFixture[str]
) -> int:
    """Everybody got everything in order, and what could break it has occurred; how many came again."""
    again = 0
    for group in GROUPS:
        found = one.order(group, expected(sent, group), PATIENCE_SECONDS)
        again += found.again
        with capsys.disabled():
            print(f"\n    {group}: {found}", end="")
        assert (found.broken, found.missing) == (0, 0)
        if group in ("all", "tagged"):
            assert found.handovers
    lacking = tails_without(one.calls("all"), view.changes)
    with capsys.disabled():
        print(f"\n    {sum(sent.values())} sent, {again} came again, {lacking} tails lack the tag")
    assert lacking
    assert {group.group for group in view.groups} == {f"{one.topic}_{name}" for name in GROUPS}
    return again


def come_back(
    server: TrimqServer,
    played: Sequence[Played],
    sent: Sequence[dict[str, int]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Groups that start when queues have left the route bring them back, and get every message in order."""

    def left() -> list[bool]:
        # A connection that nobody uses for two minutes is closed.
        with patient_admin(server) as admin:
            return [is_left(admin, server.broker_addr, one.topic) for one in played]

    comes(lambda: all(left()), lambda: f"queues have left: {left()}")
    for one in played:
        one.take("after", "after:*:")
    back: set[int] = set()

    def all_came_back() -> bool:
        # Not all at the same time: a slow client may begin when another one's queues have left again.
        back.update(number for number, gone in enumerate(left()) if not gone)
        return len(back) == len(played)

    comes(all_came_back, lambda: f"all came back: {back} {left()}")
    for one, numbers in zip(played, sent, strict=True):
        found = one.order("after", numbers, PATIENCE_SECONDS)
        with capsys.disabled():
            print(f"\n    {one.client}, after: {found}", end="")
        assert (found.broken, found.missing) == (0, 0)
    comes(lambda: all(left()), lambda: f"queues have left: {left()}")


def opened(
    home: Path, played: Sequence[Played], sent: Sequence[dict[str, int]], queues: int
) -> None:
    """The real broker has the store, and a new group gets every message of every topic.

    Some lie in queues that have left the route: its operator brings them back.
    """
    real = RealServer(containers.launcher(), home)
    try:
        real.start()
        with patient_admin(real) as admin:
            for one in played:
                topic = admin.topics_of(real.broker_addr)[one.topic]
                topic.read_queue_nums = queues
                admin.put_topic(real.broker_addr, topic)
        for one in played:
            one.take("opened", "opened:*:", namesrv=real.namesrv_addr)
        for one, numbers in zip(played, sent, strict=True):
            wanted = {(key, number) for key, count in numbers.items() for number in range(count)}
            comes(partial(has_got, one, "opened", wanted), one.client)
    finally:
        for one in played:
            one.end()
        real.kill()


def has_got(one: Played, group: str, wanted: set[tuple[str, int]]) -> bool:
    """In whatever order."""
    return {(call.key, call.number) for call in one.calls(group)} == wanted
