"""Metrics: what Prometheus's own parser reads of them, and the port that serves them."""

from __future__ import annotations

import http.client
import socket
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families

from trimq.commands.cli import main
from trimq.spark.errors import SparkSourceError
from trimq.spark.offsets.showing.prometheus import CONTENT_TYPE, text
from trimq.spark.offsets.showing.serving import MetricsServer, listening

ODD = 'G"\\\n1'


def queue(group: str, topic: str, number: int, broker: str = "b1", **more: Any) -> dict[str, Any]:
    return {
        "cluster": "c",
        "brokerName": broker,
        "topic": topic,
        "queueId": number,
        "consumerGroup": group,
        "committed": 4,
        "maxOffset": 10,
        "backlog": 6,
        "delayMillis": 1500,
        "consumeRate": 0.5,
        "members": 2,
        **more,
    }


QUEUES = [
    queue(ODD, "T", 0),
    queue(ODD, "T", 1, committed=0, delayMillis=2500),
    queue(ODD, "T", 0, broker="b2", maxOffset=5, consumeRate=None, delayMillis=None),
    queue(ODD, f"%RETRY%{ODD}", 0, committed=9, members=None),
]
ENDS = [
    {"cluster": "c", "brokerName": "b1", "topic": "T", "maxOffset": 10, "produceRate": 3.0},
    {"cluster": "c", "brokerName": "b1", "topic": "T", "maxOffset": 11, "produceRate": 4.0},
    {"cluster": "c", "brokerName": "b1", "topic": "%RETRY%x", "maxOffset": 2, "produceRate": None},
    {"cluster": "c", "brokerName": "b1", "topic": "%DLQ%x", "maxOffset": 1, "produceRate": None},
]
TOPIC = {
    "cluster": "c",
    "consumerGroup": ODD,
    "topic": "T",
    "backlog": 17,
    "delayMillis": 2500,
    "inFlight": None,
    "consumeRate": 1.0,
    "produceRate": 7.0,
    "drainSeconds": None,
    "stuckQueues": 1,
    "outOfRange": 0,
}


def written(by_queue: bool = False) -> dict[tuple[str, tuple[str, ...]], float]:
    """What a scrape finds: values by name and labels, none twice."""
    table = pa.Table.from_pylist
    unused = [{"cluster": "c", "topic": "U", "messages": 3}]
    frames: Any = SimpleNamespace(
        queues=table(QUEUES), topics=table([TOPIC]), ends=table(ENDS), unused=table(unused)
    )
    group = {"cluster": "c", "consumerGroup": ODD, "retryBacklog": 1, "deadLetters": 0}
    report: Any = SimpleNamespace(groups=[{**group, "members": None}], taken=[1, 5500])
    found: dict[tuple[str, tuple[str, ...]], float] = {}
    for family in text_string_to_metric_families("".join(text(report, frames, by_queue))):
        assert family.type == "gauge"
        assert family.documentation
        for sample in family.samples:
            labels = (f"{name}={value}" for name, value in sorted(sample.labels.items()))
            key = (sample.name, tuple(labels))
            assert key not in found
            found[key] = sample.value
    return found


def test_under_our_own_names() -> None:
    found = written()
    topic = ("cluster=c", f"group={ODD}", "topic=T")
    assert found["trimq_offsets_backlog_messages", topic] == 17
    assert found["trimq_offsets_delay_seconds", topic] == 2.5
    # What is not known is not there.
    names = {name for name, _ in found}
    assert "trimq_offsets_drain_seconds" not in names
    assert "trimq_offsets_group_members" not in names
    assert found["trimq_offsets_group_retry_backlog_messages", topic[:2]] == 1
    assert found["trimq_offsets_unused_topic_messages", ("cluster=c", "topic=U")] == 3
    assert found["trimq_offsets_taken_seconds", ()] == 5.5
    assert not any(name.startswith("trimq_offsets_queue") for name in names)


def test_under_the_exporters_names() -> None:
    found = {key: value for key, value in written().items() if key[0].startswith("rocketmq_")}
    where = ("broker=b1", "cluster=c")
    reader = (*where, f"group={ODD}")
    other = ("broker=b2", *reader[1:], "topic=T")
    retry = f"topic=%RETRY%{ODD}"
    assert found == {
        # Over all brokers: 6, 10 and 1.
        (
            "rocketmq_group_diff",
            ("countOfOnlineConsumers=2", f"group={ODD}", "msgModel=1", "topic=T"),
        ): 17,
        (
            "rocketmq_group_retrydiff",
            ("countOfOnlineConsumers=", f"group={ODD}", "msgModel=1", retry),
        ): 1,
        ("rocketmq_consumer_offset", (*reader, "topic=T")): 4,
        ("rocketmq_consumer_offset", other): 4,
        ("rocketmq_consumer_offset", (*reader, retry)): 9,
        ("rocketmq_consumer_tps", (*reader, "topic=T")): 1.0,
        ("rocketmq_consumer_tps", (*reader, retry)): 0.5,
        ("rocketmq_group_get_latency_by_storetime", (*reader, "topic=T")): 2500,
        ("rocketmq_group_get_latency_by_storetime", (*reader, retry)): 1500,
        ("rocketmq_producer_offset", (*where, "topic=T")): 21,
        ("rocketmq_topic_retry_offset", (*where, "topic=%RETRY%x")): 2,
        ("rocketmq_topic_dlq_offset", (*where, "group=x")): 1,
        ("rocketmq_producer_tps", (*where, "topic=T")): 7.0,
    }


def test_queue_by_queue_when_asked() -> None:
    found = written(by_queue=True)
    labels = ("broker=b1", "cluster=c", f"group={ODD}", "queue=1", "topic=T")
    assert found["trimq_offsets_queue_backlog_messages", labels] == 6
    assert found["trimq_offsets_queue_delay_seconds", labels] == 2.5
    assert found["trimq_offsets_queue_committed_offset", labels] == 0
    assert found["trimq_offsets_queue_max_offset", labels] == 10
    of_queues = {key: value for key, value in found.items() if "_queue_" in key[0]}
    assert len(of_queues) == 4 * len(QUEUES) - 1
    assert {key: value for key, value in found.items() if key not in of_queues} == written()


def asked(server: MetricsServer, method: str, path: str) -> tuple[int, bytes, str | None]:
    host, port = server.server_address[:2]
    with closing(http.client.HTTPConnection(str(host), int(port), timeout=10)) as connection:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.getheader("Content-Type")


def test_the_last_round_is_served() -> None:
    with listening("127.0.0.1:0") as server:
        assert server is not None
        assert server.url == f"http://127.0.0.1:{server.server_address[1]}/metrics"
        status, said, _ = asked(server, "GET", "/metrics")
        assert (status, said) == (503, b"the first round is not done yet\n")
        for page in (b"first 1\n", b"second 2\n"):
            server.show(page, CONTENT_TYPE)
            assert asked(server, "GET", "/metrics?x=1") == (200, page, CONTENT_TYPE)
        assert asked(server, "HEAD", "/metrics") == (200, b"", CONTENT_TYPE)
        assert asked(server, "GET", "/other")[0] == 404
        assert asked(server, "POST", "/metrics")[0] == 501
        # Somebody who says nothing is in nobody's way.
        with socket.create_connection(server.server_address[:2]):
            assert asked(server, "GET", "/metrics")[0] == 200
    with pytest.raises(ConnectionRefusedError):
        asked(server, "GET", "/metrics")


def test_addresses_that_cannot_be_listened_on() -> None:
    with listening("127.0.0.1:0") as server:
        assert server is not None
        taken = "{}:{}".format(*server.server_address[:2])
        with (
            pytest.raises(
                SparkSourceError, match=f"cannot listen on {taken}: Address already in use"
            ),
            listening(taken),
        ):
            pass
    for wrong in ("9310", "127.0.0.1:", "127.0.0.1:99999", ":9310"):
        with (
            pytest.raises(SparkSourceError, match="write HOST:PORT, such as"),
            listening(wrong),
        ):
            pass


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--listen", "127.0.0.1:0"], "give --watch SECONDS too"),
        (["--metrics-of-queues"], "--metrics-of-queues goes with --prometheus or --listen"),
        (["--listen", "here", "--watch", "1"], "--listen is 'here': write HOST:PORT"),
    ],
)
def test_options(options: list[str], sentence: str) -> None:
    done = CliRunner().invoke(main, ["offsets", "report", "--namesrv", "127.0.0.1:1", *options])
    assert done.exit_code == 2
    (said,) = done.stderr.splitlines()
    assert sentence in said
