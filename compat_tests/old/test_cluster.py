"""One cluster of brokers of every line and ours, each registered with a NameServer of every line and ours.

Live only, as all of this folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from compat_tests.mqadmin.tools import OurTool
from compat_tests.old.servers import OldBroker, is_fetched, old_name_server, our_name_server
from compat_tests.old.tools import OldTool
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.real import wait_until_known
from compat_tests.servers.server import Options
from compat_tests.servers.versions import VERSIONS
from tests.patience import until
from trimq.admin.blocking import BlockingAdminClient

# The last of 4.x whose servers are published, one between, and what TriMQ is compared with.
LINES: Final = ("4.9.7", "5.1.4", *VERSIONS)
OURS: Final = "trimq"
TOPIC: Final = "Everywhere"
MESSAGES: Final = 40


class Cluster:
    """`name_servers` and `brokers` are addresses, by version."""

    def __init__(self, home: Path, stack: ExitStack) -> None:
        self.name_servers: dict[str, str] = {}
        self.brokers: dict[str, str] = {}
        for version in LINES:
            server = old_name_server(version, home / version)
            stack.callback(server.kill)
            server.start()
            self.name_servers[version] = server.addr
        ours = our_name_server(home)
        stack.callback(ours.stop)
        self.name_servers[OURS] = ours.addr
        everyone = ";".join(self.name_servers.values())
        for version in LINES:
            broker = OldBroker(version, home / version, everyone, {"brokerName": version})
            stack.callback(broker.kill)
            broker.start()
            self.brokers[version] = broker.addr
        own = TrimqServer(home / OURS, Options({"brokerName": OURS}), namesrv=everyone)
        stack.callback(own.kill)
        own.start()
        self.brokers[OURS] = own.broker_addr


@pytest.fixture(scope="module")
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    if not request.config.getoption("--live"):
        pytest.skip("nine JVMs: with --live only")
    for version in LINES:
        if not is_fetched(version):
            pytest.skip(
                f"no jars of RocketMQ {version}: python -m compat_tests.servers.artifacts --old"
            )
    with ExitStack() as stack:
        yield Cluster(tmp_path_factory.mktemp("cluster"), stack)


@pytest.fixture(scope="module")
def topic(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """On every broker, made by our tool, and known to every NameServer."""
    tool = OurTool(tmp_path_factory.mktemp("tool"))
    try:
        for version, addr in cluster.brokers.items():
            made = tool.run(
                cluster.name_servers[OURS], ("updateTopic", "-b", addr, "-t", TOPIC, "-w", "2")
            )
            assert made.code == 0, f"{version}: {made.err}"
    finally:
        tool.close()
    for version, addr in cluster.name_servers.items():
        with BlockingAdminClient(addr) as admin:
            until(
                lambda admin=admin: (
                    TOPIC in admin.topic_names()
                    and len(admin.topic_route(TOPIC).broker_datas) == len(cluster.brokers)
                ),
                f"the NameServer of {version} knows it from every broker",
                120,
            )
    return TOPIC


def test_every_name_server_knows_every_broker(cluster: Cluster) -> None:
    for addr in cluster.name_servers.values():
        wait_until_known(addr, list(cluster.brokers))


def test_every_name_server_tells_the_same_route(cluster: Cluster, topic: str) -> None:
    routes = {}
    for version, addr in cluster.name_servers.items():
        with BlockingAdminClient(addr) as admin:
            route = admin.topic_route(topic)
        brokers = {one.broker_name: dict(one.broker_addrs) for one in route.broker_datas}
        queues = {
            one.broker_name: (one.read_queue_nums, one.write_queue_nums)
            for one in route.queue_datas
        }
        routes[version] = brokers, queues
    assert all(route == routes[OURS] for route in routes.values()), routes
    brokers, _ = routes[OURS]
    assert {name: addrs[0] for name, addrs in brokers.items()} == cluster.brokers


@pytest.mark.parametrize("version", LINES)
def test_clients_of_every_line_have_all_their_messages(
    cluster: Cluster, topic: str, tmp_path: Path, version: str
) -> None:
    """Each by the NameServer of another line."""
    lines = [*LINES, OURS]
    namesrv = cluster.name_servers[lines[(lines.index(version) + 1) % len(lines)]]
    before = _counts(cluster)
    tool = OldTool(version, tmp_path)
    try:
        said = tool.run("client", namesrv, topic, f"G{version.replace('.', '')}", str(MESSAGES))
    finally:
        tool.close()
    assert f"got {MESSAGES} of {MESSAGES}" in said
    after = _counts(cluster)
    # Its producer goes round all queues, so every broker has some.
    assert all(after[name] > before[name] for name in cluster.brokers), (before, after)


def _counts(cluster: Cluster) -> dict[str, int]:
    counts = {}
    with BlockingAdminClient(cluster.name_servers[OURS]) as admin:
        for name, addr in cluster.brokers.items():
            stats = admin.broker_topic_stats(addr, TOPIC).offsets
            counts[name] = sum(one.max_offset for one in stats.values())
    return counts
