"""deleteTopic and deleteSubGroup with several names: one request where the broker knows it, one a name where not."""

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from trimq.admin.blocking import BlockingAdminClient
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.topics import TopicConfig
from trimq.mqadmin.cli import main
from trimq.remoting.errors import RemotingTimeout
from trimq.testing import TestServer, running_server

CLUSTER = "DefaultCluster"
NAMES = ["A", "B", "C"]


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    rates = ("batchDeleteTopicMaxRate", "batchDeleteSubscriptionGroupMaxRate")
    with running_server(settings=dict.fromkeys(rates, "0")) as started:
        yield started


@pytest.fixture
def admin(server: TestServer) -> Iterator[BlockingAdminClient]:
    with BlockingAdminClient(server.namesrv_addr) as made:
        for name in NAMES:
            made.put_topic(server.broker_addr, TopicConfig(topic_name=name))
            made.put_group(server.broker_addr, SubscriptionGroupConfig(group_name=name))
        yield made


def run(server: TestServer, *words: str) -> Result:
    return CliRunner().invoke(main, ["-n", server.namesrv_addr, *words])


def left(server: TestServer, admin: BlockingAdminClient) -> tuple[list[str], list[str]]:
    topics, groups = admin.topics_of(server.broker_addr), admin.groups_of(server.broker_addr)
    return [name for name in NAMES if name in topics], [name for name in NAMES if name in groups]


def test_topics(server: TestServer, admin: BlockingAdminClient) -> None:
    words = ["deleteTopic", "-c", CLUSTER, "-t", "A, C,,A"]
    planned = run(server, *words, "--dry-run")
    assert planned.stdout.count("would delete topic") == 2
    assert left(server, admin) == (NAMES, NAMES)
    done = run(server, *words, "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    shown = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["topic"], one["deleted"]) for one in shown] == [("A", True), ("C", True)]
    assert left(server, admin) == (["B"], NAMES)
    assert not {"A", "C"} & set(admin.topic_names())


def test_groups(server: TestServer, admin: BlockingAdminClient) -> None:
    words = ["deleteSubGroup", "-b", server.broker_addr, "-g", "B,Unknown,C"]
    planned = run(server, *words, "--dry-run")
    assert planned.stdout.count("would delete group") == 2
    done = run(server, *words)
    assert done.exit_code == 0
    assert "does not have group 'Unknown'" in done.stderr
    assert done.stdout.count("success.") == 3
    assert left(server, admin) == (NAMES, ["A"])


@pytest.mark.parametrize("words", [["deleteTopic", "-t"], ["deleteSubGroup", "-g"]])
def test_no_name_at_all(server: TestServer, words: list[str]) -> None:
    refused = run(server, words[0], "-c", CLUSTER, words[1], " ,")
    assert refused.exit_code != 0
    assert "names nothing" in refused.stderr


MANY = [f"N{number:02d}" for number in range(25)]


@pytest.fixture
def many(server: TestServer, admin: BlockingAdminClient) -> list[str]:
    for name in MANY:
        admin.put_topic(server.broker_addr, TopicConfig(topic_name=name))
    return MANY


def test_a_part_that_fails_is_said_and_those_before_it_are_gone_everywhere(
    server: TestServer, admin: BlockingAdminClient, many: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = BlockingAdminClient.delete_topics_on_broker

    def delete(self: BlockingAdminClient, addr: str, topics: list[str]) -> None:
        if many[22] in topics:
            raise RemotingTimeout("too slow")
        usual(self, addr, topics)

    words = ["deleteTopic", "-c", CLUSTER, "-t", ",".join(many), "--json"]
    with monkeypatch.context() as patched:
        patched.setattr(BlockingAdminClient, "delete_topics_on_broker", delete)
        done = run(server, *words)
    assert done.exit_code == 1
    assert [json.loads(line)["topic"] for line in done.stdout.splitlines()] == many[:20]
    assert "too slow" in done.stderr
    assert f"not seen done: {','.join(many[20:])}." in done.stderr
    assert {*many} & {*admin.topic_names()} == {*many[20:]}
    # What it says to do does the rest, and says of what was gone that it was.
    done = run(server, *words)
    assert done.exit_code == 0
    shown = {one["topic"]: one["deleted"] for one in map(json.loads, done.stdout.splitlines())}
    assert shown == {name: name in many[20:] for name in many}
    assert not {*many} & {*admin.topic_names()}


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_system_topic_anywhere_in_a_long_list_leaves_all(
    server: TestServer, admin: BlockingAdminClient, many: list[str], more: list[str]
) -> None:
    names = ",".join([*many, "TBW102"])
    refused = run(server, "deleteTopic", "-c", CLUSTER, "-t", names, *more)
    assert refused.exit_code == 1
    assert "keeps TBW102 for itself: nothing was deleted" in refused.stderr
    assert {*many} <= {*admin.topic_names()}


def test_one_that_is_refused_leaves_all(server: TestServer, admin: BlockingAdminClient) -> None:
    refused = run(server, "deleteTopic", "-c", CLUSTER, "-t", "A,TBW102")
    assert refused.exit_code == 1
    assert "keeps TBW102 for itself" in refused.stderr
    assert left(server, admin) == (NAMES, NAMES)
