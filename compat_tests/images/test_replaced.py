"""Whoever runs RocketMQ's official image changes its name, and nothing else.

Commands, mounts, variables and working folders are those of its compose files (4.x and 5.x), its start scripts, its
chart, its operator, and of container classes for tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from compat_tests.images.engine import HOME, VERSION, Container, Engine, folder
from compat_tests.scenarios.driver import JAVA_4, JAVA_5, Driver, play
from tests.patience import until
from trimq.admin import BlockingAdminClient, NewMessage

CONF = "brokerClusterName = DefaultCluster\nbrokerName = broker-a\nbrokerId = 0\nbrokerRole = ASYNC_MASTER\n"


@dataclass
class Where:
    """What a driver of an official client asks."""

    namesrv_addr: str
    broker_addr: str

    def restart(self) -> None:
        raise AssertionError("these scenarios leave the servers alone")

    kill9 = restart_namesrv = restart


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def send_and_receive(namesrv: str, topic: str = "Images") -> None:
    """By our client."""
    with BlockingAdminClient(namesrv) as admin:
        sent = admin.send(NewMessage(topic=topic, body=b"there and back"))
        place = admin.place_of(topic, sent.queue.broker_name, sent.queue.queue_id)
        assert [one.body for one in admin.pull(place, 0).messages] == [b"there and back"]


def listed(namesrv: str, *names: str) -> None:
    """Until the NameServer lists just these brokers."""

    def seen() -> bool:
        with BlockingAdminClient(namesrv) as admin:
            return {*admin.cluster_info().broker_addr_table} == {*names}

    until(seen, excused=(Exception,))


@dataclass
class Composed:
    """The services of the official compose file, but for the proxy."""

    namesrv: Container
    brokers: list[Container]
    data: Path


def compose(engine: Engine, data: Path) -> Composed:
    logs = f"{HOME}/logs"
    namesrv = engine.run(
        "namesrv",
        *("-v", f"{folder(data / 'namesrv/logs')}:{logs}"),
        *("-p", "9876"),
        command=("sh", "mqnamesrv"),
    )
    brokers = []
    inner = f"/opt/rocketmq-{VERSION}/conf/broker.conf"
    for name in ("broker-a", "broker-b"):
        conf = written(data / name / "conf/broker.conf", CONF.replace("broker-a", name))
        brokers.append(
            engine.run(
                name,
                *("-e", "NAMESRV_ADDR=namesrv:9876"),
                *("-v", f"{folder(data / name / 'logs')}:{logs}"),
                *("-v", f"{folder(data / name / 'store')}:{HOME}/store"),
                *("-v", f"{conf}:{inner}"),
                command=("sh", "mqbroker", "-c", inner),
            )
        )
    return Composed(namesrv, brokers, data)


@pytest.fixture
def composed(engine: Engine, tmp_path: Path) -> Composed:
    found = compose(engine, tmp_path)
    for one in (found.namesrv, *found.brokers):
        one.wait_until_well()
    return found


def test_the_compose_files(composed: Composed) -> None:
    namesrv = f"{composed.namesrv.address}:9876"
    listed(namesrv, "broker-a", "broker-b")
    send_and_receive(namesrv)
    assert (composed.data / "broker-a/store/commitlog").is_dir()
    tool = composed.brokers[0].execute("sh", "mqadmin", "clusterList", "-n", "namesrv:9876")
    assert "broker-b" in tool.stdout, tool
    # A broker that ends in order is gone from the NameServer, and its store is clean.
    assert composed.brokers[1].stop() == 0
    assert not (composed.data / "broker-b/store/abort").exists()
    listed(namesrv, "broker-a")


@pytest.mark.parametrize("driver", [JAVA_5, JAVA_4], ids=lambda one: one.name)
def test_official_clients(composed: Composed, driver: Driver, tmp_path: Path) -> None:
    where = Where(f"{composed.namesrv.address}:9876", f"{composed.brokers[0].address}:10911")
    composed.brokers[1].stop()
    names = ("send_sync", "push_messages", "pull_statuses", "query_by_key")
    outcomes = play(driver, where, names, tmp_path / "driver")  # type: ignore[arg-type]
    assert [one.error for one in outcomes.values()] == [None] * len(names)
    assert all(one.outcome for one in outcomes.values())


def test_the_service_of_the_proxy(composed: Composed, engine: Engine, tmp_path: Path) -> None:
    """As the official compose file has it, with the file that is mounted there."""
    inner = f"/opt/rocketmq-{VERSION}/conf/rmq-proxy.json"
    conf = written(tmp_path / "rmq-proxy.json", '{"rocketMQClusterName": "DefaultCluster"}')
    proxy = engine.run(
        "proxy",
        *("-e", f"NAMESRV_ADDR={composed.namesrv.address}:9876", "-v", f"{conf}:{inner}"),
        command=("sh", "mqproxy", "-pc", inner),
    )
    proxy.wait_until_well()
    assert proxy.stop() == 0


@pytest.mark.parametrize("version", ["4.9.4", "5.3.2"])
def test_folders_of_other_versions(engine: Engine, tmp_path: Path, version: str) -> None:
    """As those have them who have pinned one: a mounted file, the working folder, a relative path."""
    home = f"{HOME}/rocketmq-{version}"
    conf = written(tmp_path / "broker.conf", CONF)
    namesrv = engine.run("namesrv", "-w", f"{home}/bin", command=("sh", "mqnamesrv"))
    broker = engine.run(
        "broker",
        *("-w", f"{home}/bin", "-v", f"{conf}:{home}/conf/broker.conf"),
        command=("sh", "mqbroker", "-n", "namesrv:9876", "-c", "../conf/broker.conf"),
    )
    broker.wait_until_well()
    listed(f"{namesrv.address}:9876", "broker-a")


CHART = (
    "brokerClusterName=DefaultCluster\nbrokerName=rocketmq-broker-0\nenableNameServerAddressResolve=true\n"
    "traceOn=true\nautoCreateTopicEnable=true\nautoCreateSubscriptionGroup=true\n"
    "enableIncrementalTopicCreation=true\ngenerateConfigForScaleOutEnable=false\n"
    "enableNotifyAfterPopOrderLockRelease=true\nautoMessageVersionOnTopicLen=true\n"
    "enablePopBufferMerge=true\nenableConsumePopRetryTopic=true\nenableConsumePullRetryTopic=true\n"
    "enableSkipLongWaitAck=true\nflushDiskType=SYNC_FLUSH\nenablePropertyFilter=true\n"
    "transactionCheckMaxTimeInMs=14400000\ntransactionCheckInterval=60000\ntimerWheelEnable=true\n"
    "timerMaxDelaySec=86400\nwaitTimeMillsInSendQueue=900\nmaxMessageSize=5242880\nlitePullMessageEnable=true\n"
)


def test_the_chart(engine: Engine, tmp_path: Path) -> None:
    """Its containers' command is a shell's, with a file of a config map."""
    written(tmp_path / "config/namesrv.p", "listenPort=9876\ndefaultThreadPoolNums=4\n")
    written(tmp_path / "conf/rocketmq-broker-0", CHART)
    namesrv = engine.run(
        "rocketmq-nameserver",
        *("--entrypoint", "/bin/sh", "-e", "JAVA_HEAP_SIZE=1792M"),
        *("-v", f"{tmp_path / 'config'}:{HOME}/config:ro"),
        *("-v", f"{folder(tmp_path / 'logs')}:{HOME}/logs"),
        command=("-c", f"./mqnamesrv -c {HOME}/config/namesrv.p"),
    )
    broker = engine.run(
        "rocketmq-broker-0",
        *("--entrypoint", "/bin/sh", "-e", "POD_NAME=rocketmq-broker-0"),
        *("-e", "HEAP_OPTS= -Xms4g -Xmx4g ", "-e", "NAMESRV_ADDR=rocketmq-nameserver:9876"),
        *("-v", f"{tmp_path / 'conf'}:{HOME}/conf:ro"),
        *("-v", f"{folder(tmp_path / 'storage')}:/root/store"),
        command=("-c", f"./mqbroker -c {HOME}/conf/rocketmq-broker-0"),
    )
    broker.wait_until_well()
    assert "there is no JVM here: what HEAP_OPTS say" in broker.log
    send_and_receive(f"{namesrv.address}:9876")
    # A shell as the first process of a container hands nothing on: the command has taken its place.
    assert broker.stop() == 0
    assert namesrv.stop() == 0


def test_the_operators_pods(engine: Engine, tmp_path: Path) -> None:
    """It gives no command, names the broker by variables, and mounts the store below /root."""
    conf = written(tmp_path / "broker-common.conf", "brokerRole=ASYNC_MASTER\ndeleteWhen=04\n")
    namesrv = engine.run("name-service", "-e", "NODE_ROLE=nameserver")
    broker = engine.run(
        "broker",
        *("-e", "NAMESRV_ADDR=name-service:9876", "-e", "BROKER_NAME=broker-0"),
        *("-e", "BROKER_ID=0", "-e", "BROKER_CLUSTER_NAME=broker", "-e", "BROKER_MEM= -Xms2g "),
        *("-v", f"{conf}:/root/rocketmq/broker/conf/broker-common.conf"),
        *("-v", f"{folder(tmp_path / 'store')}:/root/store"),
    )
    broker.wait_until_well()
    namesrv.wait_until_well()
    listed(f"{namesrv.address}:9876", "broker-0")
    assert (tmp_path / "store/commitlog").is_dir()


def test_a_container_class_of_tests(engine: Engine) -> None:
    """Both in one container; the mapped port is set when it is known."""
    both = engine.run(
        "both",
        *("-p", "127.0.0.1::9876", "-p", "127.0.0.1::10911"),
        command=(
            *("sh", "-c"),
            "#!/bin/bash\n./mqnamesrv &\n./mqproxy &\n./mqbroker -n localhost:9876",
        ),
    )
    both.wait_until_well()
    port = both.port(10911)
    line = " && ".join(
        f"./mqadmin updateBrokerConfig -b localhost:10911 -k {key} -v {value}"
        for key, value in (
            ("brokerIP1", "127.0.0.1"),
            ("listenPort", port),
            ("brokerPermission", 6),
        )
    )
    done = both.execute("/bin/sh", "-c", line)
    assert done.returncode == 0, done
    namesrv = f"127.0.0.1:{both.port(9876)}"
    with BlockingAdminClient(namesrv) as admin:
        (broker,) = admin.cluster_info().broker_addr_table.values()
    assert broker.broker_addrs == {0: f"127.0.0.1:{port}"}
    send_and_receive(namesrv)
