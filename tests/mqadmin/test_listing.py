"""What JSON, terminals and standard error say beyond the official tool's tables."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.mqadmin.test_output import on_a_terminal
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.messages.sending import NewMessage
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.topics import TopicConfig
from trimq.mqadmin.cli import main
from trimq.mqadmin.text.java import hash_order
from trimq.testing import TestServer, running_server

TOPICS = ("Beta", "Alpha", "Zeta", "Omega")
GROUP = "Readers"


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with running_server(settings={"brokerName": "broker-a"}) as started:
        with BlockingAdminClient(started.namesrv_addr) as admin:
            addr = started.broker_addr
            for name in (*TOPICS, f"%RETRY%{GROUP}", f"%DLQ%{GROUP}"):
                admin.put_topic(
                    addr, TopicConfig(topic_name=name, read_queue_nums=4, write_queue_nums=4)
                )
            admin.put_group(addr, SubscriptionGroupConfig(group_name=GROUP))
            for number in range(5):
                admin.send(NewMessage(topic="Alpha", body=b"%d" % number), "broker-a", 3)
            queue = MessageQueue(broker_name="broker-a", queue_id=3, topic="Alpha")
            admin.commit_offset(addr, GROUP, queue, 2)
        yield started


def run(server: TestServer, *words: str) -> Result:
    return CliRunner().invoke(main, ["-n", server.namesrv_addr, *words])


def values(server: TestServer, *words: str) -> list[dict[str, Any]]:
    done = run(server, *words, "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_json_lists_users_topics_first(server: TestServer) -> None:
    rows = values(server, "topicList")
    names = [row["topic"] for row in rows]
    assert names[:6] == [*sorted(TOPICS), f"%RETRY%{GROUP}", f"%DLQ%{GROUP}"]
    assert [row["kind"] for row in rows[:6]] == ["user"] * 4 + ["retry", "deadLetters"]
    assert {row["kind"] for row in rows[6:]} == {"system"}
    assert {"TBW102", "broker-a", "DefaultCluster", "SCHEDULE_TOPIC_XXXX"} <= set(names[6:])
    assert names[6:] == sorted(names[6:])


def test_only_users_topics(server: TestServer) -> None:
    assert run(server, "topicList", "--user").stdout.splitlines() == sorted(TOPICS)
    rows = values(server, "topicList", "--user", "-c")
    assert [row["topic"] for row in rows] == sorted(TOPICS)
    assert {row["cluster"] for row in rows} == {"DefaultCluster"}


def test_a_terminal_gets_them_sorted_and_marked_a_pipe_as_the_official_tool(
    server: TestServer,
) -> None:
    shown = on_a_terminal(server, "topicList").splitlines()
    assert shown[:4] == sorted(TOPICS)
    assert shown[-1] == "\x1b[2mrmq_sys_wheel_timer  (system)\x1b[0m"
    piped = run(server, "topicList").stdout.splitlines()
    with BlockingAdminClient(server.namesrv_addr) as admin:
        assert piped == hash_order(admin.topic_names())


def test_settings_are_sorted_but_on_a_pipe(server: TestServer) -> None:
    words = ["getBrokerConfig", "-b", server.broker_addr]
    (row,) = values(server, *words)
    assert list(row["settings"]) == sorted(row["settings"])
    shown = on_a_terminal(server, *words).splitlines()[1:]
    keys = [line.split()[0] for line in shown if line.strip()]
    assert keys == sorted(row["settings"])


def test_progress_in_json_has_the_lag(server: TestServer) -> None:
    rows = values(server, "consumerProgress", "-g", GROUP, "-t", "Alpha")
    row = next(row for row in rows if row["queue"]["queueId"] == 3)
    assert (row["diff"], row["inflight"], row["client"]) == (3, 0, None)


def test_queues_that_the_table_hides(server: TestServer) -> None:
    with BlockingAdminClient(server.namesrv_addr) as admin:
        queue = MessageQueue(broker_name="broker-a", queue_id=3, topic="Alpha")
        admin.commit_offset(server.broker_addr, GROUP, queue, 0)
    words = ["brokerConsumeStats", "-b", server.broker_addr]
    done = run(server, *words)
    assert "Alpha" not in done.stdout
    assert "Diff Total: 5" in done.stdout
    assert "queues without a time of consumption are not listed: --json" in done.stderr
    assert [row["diff"] for row in values(server, *words) if row["diff"]] == [5]
    with BlockingAdminClient(server.namesrv_addr) as admin:
        admin.commit_offset(server.broker_addr, GROUP, queue, 2)


@pytest.mark.parametrize(("count", "shown"), [(1, 1), (3, 3), (5, 5), (128, 5)])
def test_consume_message_counts_messages_in_json(
    server: TestServer, count: int, shown: int
) -> None:
    rows = values(server, "consumeMessage", "-t", "Alpha", "-c", str(count))
    assert [row["queueOffset"] for row in rows] == list(range(shown))


def test_consume_message_says_when_it_shows_less(server: TestServer) -> None:
    with BlockingAdminClient(server.namesrv_addr) as admin:
        for queue in range(4):
            admin.send(NewMessage(topic="Zeta", body=b"x"), "broker-a", queue)
    done = run(server, "consumeMessage", "-t", "Zeta", "-c", "3")
    assert (done.exit_code, done.stdout.count("MSGID")) == (0, 2)
    assert "2 of 4 messages are shown" in done.stderr
    assert "'mqadmin tail Zeta -N 3' or --json shows 3" in done.stderr
    assert run(server, "consumeMessage", "-t", "Zeta").stderr == ""


@pytest.mark.parametrize("mode", ["POP", "PULL"])
def test_a_mode_is_set_without_a_warning(server: TestServer, mode: str) -> None:
    words = ["setConsumeMode", "-b", server.broker_addr, "-t", "Alpha", "-g", GROUP, "-m", mode]
    done = run(server, *words)
    assert (done.exit_code, done.stderr) == (0, "")


def test_traces_say_how_they_come_to_be(server: TestServer) -> None:
    done = run(server, "queryMsgTraceById", "-i", "F" * 32)
    assert done.exit_code == 1
    assert "traceTopicEnable=true" in done.stderr


def test_an_unknown_setting_has_a_near_one(server: TestServer) -> None:
    words = ["updateBrokerConfig", "-b", server.broker_addr, "-k", "fileReservedTme", "-v", "71"]
    done = run(server, *words)
    assert done.exit_code == 1
    assert "did you mean" in done.stderr.lower()
    assert "fileReservedTime" in done.stderr


def test_print_msg_by_queue_says_what_prints(server: TestServer) -> None:
    words = ["printMsgByQueue", "-t", "Alpha", "-a", "broker-a", "-i", "3"]
    done = run(server, *words)
    assert (done.exit_code, done.stdout) == (0, "")
    assert "'mqadmin tail Alpha -q broker-a:3' shows messages" in done.stderr
    assert run(server, *words, "-p", "true").stderr == ""
