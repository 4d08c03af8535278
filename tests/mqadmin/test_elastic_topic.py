"""elasticTopic create and updateTopic on a running server: what they refuse, and what they say."""

from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from trimq.admin.blocking import BlockingAdminClient
from trimq.codec.bodies.topics import TopicConfig
from trimq.mqadmin.cli import main
from trimq.mqadmin.common.elastic import check_update, is_same_place
from trimq.mqadmin.failures import Failed
from trimq.mqadmin.framework import Run
from trimq.mqadmin.output import Output
from trimq.testing import TestServer, running_server

TOPIC = "Orders"


@pytest.fixture
def server() -> Iterator[TestServer]:
    with running_server(settings={"brokerName": "broker-a"}) as started:
        yield started


def run(server: TestServer, *words: str) -> Result:
    return CliRunner().invoke(main, ["-n", server.namesrv_addr, *words])


def create(server: TestServer, *words: str, broker: str = "broker-a") -> Result:
    return run(server, "elasticTopic", "create", "-b", broker, "-t", TOPIC, "--no-wait", *words)


def queues(server: TestServer) -> int:
    with BlockingAdminClient(server.namesrv_addr) as admin:
        return len(admin.elastic_view(server.broker_addr, TOPIC).queues)


def test_create_says_what_is_there_and_what_was(server: TestServer) -> None:
    planned = create(server, "-q", "3", "--dry-run")
    assert "would create 'Orders' as an elastic topic with 3 queues" in planned.stdout
    assert "Orders is elastic on" in create(server, "-q", "3").stdout
    assert "would change nothing: 'Orders' is elastic" in create(server, "--dry-run").stdout
    assert "Orders was elastic already on" in create(server).stdout
    assert queues(server) == 3


@pytest.mark.parametrize(
    ("config", "words", "why"),
    [
        (None, ["-q", "1001"], "the number of queues must be 1 to 1000, not 1001"),
        (None, ["-q", "17"], "no more than 16 are allowed (maxTopicQueues)"),
        (TopicConfig(read_queue_nums=2, write_queue_nums=4), [], "4 write queues and 2 read"),
        (TopicConfig(attributes={"+message.type": "LITE"}), [], "messages of type LITE"),
        (TopicConfig(attributes={"+message.type": "PRIORITY"}), [], "messages of type PRIORITY"),
        (TopicConfig(attributes={"+queue.type": "BatchCQ"}), [], "queues of type BatchCQ"),
        (TopicConfig(attributes={"+cleanup.policy": "COMPACTION"}), [], "is compacted"),
    ],
)
def test_a_dry_run_is_refused_as_the_real_one(
    config: TopicConfig | None, words: list[str], why: str
) -> None:
    settings = {"brokerName": "broker-a", "maxTopicQueues": "16"}
    with running_server(settings=settings) as server:
        with BlockingAdminClient(server.namesrv_addr) as admin:
            if config is not None:
                admin.put_topic(server.broker_addr, replace(config, topic_name=TOPIC))
            dry = create(server, "--dry-run", *words)
            assert (TOPIC in admin.topics_of(server.broker_addr)) == (config is not None)
        real = create(server, *words)
        assert (dry.exit_code, why in dry.stderr) == (1, True)
        assert (real.exit_code, real.stderr) == (dry.exit_code, dry.stderr)


def test_names_that_a_dry_run_refuses(server: TestServer) -> None:
    for name in ("TBW102", "a b"):
        words = ("elasticTopic", "create", "-b", "broker-a", "-t", name, "--no-wait")
        dry, real = run(server, *words, "--dry-run"), run(server, *words)
        assert dry.exit_code == real.exit_code != 0
        assert dry.stderr == real.stderr


def test_a_topic_that_is_elsewhere_is_refused_before_anything_is_done(
    server: TestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert create(server).exit_code == 0
    other = "192.0.2.1:10911"
    monkeypatch.setattr(BlockingAdminClient, "elastic_broker", lambda self, topic: other)
    for words in (["--dry-run"], []):
        done = create(server, *words, broker=server.broker_addr)
        assert done.exit_code == 1
        why = f"topic 'Orders' is on {other}, not on {server.broker_addr}: use -b {other}"
        assert why in done.stderr


def test_a_broker_may_be_named_by_its_hosts_name(server: TestServer) -> None:
    named = server.broker_addr.replace("127.0.0.1", "localhost")
    assert f"Orders is elastic on {server.broker_addr}" in create(server, broker=named).stdout
    assert "Orders was elastic already" in create(server, broker=named).stdout


def test_two_texts_of_one_address() -> None:
    assert is_same_place("127.0.0.1:1", "localhost:1")
    assert is_same_place("[::1]:1", "[0:0:0:0:0:0:0:1]:1")
    assert is_same_place("no.such.host.invalid:1", "no.such.host.invalid:1")
    assert not is_same_place("127.0.0.1:1", "127.0.0.1:2")
    assert not is_same_place("127.0.0.1:1", "192.0.2.1:1")


def test_update_topic_does_not_give_an_elastic_topic_to_a_second_broker(server: TestServer) -> None:
    create(server)
    both = [server.broker_addr, server.broker_addr.replace("127.0.0.1", "localhost")]
    with BlockingAdminClient(server.namesrv_addr) as admin:
        asking = Run(admin, Output(False))
        with pytest.raises(Failed, match=f"use -b {server.broker_addr}"):
            check_update(asking, TOPIC, both, drain=False, order=False, numbers=None)


def test_an_unknown_broker_is_answered_with_those_that_there_are(server: TestServer) -> None:
    for done in (create(server, broker="broker-z"), run(server, "drainBroker", "-b", "broker-z")):
        assert done.exit_code == 1
        assert "no NameServer lists a master of 'broker-z'; those with one: broker-a" in done.stderr


def test_update_topic_changes_permissions_only(server: TestServer) -> None:
    create(server, "-q", "3")
    update = ("updateTopic", "-b", server.broker_addr, "-t", TOPIC)
    done = run(server, *update, "-r", "2", "-w", "2", "-p", "4")
    assert done.exit_code == 0
    assert "is elastic and keeps its 3 queues; mqadmin elasticTopic scale" in done.stderr
    assert "out of sight" not in done.stderr
    assert queues(server) == 3
    with BlockingAdminClient(server.namesrv_addr) as admin:
        assert admin.topics_of(server.broker_addr)[TOPIC].perm == 4
    for words, said in (
        (["-r", "2", "--drain"], "elasticTopic scale"),
        (["-o", "true"], "ordered without -o true"),
    ):
        done = run(server, *update, *words)
        assert (done.exit_code, said in done.stderr) == (1, True)


def test_update_topic_says_nothing_of_it_about_an_ordinary_topic(server: TestServer) -> None:
    with BlockingAdminClient(server.namesrv_addr) as admin:
        admin.put_topic(server.broker_addr, TopicConfig(topic_name="Plain"))
    done = run(server, "updateTopic", "-b", server.broker_addr, "-t", "Plain", "-r", "4", "-w", "4")
    assert (done.exit_code, done.stderr) == (0, "")
