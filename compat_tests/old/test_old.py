"""Old NameServers, brokers, tools and clients beside ours, in both directions. Played live only.

Without jars, or without ``--live``, each is skipped and says so; what old servers answer is on record
(`compat_tests.old.record`), and unit tests play from that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from compat_tests.mqadmin.tools import OurTool, Printed
from compat_tests.old.servers import (
    VERSIONS,
    OldBroker,
    is_fetched,
    old_name_server,
    our_name_server,
)
from compat_tests.old.tools import OldTool
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.real import wait_until_known
from compat_tests.servers.server import Options
from tests.patience import until
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.messages.pulling import Place
from trimq.admin.messages.sending import NewMessage
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.locks import MessageQueue

OLD: Final = "old-broker"
OURS: Final = "our-broker"


class Mixed:
    """A NameServer and a broker of both kinds; each broker is registered with both NameServers."""

    def __init__(self, version: str, home: Path, stack: ExitStack) -> None:
        self.version = version
        self.old_namesrv = old_name_server(version, home / "old")
        stack.callback(self.old_namesrv.kill)
        self.old_namesrv.start()
        self.our_namesrv = our_name_server(home)
        stack.callback(self.our_namesrv.stop)
        both = f"{self.old_namesrv.addr};{self.our_namesrv.addr}"
        self.old = OldBroker(version, home / "old", both, {"brokerName": OLD})
        stack.callback(self.old.kill)
        self.old.start()
        self.ours = TrimqServer(home / "ours", Options({"brokerName": OURS}), namesrv=both)
        stack.callback(self.ours.kill)
        self.ours.start()
        (home / "tools").mkdir()
        self.tool = OurTool(home / "tools")
        stack.callback(self.tool.close)
        self.files = home

    @property
    def name_servers(self) -> tuple[str, str]:
        return self.old_namesrv.addr, self.our_namesrv.addr

    def tools(self, stack: ExitStack) -> OldTool:
        made = OldTool(self.version, self.files / "tools")
        stack.callback(made.close)
        return made


@pytest.fixture(scope="module", params=VERSIONS)
def mixed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mixed]:
    version: str = request.param
    if not request.config.getoption("--live"):
        pytest.skip(f"RocketMQ {version} is played with --live only")
    if not is_fetched(version):
        pytest.skip(
            f"no jars of RocketMQ {version}: python -m compat_tests.servers.artifacts --old"
        )
    with ExitStack() as stack:
        yield Mixed(version, tmp_path_factory.mktemp(f"old-{version}"), stack)


def test_every_name_server_knows_every_broker(mixed: Mixed) -> None:
    for addr in mixed.name_servers:
        wait_until_known(addr, [OLD, OURS])
    assert "do not find this broker yet" not in mixed.ours.log()


def commands(mixed: Mixed, file: Path) -> Iterator[Sequence[str]]:
    """What changes or lists something, of an old broker."""
    addr = mixed.old.addr
    topics, groups = file.with_name("topics.json"), file.with_name("groups.json")
    topics.write_text('[{"topicName":"L1"},{"topicName":"L2"}]')
    groups.write_text('[{"groupName":"GL1"},{"groupName":"GL2"}]')
    at = ("-b", addr)
    yield ("clusterList",)
    yield "updateTopic", *at, "-t", "T", "-r", "4", "-w", "4"
    yield "updateTopic", *at, "-t", "T", "-r", "8", "-w", "8"
    yield "updateTopicPerm", *at, "-t", "T", "-p", "6"
    yield "updateTopicList", *at, "-f", str(topics)
    yield ("topicList",)
    yield "topicRoute", "-t", "T"
    yield "topicStatus", "-t", "T"
    yield "topicClusterList", "-t", "T"
    yield "sendMessage", "-t", "T", "-p", "body", "-k", "key"
    yield "queryMsgByKey", "-t", "T", "-k", "key"
    yield "consumeMessage", "-t", "T"
    yield "printMsg", "-t", "T"
    yield "updateSubGroup", *at, "-g", "G"
    # As its first member would have it made.
    yield "updateTopic", *at, "-t", "%RETRY%G", "-r", "1", "-w", "1"
    yield "updateSubGroupList", *at, "-f", str(groups)
    yield "resetOffset", "-g", "G", "-t", "T", "--to", "latest"
    yield "resetOffset", "-g", "G", "-t", "T", "--to", "earliest", "--dry-run"
    yield "resetOffsetByTime", "-g", "G", "-t", "T", "-s", "now", "-f", "true"
    yield "skipAccumulatedMessage", "-g", "G", "-t", "T"
    yield ("consumerProgress",)
    yield "consumerProgress", "-g", "G"
    yield "offsets", "-g", "G"
    # From 5.5.0 on an offset is refused for a group that there is not.
    yield "updateSubGroup", *at, "-g", "G2"
    yield "cloneGroupOffset", "-s", "G", "-d", "G2", "-t", "T"
    yield "brokerStatus", *at
    yield "brokerConsumeStats", *at
    yield "getBrokerConfig", *at
    yield "updateBrokerConfig", *at, "-k", "flushDelayOffsetInterval", "-v", "9000"
    yield "getConsumerConfig", "-g", "G"
    yield ("statsAll",)
    yield "producer", *at
    yield "haStatus", *at
    yield "setConsumeMode", *at, "-t", "T", "-g", "G", "-m", "PULL", "-q", "0"
    yield "cleanExpiredCQ", *at
    yield "cleanUnusedTopic", *at
    yield "deleteExpiredCommitLog", *at
    yield "elasticTopic", "create", *at, "-t", "E", "-q", "4"
    yield "elasticTopic", "show", "-t", "T"
    yield "drainBroker", "-b", OLD, "--dry-run"
    yield "updateKvConfig", "-s", "NS", "-k", "k", "-v", "v"
    yield "deleteKvConfig", "-s", "NS", "-k", "k"
    yield ("getNamesrvConfig",)
    yield "updateOrderConf", "-t", "T", "-m", "put", "-v", f"{OLD}:4"
    yield "updateOrderConf", "-t", "T", "-m", "get"
    yield "wipeWritePerm", "-b", OLD
    yield "addWritePerm", "-b", OLD
    yield "deleteSubGroup", *at, "-g", "G"
    yield "deleteTopic", "-c", "DefaultCluster", "-t", "T"
    yield "deleteTopic", "-c", "DefaultCluster", "-t", "L1"


def complaint(words: Sequence[str], printed: Printed) -> str:
    """What is wrong: a command does what it is told, or says that the server does not know that."""
    if "did not answer" in printed.err:
        return f"{' '.join(words)}: waited for a silent server: {printed.err}"
    if printed.code and "does not know" not in printed.err:
        return f"{' '.join(words)}: {printed.code}: {printed.err[-400:]}"
    return ""


@pytest.mark.parametrize("at", [0, 1], ids=["old NameServer", "our NameServer"])
def test_our_tool_on_an_old_broker(mixed: Mixed, tmp_path: Path, at: int) -> None:
    namesrv = mixed.name_servers[at]
    found = []
    for words in commands(mixed, tmp_path / "x"):
        found.append(complaint(words, mixed.tool.run(namesrv, words)))
        if words[0].startswith("update"):
            _settled(namesrv)
    assert "\n".join(filter(None, found)) == ""


def _settled(namesrv: str) -> None:
    """Until a topic made on a broker is known there, too: old brokers tell NameServers in their own time."""
    with BlockingAdminClient(namesrv) as admin:
        addr = admin.cluster_info().broker_addr_table[OLD].broker_addrs[0]
        made = {
            one
            for one in ("T", "L1", "L2", "%RETRY%G")
            if one in admin.all_topics(addr).topic_config_table
        }
        until(lambda: made <= set(admin.topic_names()), "the topics are known")


def test_an_old_tool_on_our_broker(mixed: Mixed) -> None:
    addr = mixed.ours.broker_addr
    with ExitStack() as stack:
        tool = mixed.tools(stack)
        for namesrv in mixed.name_servers:
            said = {}
            for line in (
                f"updateTopic -b {addr} -t Told -r 4 -w 4",
                "topicList",
                "topicRoute -t Told",
                "topicStatus -t Told",
                f"updateSubGroup -b {addr} -g GTold",
                "consumerProgress",
                f"brokerStatus -b {addr}",
                f"getBrokerConfig -b {addr}",
                "resetOffsetByTime -g GTold -t Told -s now -f true",
                "wipeWritePerm -b our-broker",
                f"deleteSubGroup -b {addr} -g GTold",
                "deleteTopic -c DefaultCluster -t Told",
            ):
                said[line] = tool.run(*line.split(), "-n", namesrv)
            failed = {line: text for line, text in said.items() if "Exception" in text}
            assert not failed
            assert "success" in said[f"updateTopic -b {addr} -t Told -r 4 -w 4"]
            assert f'"{OURS}"' in said["topicRoute -t Told"]


def test_an_old_client_with_both_kinds_of_brokers(mixed: Mixed) -> None:
    with ExitStack() as stack:
        tool = mixed.tools(stack)
        for number, namesrv in enumerate(mixed.name_servers):
            topic = f"Mixed{number}"
            for addr in (mixed.old.addr, mixed.ours.broker_addr):
                assert mixed.tool.run(namesrv, ("updateTopic", "-b", addr, "-t", topic)).code == 0
            _served_by_both(namesrv, topic)
            said = tool.run("client", namesrv, topic, f"G{number}", "20")
            assert "got 20 of 20" in said


def _served_by_both(namesrv: str, topic: str) -> None:
    with BlockingAdminClient(namesrv) as admin:
        until(lambda: len(admin.topic_route(topic).broker_datas) == 2, "both serve it")


def test_our_slave_of_an_old_master(mixed: Mixed) -> None:
    """It finds the master's log by what the NameServer says, and has its messages, topics and offsets."""
    both = ";".join(mixed.name_servers)
    role = {"brokerName": OLD, "brokerRole": "SLAVE", "brokerId": "1"}
    slave = TrimqServer(mixed.files / "slave", Options(role), namesrv=both)
    namesrv = mixed.name_servers[0]
    master = mixed.old.addr
    assert mixed.tool.run(namesrv, ("updateTopic", "-b", master, "-t", "Copied")).code == 0
    with ExitStack() as stack:
        stack.callback(slave.kill)
        slave.start()
        admin = stack.enter_context(BlockingAdminClient(namesrv))
        until(lambda: "Copied" in admin.topic_names(), "the route is known")
        queue = MessageQueue(broker_name=OLD, queue_id=0, topic="Copied")
        admin.put_group(master, SubscriptionGroupConfig(group_name="Reader"))
        for number in range(5):
            admin.send_to(NewMessage(topic="Copied", body=b"%d" % number), Place(queue, master))
        admin.commit_offset(master, "Reader", queue, 3)

        def copied() -> bool:
            if "Copied" not in admin.all_topics(slave.broker_addr).topic_config_table:
                return False
            stats = admin.broker_topic_stats(slave.broker_addr, "Copied").offsets
            return stats[queue].max_offset == 5 and admin.has_offsets(
                slave.broker_addr, "Reader", "Copied"
            )

        until(copied, "the slave has it all", 200)
