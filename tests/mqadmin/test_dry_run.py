"""--dry-run changes nothing and says what would happen; and what is said of changes that hide or do nothing."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.messages.sending import NewMessage
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.topics import TopicConfig
from trimq.mqadmin.cli import main
from trimq.testing import TestServer

CLUSTER = "DefaultCluster"
TOPIC, GROUP, OTHER = "Planned", "PlannedGroup", "OtherGroup"
COMMITTED = [0, 1, 2, 3]


@pytest.fixture
def admin(server: TestServer) -> Iterator[BlockingAdminClient]:
    """With a topic of four queues with three messages each, read as far as COMMITTED says."""
    addr = server.broker_addr
    with BlockingAdminClient(server.namesrv_addr) as made:
        made.put_topic(addr, TopicConfig(topic_name=TOPIC, read_queue_nums=4, write_queue_nums=4))
        for group in (GROUP, OTHER):
            made.put_group(addr, SubscriptionGroupConfig(group_name=group))
            made.put_topic(addr, TopicConfig(topic_name=f"%RETRY%{group}", read_queue_nums=1))
        for queue_id, offset in enumerate(COMMITTED):
            for body in (b"a", b"b", b"c"):
                made.send(NewMessage(topic=TOPIC, body=body), "broker-a", queue_id)
            queue = MessageQueue(broker_name="broker-a", queue_id=queue_id, topic=TOPIC)
            made.commit_offset(addr, GROUP, queue, offset)
        yield made
        made.delete_topic(TOPIC, CLUSTER)
        for group in (GROUP, OTHER):
            made.delete_group(addr, group, True)


def run(server: TestServer, *words: str) -> Result:
    return CliRunner().invoke(main, ["-n", server.namesrv_addr, *words])


def values(server: TestServer, *words: str) -> list[dict[str, Any]]:
    done = run(server, *words, "--dry-run", "--json")
    assert done.exit_code == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def state(server: TestServer, admin: BlockingAdminClient) -> object:
    """All that the commands here could change."""
    addr = server.broker_addr
    stats = admin.broker_topic_stats(addr, TOPIC).offsets
    progress = {
        (group, queue): one.consumer_offset
        for group in (GROUP, OTHER)
        for queue, one in admin.broker_progress(addr, group).offsets.items()
    }
    ends = {queue: (one.min_offset, one.max_offset) for queue, one in stats.items()}
    route = admin.topic_route(TOPIC).queue_datas
    return admin.topics_of(addr), set(admin.groups_of(addr)), ends, progress, route


@pytest.mark.parametrize(
    ("words", "to"),
    [
        (["resetOffset", "-g", GROUP, "-t", TOPIC, "--to", "earliest"], [0, 0, 0, 0]),
        (["resetOffset", "-g", GROUP, "-t", TOPIC, "--to", "latest"], [3, 3, 3, 3]),
        (["resetOffset", "-g", GROUP, "--all-topics", "--to", "2"], [2, 2, 2, 2]),
        (["resetOffset", "-g", GROUP, "-t", TOPIC, "--to", "-1h"], [0, 0, 0, 0]),
        (["resetOffsetByTime", "-g", GROUP, "-t", TOPIC, "-s", "-1h"], [0, 0, 0, 0]),
        (["resetOffsetByTime", "-g", GROUP, "-t", TOPIC, "-s", "-1"], [3, 3, 3, 3]),
        (["skipAccumulatedMessage", "-g", GROUP, "-t", TOPIC], [3, 3, 3, 3]),
    ],
)
def test_moves_are_shown_from_where_to_where(
    server: TestServer, admin: BlockingAdminClient, words: list[str], to: list[int]
) -> None:
    before = state(server, admin)
    rows = values(server, *words)
    assert [row["from"] for row in rows] == COMMITTED
    assert [row["to"] for row in rows] == to
    assert {row["dryRun"] for row in rows} == {True}
    text = run(server, *words, "--dry-run")
    assert text.stdout.startswith("#Topic")
    assert text.stderr.endswith("nothing was moved: --dry-run\n")
    assert state(server, admin) == before


@pytest.mark.parametrize(
    "words",
    [
        ["resetOffset", "-g", "{g}", "-t", TOPIC, "--to", "latest"],
        ["resetOffsetByTime", "-g", "{g}", "-t", TOPIC, "-s", "-1h"],
        ["resetOffsetByTime", "-g", "{g}", "-t", TOPIC, "-s", "-1h", "-b", "{b}", "-q", "3"],
        ["skipAccumulatedMessage", "-g", "{g}", "-t", TOPIC],
    ],
)
def test_a_group_that_has_no_offsets_is_named(
    server: TestServer, admin: BlockingAdminClient, words: list[str]
) -> None:
    lost = "group '{g}' has no offsets in topic 'Planned': is its name right?"
    for group, is_told in ((GROUP, False), (OTHER, True), ("Misspelt", True)):
        given = [word.format(g=group, b=server.broker_addr) for word in words]
        done = run(server, *given, "--dry-run")
        assert done.exit_code == 0
        assert (lost.format(g=group) in done.stderr) == is_told, done.stderr


def test_moving_a_group_that_has_no_offsets_says_so_too(
    server: TestServer, admin: BlockingAdminClient
) -> None:
    words = ["resetOffset", "-g", OTHER, "-t", TOPIC, "--to", "latest"]
    first = run(server, *words)
    assert first.exit_code == 0
    assert "group 'OtherGroup' has no offsets in topic 'Planned'" in first.stderr
    assert run(server, *words).stderr == ""


def test_what_is_planned_is_what_is_done(server: TestServer, admin: BlockingAdminClient) -> None:
    words = ["resetOffset", "-g", GROUP, "-t", TOPIC, "--to", "1"]
    planned = run(server, *words, "--dry-run").stdout
    assert run(server, *words).stdout == planned


def test_one_queue(server: TestServer, admin: BlockingAdminClient) -> None:
    words = ["resetOffsetByTime", "-g", GROUP, "-t", TOPIC, "-b", server.broker_addr, "-q", "3"]
    before = state(server, admin)
    (row,) = values(server, *words, "-s", "-1h")
    assert (row["queue"]["queueId"], row["from"], row["to"]) == (3, 3, 0)
    (row,) = values(server, *words, "-s", "0", "-o", "2")
    assert row["to"] == 2
    failed = run(server, *words, "-s", "0", "-o", "9", "--dry-run")
    assert "has the offsets 0 to 3, not 9" in failed.stderr
    assert state(server, admin) == before


def test_offsets_that_would_be_copied(server: TestServer, admin: BlockingAdminClient) -> None:
    before = state(server, admin)
    rows = values(server, "cloneGroupOffset", "-s", GROUP, "-d", OTHER, "-t", TOPIC)
    moved = sorted((row["queue"]["queueId"], row["to"]) for row in rows)
    assert moved == list(enumerate(COMMITTED))
    assert state(server, admin) == before


@pytest.mark.parametrize(
    ("words", "sentences"),
    [
        (["deleteTopic", "-t", TOPIC, "-c", CLUSTER], ["4 queues, 12 messages"]),
        (["deleteTopic", "-t", "Nope", "-c", CLUSTER], ["does not have topic 'Nope'"]),
        (
            ["deleteSubGroup", "-g", GROUP, "-c", CLUSTER],
            ["its offsets stay", "%RETRY%PlannedGroup"],
        ),
        (["deleteSubGroup", "-g", GROUP, "-b", "{b}", "-r", "true"], ["with its offsets"]),
        (["deleteSubGroup", "-g", "Nope", "-b", "{b}"], ["does not have group 'Nope'"]),
        (["cleanUnusedTopic"], ["CLEAN_UNUSED_TOPIC; only the broker knows"]),
        (["cleanExpiredCQ", "-b", "{b}"], ["CLEAN_EXPIRED_CONSUMEQUEUE"]),
        (["deleteExpiredCommitLog", "-c", CLUSTER], ["DELETE_EXPIRED_COMMITLOG"]),
        (["wipeWritePerm", "-b", "broker-a"], ["would stop writes to", "topics of broker-a"]),
        (
            ["updateTopic", "-c", CLUSTER, "-t", TOPIC, "-r", "2", "-w", "2"],
            ["to read there are 4"],
        ),
        (
            ["updateTopic", "-c", CLUSTER, "-t", TOPIC, "-r", "2"],
            ["6 messages would be out of sight"],
        ),
        (["updateTopic", "-b", "{b}", "-t", "New"], ["would make topic 'New'"]),
    ],
)
def test_deletions_and_changes(
    server: TestServer, admin: BlockingAdminClient, words: list[str], sentences: list[str]
) -> None:
    before = state(server, admin)
    words = [word.format(b=server.broker_addr) for word in words]
    done = run(server, *words, "--dry-run")
    assert done.exit_code == 0, done.stderr
    for sentence in sentences:
        assert sentence in done.stdout
    assert "success" not in done.stdout.lower()
    assert all(row["dryRun"] for row in values(server, *words))
    assert state(server, admin) == before


def test_a_static_topics_moves(
    server: TestServer, admin: BlockingAdminClient, tmp_path: object
) -> None:
    made = ["updateStaticTopic", "-b", "broker-a", "-t", "StaticPlanned", "-qn", "2"]
    assert run(server, *made, "--out", str(tmp_path)).exit_code == 0
    before = state(server, admin)
    words = ["remappingStaticTopic", "-b", "broker-a", "-t", "StaticPlanned"]
    # There is nowhere else to go.
    assert values(server, *words) == []
    assert state(server, admin) == before


def test_hiding_messages_names_the_drain(server: TestServer, admin: BlockingAdminClient) -> None:
    words = ["updateTopic", "-c", CLUSTER, "-t", TOPIC, "-w", "2"]
    done = run(server, *words, "-r", "2")
    assert done.exit_code == 0
    assert "6 messages in the queues 2 to 3 of 'Planned' are out of sight now" in done.stderr
    assert "-r 4 brings them back, and --drain" in done.stderr
    assert run(server, *words, "-r", "4").stderr == ""
    assert run(server, "updateTopic", "-b", server.broker_addr, "-t", TOPIC, "-r", "3").stderr
    contradiction = run(server, *words, "-r", "2", "--drain", "--dry-run")
    assert (contradiction.exit_code, contradiction.stdout) == (2, "")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["deleteTopic", "-t", "Nope", "-c", CLUSTER], "does not have topic 'Nope'"),
        (["deleteSubGroup", "-g", "Nope", "-c", CLUSTER], "does not have group 'Nope'"),
        (["wipeWritePerm", "-b", "nobody"], "lists a broker 'nobody'"),
    ],
)
def test_a_success_with_nothing_to_do_is_reported(
    server: TestServer, words: list[str], sentence: str
) -> None:
    done = run(server, *words)
    assert done.exit_code == 0
    assert sentence in done.stderr
