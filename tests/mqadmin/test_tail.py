"""mqadmin tail: which messages, in which order, in which form; following; how it ends."""

import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from tests.mqadmin.test_files import message
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.messages.message import Message
from trimq.admin.messages.pulling import Place, Pulled
from trimq.admin.messages.sending import NewMessage
from trimq.admin.topics.topics import TopicStats
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.queue_tables import TopicOffset
from trimq.codec.bodies.route import TopicRouteData
from trimq.mqadmin.cli import main
from trimq.mqadmin.common import tailing
from trimq.mqadmin.common.tailing import Choice, Tail, queue_choice
from trimq.mqadmin.framework import Run
from trimq.mqadmin.output import Output
from trimq.mqadmin.text.lines import LETTERS, body_text, read_format
from trimq.remoting.errors import PeerGone
from trimq.testing import TestServer, running_server

TOPIC = "Tailed"
COUNT = 30


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with running_server(settings={"brokerName": "broker-a"}) as started:
        with BlockingAdminClient(started.namesrv_addr) as admin:
            for number in range(COUNT):
                body = json.dumps({"n": number}).encode()
                tags, keys = f"Tag{number % 3}", f"key-{number} all"
                properties = {"colour": "red" if number % 2 else "blue"}
                send(admin, TOPIC, body, tags=tags, keys=keys, properties=properties)
        yield started


def send(admin: BlockingAdminClient, topic: str, body: bytes, **more: Any) -> None:
    admin.send(NewMessage(topic=topic, body=body, **more))


def tail(server: TestServer, *words: str) -> Result:
    return CliRunner().invoke(main, ["-n", server.namesrv_addr, "tail", *words])


def numbers(server: TestServer, *words: str) -> list[int]:
    done = tail(server, TOPIC, "--format", "%b", *words)
    assert (done.exit_code, done.stderr) == (0, "")
    return [json.loads(line)["n"] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], range(10, 30)),
        (["-N", "3"], [27, 28, 29]),
        (["-N", "1000"], range(30)),
        (["-N", "0"], []),
        (["--since", "earliest"], range(30)),
        (["--since", "-1h"], range(30)),
        (["--since", "-1h", "-N", "2"], [28, 29]),
        (["--until", "-1h"], []),
        (["--until", "now"], range(30)),
        (["-m", "3"], [10, 11, 12]),
        (["-N", "4", "--tag", "Tag1"], [19, 22, 25, 28]),
        (["-N", "4", "--tag", "Tag1 || Tag2"], [25, 26, 28, 29]),
        (["--key", "key-7"], [7]),
        (["--key", "all", "-N", "1"], [29]),
        (["--key", "none"], []),
        (["--tag", "Tag0", "--key", "key-7"], []),
        (["--since", "earliest", "-b", "broker-a"], range(30)),
    ],
    ids=lambda value: " ".join(map(str, value)),
)
def test_which_messages(server: TestServer, words: list[str], expected: list[int]) -> None:
    assert numbers(server, *words) == list(expected)


def test_queues(server: TestServer) -> None:
    by_queue = [numbers(server, "--since", "earliest", "-q", str(queue)) for queue in range(4)]
    assert sorted(chain(*by_queue)) == list(range(COUNT))
    both = numbers(server, "--since", "earliest", "-q", "0", "-q", "broker-a:2")
    assert both == sorted(by_queue[0] + by_queue[2])


def test_nothing_is_left_behind(server: TestServer) -> None:
    def state(admin: BlockingAdminClient) -> tuple[set[str], list[str]]:
        groups = set(admin.groups_of(server.broker_addr))
        topics = admin.group_topics(server.broker_addr, "TOOLS_CONSUMER")
        return groups, topics

    with BlockingAdminClient(server.namesrv_addr) as admin:
        before = state(admin)
        numbers(server, "--since", "earliest")
        assert state(admin) == before
    assert TOPIC not in before[1]


def test_the_plain_layout(server: TestServer) -> None:
    (line,) = tail(server, TOPIC, "-N", "1").stdout.splitlines()
    when, place, *rest = line.split("  ")
    assert len(when) == len("2026-01-31 23:59:59.999")
    assert place.startswith("broker-a/")
    assert rest == ["tag=Tag2", "keys=key-29 all", '{"n": 29}']
    shown = tail(server, "-t", TOPIC, "-N", "1", "-p", "--body", "none").stdout
    assert "TRACE_ON=true" in shown
    assert "colour=red" in shown
    assert "OFFSET" not in shown


def test_json_lines(server: TestServer) -> None:
    values = [json.loads(line) for line in tail(server, TOPIC, "--json").stdout.splitlines()]
    assert [value["body"] for value in values] == [f'{{"n": {n}}}' for n in range(10, 30)]
    assert {value["bodyEncoding"] for value in values} == {"text"}
    assert values[-1]["properties"]["colour"] == "red"
    assert values[-1]["queueOffset"] >= 0
    (value,) = tail(server, TOPIC, "--json", "-N", "1", "--body", "json").stdout.splitlines()
    assert json.loads(value)["body"] == {"n": 29}


@pytest.mark.parametrize(
    ("layout", "shown"),
    [
        ("%b", '{"n": 29}\n'),
        (r"%b\c", '{"n": 29}'),
        (r"%t\t%g|%k|%%\n\\%l", "Tailed\tTag2|key-29 all|%\n\\9\n"),
        ("%{colour}-%{none}-%B-%r", "red--broker-a-0\n"),
        (r"\x%b", '\\x{"n": 29}\n'),
    ],
)
def test_formats(server: TestServer, layout: str, shown: str) -> None:
    assert tail(server, TOPIC, "-N", "1", "--format", layout).stdout == shown


def test_every_letter_is_read_and_shown() -> None:
    one = message("id")
    for code in LETTERS:
        (part, end) = read_format(code, "text")
        assert isinstance(part(one), str)
        assert end(one) == "\n"
    for wrong in ("%z", "%", "%{", "%{}", "a%"):
        with pytest.raises(click.UsageError, match="is not one of %b body"):
            read_format(wrong, "text")


@pytest.mark.parametrize(
    ("body", "kind", "shown"),
    [
        (b'{ "a":\n1}', "json", '{"a": 1}'),
        (b"plain", "json", '"plain"'),
        (b"[" * 100_000, "json", '"' + "[" * 100_000 + '"'),
        ("Zürich".encode(), "text", "Zürich"),
        (b"\xff", "text", "\ufffd"),
        (b"\x00\xff", "hex", "00ff"),
        (b"body", "none", ""),
    ],
    ids=range(7),
)
def test_bodies(body: bytes, kind: str, shown: str) -> None:
    assert body_text(body, kind) == shown


def test_bytes_survive_json(server: TestServer) -> None:
    with BlockingAdminClient(server.namesrv_addr) as admin:
        send(admin, "Bytes", b"\xff\x00")
    value = json.loads(tail(server, "Bytes", "--json").stdout)
    assert value["bodyEncoding"] == "base64"
    assert base64.b64decode(value["body"]) == b"\xff\x00"


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ([], 2, "give one topic"),
        ([TOPIC, "-t", TOPIC], 2, "give one topic"),
        ([TOPIC, "-f", "--until", "now"], 2, "contradict"),
        ([TOPIC, "-q", "x"], 2, "neither a queue's number nor BROKER:NUMBER"),
        ([TOPIC, "-q", "broker-b:0"], 1, "has no queue broker-b:0; its brokers: broker-a"),
        ([TOPIC, "-q", "0", "-q", "broker-b:0"], 1, "no queue broker-b:0; its brokers: broker-a"),
        ([TOPIC, "-q", "0", "-q", "99"], 1, "has no queue 99; its brokers: broker-a"),
        ([TOPIC, "-b", "broker-a", "-b", "gone"], 1, "no broker gone; its brokers: broker-a"),
        ([TOPIC, "-b", "b", "-q", "c:0"], 1, "has no broker b and no queue c:0; its brokers"),
        ([TOPIC, "-N", "-1"], 2, "'-N'"),
        ([TOPIC, "--since", "soon"], 2, "is not a time"),
        (["Nowhere"], 1, "has no route for topic 'Nowhere'"),
    ],
)
def test_failures(server: TestServer, words: list[str], code: int, sentence: str) -> None:
    done = tail(server, *words)
    assert (done.exit_code, done.stdout) == (code, "")
    assert sentence in done.stderr


def test_the_future_is_empty_and_reported(server: TestServer) -> None:
    done = tail(server, TOPIC, "--since", "+1h")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "lies in the future: nothing has been stored since then" in done.stderr


@pytest.mark.parametrize("text", ["3", "broker-a:3", "a:b:3"])
def test_queue_names(text: str) -> None:
    broker, number = queue_choice(text)
    assert (broker or "", number) == (text.rpartition(":")[0], 3)


def start(server: TestServer, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "trimq.mqadmin", "tail", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NAMESRV_ADDR": server.namesrv_addr},
        # A shell lets its jobs in the background ignore it, and what they start inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )


def test_following_until_ctrl_c(server: TestServer) -> None:
    with BlockingAdminClient(server.namesrv_addr) as admin:
        send(admin, "Followed", b"old")
        with start(server, "Followed", "-f", "--format", "%b") as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "old\n"
            for body in (b"new", b"newer"):
                send(admin, "Followed", body)
                assert process.stdout.readline().encode() == body + b"\n"
            process.send_signal(signal.SIGINT)
            rest, err = process.communicate(timeout=60)
    assert (process.returncode, rest, err) == (0, "", "")


def test_following_a_static_topic(server: TestServer, tmp_path: Path) -> None:
    made = ["updateStaticTopic", "-b", "broker-a", "-t", "TailedStatic", "-qn", "3"]
    words = ["-n", server.namesrv_addr, *made, "--out", str(tmp_path)]
    assert CliRunner().invoke(main, words).exit_code == 0
    with BlockingAdminClient(server.namesrv_addr) as admin:
        for number in range(3):
            admin.send(NewMessage(topic="TailedStatic", body=b"%d" % number), "broker-a", number)
        with start(server, "TailedStatic", "-f", "--format", "%b", "-m", "5") as process:
            assert process.stdout is not None
            assert [process.stdout.readline() for _ in range(3)] == ["0\n", "1\n", "2\n"]
            for body in (b"3", b"4"):
                admin.send(NewMessage(topic="TailedStatic", body=body), "broker-a", 1)
            rest, err = process.communicate(timeout=60)
    assert (process.returncode, rest, err) == (0, "3\n4\n", "")


@pytest.mark.parametrize("sends", [True, False])
def test_following_ends_with_its_reader(server: TestServer, sends: bool) -> None:
    topic = f"Unread{sends}"
    with BlockingAdminClient(server.namesrv_addr) as admin:
        send(admin, topic, b"old")
        with start(server, topic, "-f") as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.readline()
            process.stdout.close()
            if sends:
                send(admin, topic, b"new")
            assert (process.wait(timeout=60), process.stderr.read()) == (0, "")


@dataclass
class OneQueue:
    """Stands for the client of a broker with one queue, whose messages are listed here."""

    stored: list[Message] = field(default_factory=list)
    first: int = 0
    failure: Exception | None = None

    def read_queues(self, topic: str) -> list[Place]:
        return [Place(MessageQueue(broker_name="broker-a", queue_id=0, topic=topic), "a:1")]

    def topic_route(self, topic: str) -> TopicRouteData:
        return TopicRouteData()

    def min_offset(self, place: Place) -> int:
        return self.first

    def max_offset(self, place: Place) -> int:
        return self.first + len(self.stored)

    def broker_topic_stats(self, addr: str, topic: str) -> TopicStats:
        if self.failure is not None:
            raise self.failure
        (place,) = self.read_queues(topic)
        ends = TopicOffset(min_offset=self.first, max_offset=self.max_offset(place))
        return TopicStats({place.queue: ends})

    def pull(self, place: Place, offset: int, tags: str, limit: int) -> Pulled:
        at = offset - self.first
        found = self.stored[at : at + min(limit, 2)]
        return Pulled("FOUND" if found else "NO_NEW_MSG", offset + len(found), found)

    def add(self, text: str) -> None:
        one = message(text)
        one.broker_name, one.queue_offset = "broker-a", self.first + len(self.stored)
        self.stored.append(one)


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> OneQueue:
    monkeypatch.setattr(tailing.time, "sleep", lambda seconds: None)
    return OneQueue()


def news(found: Iterator[Message | None]) -> list[str]:
    """The ids of what is new, up to the next rest."""
    ids = []
    for one in found:
        if one is None:
            return ids
        ids.append(one.message_id)
    raise AssertionError("it ended")


def test_a_topic_that_was_created_again_is_read_from_its_start(queue: OneQueue) -> None:
    for number in range(5):
        queue.add(f"old-{number}")
    found = Tail(Run(queue, Output(False)), "T", Choice()).news()  # type: ignore[arg-type]
    assert news(found) == []
    queue.stored.clear()
    queue.add("first")
    assert news(found) == ["first"]
    for number in range(7):
        queue.add(f"more-{number}")
    assert news(found) == [f"more-{number}" for number in range(7)]
    assert news(found) == []


def test_a_broker_that_is_away_is_reported_once_and_asked_again(
    queue: OneQueue, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Tail(Run(queue, Output(False)), "T", Choice()).news()  # type: ignore[arg-type]
    queue.failure = PeerGone("a:1 is gone")
    for _ in range(3):
        assert news(found) == []
    assert capsys.readouterr().err == "mqadmin: a:1 is gone; trying again\n"
    queue.failure = None
    queue.add("back")
    assert news(found) == ["back"]
    queue.failure = PeerGone("a:1 is gone")
    assert news(found) == []
    assert "trying again" in capsys.readouterr().err
