"""drainBroker against a running server: what holds it up, what lets it go, and how it is undone."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.patience import until
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.brokers.leaving import HALVES, POPPED, Remainder, _without_offsets
from trimq.admin.messages.sending import NewMessage
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.flags import Perm
from trimq.codec.headers.pop import PopMessageRequestHeader
from trimq.mqadmin.cli import main
from trimq.mqadmin.commands import drain_broker
from trimq.remoting.clients.blocking import BlockingClient
from trimq.testing import TestServer, running_server

TOPIC, GROUP = "Leaving", "Readers"


@pytest.fixture
def server() -> Iterator[TestServer]:
    settings = {"brokerName": "broker-a", "messageDelayLevel": "1s 1h", "reviveInterval": 60_000}
    with running_server(settings=settings) as started:
        yield started


class Hurried:
    """For a command that looks at the clock and sleeps: whole seconds take a moment."""

    passed = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.passed

    def sleep(self, seconds: float) -> None:
        self.passed += seconds
        time.sleep(0.001)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> Hurried:
    clock = Hurried()
    monkeypatch.setattr(drain_broker, "time", clock)
    return clock


@pytest.fixture
def admin(server: TestServer) -> Iterator[BlockingAdminClient]:
    addr = server.broker_addr
    with BlockingAdminClient(server.namesrv_addr) as made:
        for topic in (TOPIC, f"%RETRY%{GROUP}"):
            made.put_topic(
                addr, TopicConfig(topic_name=topic, read_queue_nums=1, write_queue_nums=1)
            )
        made.put_group(addr, SubscriptionGroupConfig(group_name=GROUP))
        yield made


def send(admin: BlockingAdminClient, topic: str = TOPIC, **properties: str) -> None:
    admin.send(NewMessage(topic=topic, body=b"m", properties=properties), "broker-a", 0)


def commit(server: TestServer, admin: BlockingAdminClient, offset: int, topic: str = TOPIC) -> None:
    queue = MessageQueue(broker_name="broker-a", queue_id=0, topic=topic)
    admin.commit_offset(server.broker_addr, GROUP, queue, offset)


def run(server: TestServer, *words: str) -> Result:
    command = ["-n", server.namesrv_addr, "drainBroker", "-b", "broker-a", *words]
    return CliRunner().invoke(main, command)


def dry(server: TestServer, *words: str) -> list[dict[str, Any]]:
    done = run(server, "--dry-run", "--json", *words)
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()][1:]


def may_write(admin: BlockingAdminClient) -> bool:
    (queues,) = admin.topic_route(TOPIC).queue_datas
    return bool(queues.perm & Perm.WRITE)


def test_a_dry_run_names_who_holds_it_up(server: TestServer, admin: BlockingAdminClient) -> None:
    assert dry(server) == [{"messages": 0}]
    for _ in range(3):
        send(admin)
    # A group that has never read is nobody's business.
    assert dry(server) == [{"messages": 0}]
    commit(server, admin, 1)
    send(admin, f"%RETRY%{GROUP}")
    commit(server, admin, 0, f"%RETRY%{GROUP}")
    send(admin, DELAY="2")
    send(admin, TIMER_DELAY_SEC="3600")
    until(lambda: len(dry(server)) == 4, "the timer is on the wheel")
    found = dry(server)
    assert {"group": GROUP, "topic": TOPIC, "messages": 2} in found
    assert {"group": GROUP, "topic": f"%RETRY%{GROUP}", "messages": 1} in found
    assert {"what": "delayed messages", "messages": 1} in found
    assert {"what": "timer messages", "messages": 1} in found
    assert not [one for one in dry(server, "--ignore-group", GROUP) if "group" in one]
    assert may_write(admin)


def test_what_nobody_has_committed_yet_is_waited_for(
    server: TestServer, admin: BlockingAdminClient
) -> None:
    send(admin, f"%RETRY%{GROUP}")
    assert {"group": GROUP, "topic": f"%RETRY%{GROUP}", "messages": 1} in dry(server)
    assert dry(server, "--ignore-group", GROUP) == [{"messages": 0}]
    commit(server, admin, 1, f"%RETRY%{GROUP}")
    assert dry(server) == [{"messages": 0}]
    send(admin)
    pop(server)
    # Its time is over at once, and nobody takes notice for a minute.
    until(lambda: {"what": POPPED, "messages": 1} in dry(server), "its check point is known")
    # Nobody checks it before it is 6 s old.
    send(admin, TRAN_MSG="true", PGROUP="Producers", UNIQ_KEY="0A0B")
    assert {"what": HALVES, "messages": 1} in dry(server)
    done = run(server, "--drain-settle", "0", "--drain-timeout", "0", "--ignore-group", GROUP)
    assert done.exit_code == 1


def test_what_was_popped_and_is_done_holds_up_nothing() -> None:
    settings = {"brokerName": "broker-a", "reviveInterval": 100}
    with running_server(settings=settings) as server:
        with BlockingAdminClient(server.namesrv_addr) as admin:
            admin.put_topic(
                server.broker_addr,
                TopicConfig(topic_name=TOPIC, read_queue_nums=1, write_queue_nums=1),
            )
            admin.put_group(server.broker_addr, SubscriptionGroupConfig(group_name=GROUP))
            send(admin)
        pop(server)
        # It comes again, in the retry topic: the check point and what settles it stay in the log.
        retry = f"%RETRY%{GROUP}_{TOPIC}"
        left = [{"group": GROUP, "topic": retry, "messages": 1}]
        until(lambda: dry(server) == left, "only the message is left")


def pop(server: TestServer) -> None:
    header = PopMessageRequestHeader(
        consumer_group=GROUP,
        topic=TOPIC,
        queue_id=0,
        max_msg_nums=1,
        invisible_time=100,
        poll_time=0,
        born_time=int(time.time() * 1000),
        init_mode=0,
    )
    with BlockingClient(server.broker_addr) as client:
        answer = client.request(RequestCode.POP_MESSAGE, header)
    assert answer.code == ResponseCode.SUCCESS, answer.remark


@pytest.mark.parametrize(
    ("topic", "group"),
    [
        ("%RETRY%A_B", "A_B"),
        ("%RETRY%A_B_T", "A_B"),
        ("%RETRY%A_C", "A"),
        ("%RETRY%A+T", "A"),
        ("%RETRY%New", "New"),
        ("%RETRY%New+T_1", "New"),
    ],
)
def test_whose_a_retry_topic_is(topic: str, group: str) -> None:
    assert list(_without_offsets([topic], ["T@A", "T@A_B"])) == [(topic, group)]
    assert not list(_without_offsets([topic], [f"{topic}@{group}"]))


def test_it_waits_for_the_group_and_unregisters(
    server: TestServer,
    admin: BlockingAdminClient,
    hurried: Hurried,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for _ in range(3):
        send(admin)
    commit(server, admin, 1)
    told: list[Remainder] = []
    show = drain_broker._Progress.show

    def read_on(self: Any, left: Remainder, to_wait: float) -> None:
        """The group does, when it has been named twice."""
        show(self, left, to_wait)
        told.append(left)
        if len(told) == 2:
            commit(server, admin, 3)

    monkeypatch.setattr(drain_broker._Progress, "show", read_on)
    done = run(server, "--drain-settle", "0")
    assert [left.messages for left in told[:2]] == [2, 2]
    assert done.exit_code == 0, done.output
    assert f"2 messages left: {GROUP} in {TOPIC} 2" in done.output
    assert "empty and unregistered" in done.output


def test_it_waits_for_routes_and_delayed_messages(
    server: TestServer, admin: BlockingAdminClient, hurried: Hurried
) -> None:
    send(admin, DELAY="1")
    done = run(server, "--drain-settle", "4")
    assert done.exit_code == 0, done.output
    assert hurried.passed >= 4
    assert "delayed messages 1" in done.output


def test_who_gives_up_is_told_how_to_undo_it(
    server: TestServer, admin: BlockingAdminClient, hurried: Hurried
) -> None:
    for _ in range(3):
        send(admin)
    commit(server, admin, 1)
    done = run(server, "--drain-settle", "0", "--drain-timeout", "1")
    assert done.exit_code == 1
    assert "not empty after 1 s" in done.stderr
    assert "mqadmin addWritePerm -b broker-a" in done.stderr
    assert f"{GROUP} has 2 messages of {TOPIC} to read" in done.stdout
    assert not may_write(admin)
    CliRunner().invoke(main, ["-n", server.namesrv_addr, "addWritePerm", "-b", "broker-a"])
    assert may_write(admin)


def test_a_broker_that_is_not_there(server: TestServer) -> None:
    done = CliRunner().invoke(main, ["-n", server.namesrv_addr, "drainBroker", "-b", "nobody"])
    assert done.exit_code == 1
    assert "no NameServer lists a master of 'nobody'" in done.stderr
