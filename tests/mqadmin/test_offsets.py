"""Our own commands about offsets against a broker of our own; how they are written on a command line."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import click
import pytest

from tests.run.mqadmin import run_mqadmin
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.client import AdminClient
from trimq.admin.errors import Invalid, NotFound, Refused
from trimq.admin.groups.progress import ABOVE_MAX, BELOW_MIN, QueueProgress, Side, Target
from trimq.admin.messages.sending import NewMessage
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.java.moments import duration
from trimq.mqadmin.commands.reset_offset import target_of
from trimq.testing import TestServer, running_server

# Messages in each queue of T, and of U.
FILL = [2, 1]
FILL_U = [2, 2]


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with running_server(settings={"brokerName": "broker-a"}) as started:
        with BlockingAdminClient(started.namesrv_addr) as admin:
            for topic, fill in (("T", FILL), ("U", FILL_U)):
                config = TopicConfig(topic_name=topic, read_queue_nums=2, write_queue_nums=2)
                admin.put_topic(started.broker_addr, config)
                for queue_id, count in enumerate(fill):
                    for _ in range(count):
                        admin.send(NewMessage(topic=topic, body=b"x"), "broker-a", queue_id)
            admin.put_group(started.broker_addr, SubscriptionGroupConfig(group_name="G"))
        yield started


@pytest.fixture
def admin(server: TestServer) -> Iterator[BlockingAdminClient]:
    """With a group that has read all of T and U."""
    with BlockingAdminClient(server.namesrv_addr) as client:
        for topic in ("T", "U"):
            client.move_group(server.broker_addr, "G", topic, Target(Side.LATEST))
        yield client


def run(server: TestServer, *words: str) -> subprocess.CompletedProcess[str]:
    return run_mqadmin(*words, NAMESRV_ADDR=server.namesrv_addr)


def committed(server: TestServer, admin: BlockingAdminClient, topic: str = "T") -> list[int]:
    return [one.committed for one in admin.queue_progress(server.broker_addr, "G", topic)]


def queue(queue_id: int) -> MessageQueue:
    return MessageQueue(broker_name="broker-a", queue_id=queue_id, topic="T")


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (Target(Side.EARLIEST), [0, 0]),
        (Target(Side.LATEST), FILL),
        (Target(Side.OFFSET, 1), [1, 1]),
        (Target(Side.TIME, 0), [0, 0]),
        (Target(Side.TIME, 4 * 10**12), FILL),
    ],
    ids=str,
)
def test_a_group_is_moved(
    server: TestServer, admin: BlockingAdminClient, target: Target, expected: list[int]
) -> None:
    moved = admin.move_group(server.broker_addr, "G", "T", target)
    assert [(one.before, one.offset) for one in moved] == list(zip(FILL, expected, strict=True))
    assert committed(server, admin) == expected
    assert committed(server, admin, "U") == FILL_U


def test_what_the_delay_is_counted_from(server: TestServer, admin: BlockingAdminClient) -> None:
    admin.move_group(server.broker_addr, "G", "T", Target(Side.OFFSET, 1), 0)
    first, second = admin.queue_progress(server.broker_addr, "G", "T")
    assert (first.backlog, first.remark, second.backlog, second.delay) == (1, "", 0, 0)
    waiting = admin.pull(admin.place_of("T", "broker-a", 0), 1).messages[0]
    since = admin.now() - waiting.store_timestamp
    assert 0 < first.delay <= since
    assert first.last_read > 0


@pytest.mark.parametrize(
    ("low", "high", "committed", "backlog", "remark"),
    [
        (5, 9, 4, 4, BELOW_MIN),
        (5, 9, 5, 4, ""),
        (5, 9, 9, 0, ""),
        (5, 9, 10, 0, ABOVE_MAX),
    ],
)
def test_offsets_that_a_queue_does_not_have(
    low: int, high: int, committed: int, backlog: int, remark: str
) -> None:
    one = QueueProgress(
        queue=MessageQueue(),
        min_offset=low,
        max_offset=high,
        committed=committed,
        pulled=committed,
        delay=0,
        last_read=0,
    )
    assert (one.backlog, one.in_flight, one.remark) == (backlog, 0, remark)


def test_a_refusal_says_why(server: TestServer, admin: BlockingAdminClient) -> None:
    addr = server.broker_addr
    with pytest.raises(Invalid, match=r"queue 1 of topic 'T' at broker 'broker-a' has .* 0 to 1"):
        admin.move_group(addr, "G", "T", Target(Side.OFFSET, 2))
    assert committed(server, admin) == FILL
    with pytest.raises(NotFound, match="has no queue 5 of topic 'T'"):
        admin.move_group(addr, "G", "T", Target(Side.LATEST), 5)
    with pytest.raises(Refused, match="Group Nobody does not exist"):
        admin.move_group(addr, "Nobody", "T", Target(Side.LATEST))
    with pytest.raises(Refused, match="Target offset 9 not in consume queue range"):
        admin.reset_queue(addr, "G", "T", 0, 9)
    with pytest.raises(Refused, match="Topic Nowhere does not exist"):
        admin.reset_group(addr, "G", "Nowhere", 0)


def test_brokers_that_leave_resets_to_members(
    server: TestServer, admin: BlockingAdminClient
) -> None:
    addr = server.broker_addr
    admin.update_broker_config(addr, {"useServerSideResetOffset": "false"})
    try:
        moved = admin.move_group(addr, "G", "T", Target(Side.EARLIEST))
        assert [one.offset for one in moved] == [0, 0]
        admin.reset_queue(addr, "G", "T", 0, 1)
        assert committed(server, admin) == [1, 0]
        with pytest.raises(Invalid, match=r"queue 0 of topic 'T' .* has the offsets 0 to 2, not 3"):
            admin.reset_queue(addr, "G", "T", 0, 3)
        with pytest.raises(Refused, match="Consumer not online"):
            admin.reset_group(addr, "G", "T", 0)
        back = admin.reset_committed(addr, "G", "T", 4 * 10**12, force=False)
        assert [(one.target, one.offset) for one in back] == [(2, 1), (1, 0)]
        on = admin.reset_committed(addr, "G", "T", -1)
        assert [(one.is_first, one.offset) for one in on] == [(False, 2), (False, 1)]
    finally:
        admin.update_broker_config(addr, {"useServerSideResetOffset": "true"})
    assert committed(server, admin) == FILL


@pytest.mark.usefixtures("admin")
async def test_the_client_for_trio_moves_groups_too(server: TestServer) -> None:
    async with AdminClient.connect(server.namesrv_addr) as client:
        await client.move_group(server.broker_addr, "G", "T", Target(Side.EARLIEST))
        rows = await client.queue_progress(server.broker_addr, "G", "T")
        assert [one.committed for one in rows] == [0, 0]
        assert await client.group_topics(server.broker_addr, "G") == ["T", "U"]


def test_all_topics_at_once(server: TestServer, admin: BlockingAdminClient) -> None:
    done = run(server, "resetOffset", "-g", "G", "--all-topics", "--to", "earliest", "--json")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["queue"]["topic"], row["from"], row["to"]) for row in rows] == [
        ("T", 2, 0),
        ("T", 1, 0),
        ("U", 2, 0),
        ("U", 2, 0),
    ]
    assert committed(server, admin, "U") == [0, 0]


def test_a_topic_that_cannot_be_moved_does_not_keep_the_others(
    server: TestServer, admin: BlockingAdminClient
) -> None:
    done = run(server, "resetOffset", "-g", "G", "--all-topics", "--to", "2", "--json")
    assert done.returncode == 1
    assert [json.loads(line)["queue"]["topic"] for line in done.stdout.splitlines()] == ["U", "U"]
    assert "queue 1 of topic 'T'" in done.stderr


def test_the_table_of_a_group(server: TestServer, admin: BlockingAdminClient) -> None:
    # A broker that waits for the pull that takes a reset ignores commits: so a group that was never reset.
    admin.put_group(server.broker_addr, SubscriptionGroupConfig(group_name="H"))
    admin.commit_offset(server.broker_addr, "H", queue(1), 7)
    done = run(server, "offsets", "-g", "H", "-t", "T")
    assert done.returncode == 0, done.stderr
    head, first, second, *rest = done.stdout.splitlines()
    assert head.split()[:2] == ["#Topic", "#Broker"]
    assert first.split()[:7] == ["T", "broker-a", "0", "0", "2", "0", "0"]
    assert second.endswith("(above max)")
    assert "Backlog: 2" in rest


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("earliest", Target(Side.EARLIEST)),
        ("MIN", Target(Side.EARLIEST)),
        ("latest", Target(Side.LATEST)),
        ("max", Target(Side.LATEST)),
        ("0", Target(Side.OFFSET, 0)),
        ("999999999999", Target(Side.OFFSET, 10**12 - 1)),
        ("1000000000000", Target(Side.TIME, 10**12)),
    ],
)
def test_targets_as_they_are_written(text: str, target: Target) -> None:
    assert target_of(text) == target


def test_a_date_is_a_target() -> None:
    text = "2026-01-31#12:00:00:250"
    seconds = time.mktime((2026, 1, 31, 12, 0, 0, 0, 0, -1))
    assert target_of(text) == Target(Side.TIME, int(seconds) * 1000 + 250)
    assert target_of("now").side is Side.TIME
    assert target_of("now").value > 10**12


@pytest.mark.parametrize("text", ["-1", "soon", "1.5", "", "2026-01-32"])
def test_what_is_not_a_target(text: str) -> None:
    with pytest.raises(click.BadParameter):
        target_of(text)


@pytest.mark.parametrize(
    ("millis", "text"),
    [
        (0, "0"),
        (250, "0.2s"),
        (59_900, "59.9s"),
        (60_000, "1m00s"),
        (3_599_000, "59m59s"),
        (3_660_000, "1h01m"),
        (90_000_000, "1d01h"),
    ],
)
def test_durations(millis: int, text: str) -> None:
    assert duration(millis) == text


@pytest.mark.parametrize(
    "words",
    [
        ["startMonitoring", "--interval", "60"],
        ["haStatus", "-c", "DefaultCluster", "-i", "60"],
        ["clusterRT", "-a", "1", "-i", "60"],
    ],
    ids=lambda words: words[0],
)
def test_endless_commands_end_with_ctrl_c(server: TestServer, words: list[str]) -> None:
    command = [sys.executable, "-u", "-m", "trimq.mqadmin", *words, "-n", server.namesrv_addr]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        last = {
            "startMonitoring": "endRound",
            "haStatus": "#SlaveAddr",
            "clusterRT": "DefaultCluster",
        }[words[0]]
        for line in process.stdout:
            if last in line:
                break
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")


def test_monitoring_ends_after_its_rounds(server: TestServer) -> None:
    done = run(server, "startMonitoring", "--rounds", "2", "--interval", "0.01")
    assert done.returncode == 0
    assert done.stdout.count("beginRound") == done.stdout.count("endRound") == 2
