"""RocketMQ's commands, flags, files and environments as words of `trimq`."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimq.base.user_ids import user_ids
from trimq.commands.original import servers
from trimq.commands.original.commands import COMMANDS
from trimq.commands.original.launch import Launch, NotLaunched
from trimq.commands.original.printed import lines

HOME = {"HOME": "/home/rocketmq"}
NAMED = {**HOME, "NAMESRV_ADDR": "namesrv:9876"}
BROKER = ("server", "--namesrv", "namesrv:9876", "--listen", "0.0.0.0:10911")
STORE = ("--store", "/home/rocketmq/store")


def conf(folder: Path, text: str, name: str = "broker.conf") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def launched(command: str, line: str = "", /, **environment: str) -> Launch:
    return COMMANDS[command](line.split(), environment)


def test_a_name_server_listens_everywhere() -> None:
    assert launched("mqnamesrv", **HOME).words == ("namesrv", "--listen", "0.0.0.0:9876")


def test_a_name_server_with_a_file(tmp_path: Path) -> None:
    path = conf(tmp_path, "listenPort=9877\nbindAddress=::1\n")
    words = launched("mqnamesrv", f"-c {path} -n other:9876", **HOME).words
    assert words == ("namesrv", "--listen", "[::1]:9877", "--config", str(path))


def test_a_name_servers_home_is_the_jvms() -> None:
    words = launched("mqnamesrv", JAVA_OPT="-Duser.home=/opt", **HOME).words
    assert words[3:] == (
        *("--set", "kvConfigPath=/opt/namesrv/kvConfig.json"),
        *("--set", "configStorePath=/opt/namesrv/namesrv.properties"),
    )


@pytest.mark.parametrize(
    "line",
    [
        "-n namesrv:9876",
        "-nnamesrv:9876",
        "--namesrvAddr=namesrv:9876",
        "-namesrvAddr namesrv:9876",
    ],
)
def test_a_broker_with_its_name_server(line: str) -> None:
    assert launched("mqbroker", line, **HOME).words == (*BROKER, *STORE)


def test_a_brokers_file_says_where_it_is(tmp_path: Path) -> None:
    path = conf(tmp_path, "listenPort = 10921\nstorePathRootDir=/data\nnamesrvAddr=a:1;b:2\n")
    assert launched("mqbroker", f"-c {path}", **NAMED).words == (
        *("server", "--namesrv", "a:1;b:2", "--listen", "0.0.0.0:10921"),
        *("--config", str(path)),
    )
    assert launched("mqbroker", f"--configFile {path} -n c:3", **NAMED).words[2] == "c:3"


def test_a_port_that_is_none_is_left_to_the_server(tmp_path: Path) -> None:
    path = conf(tmp_path, "listenPort=many\n")
    assert "--listen" not in launched("mqbroker", f"-c {path}", **NAMED).words


def test_the_environment_says_who_a_broker_is_where_the_file_does_not(tmp_path: Path) -> None:
    path = conf(tmp_path, "brokerName=of-the-file\n")
    pod = {"POD_IP": "192.0.2.7", "POD_NAME": "broker-0", "BROKER_CLUSTER_NAME": "Cluster"}
    words = launched("mqbroker", f"-c {path}", **NAMED, **pod).words
    assert words[-4:] == ("--set", "brokerClusterName=Cluster", "--set", "brokerIP1=192.0.2.7")
    words = launched("mqbroker", BROKER_NAME="b", BROKER_ID="0", **NAMED, **pod).words
    assert "brokerName=b" in words
    assert "brokerId=0" in words
    assert "brokerName=broker-0" in launched("mqbroker", **NAMED, **pod).words


def test_what_is_said_to_a_jvm() -> None:
    done = launched(
        "mqbroker",
        HEAP_OPTS="-Xms2g",
        MAX_HEAP_SIZE="256M",
        JAVA_OPT=" -Duser.home=/opt -Dtls.server.mode=permissive",
        JAVA_OPT_EXT="-Xmx512m -Drocketmq.namesrv.addr=ext:1 -Dtls.server.mode=enforcing",
        **NAMED,
    )
    assert done.words == (
        *("server", "--namesrv", "ext:1", "--listen", "0.0.0.0:10911"),
        *("--store", "/opt/store", "--set", "tls.server.mode=enforcing"),
    )
    (line,) = done.said
    assert "HEAP_OPTS, JAVA_OPT_EXT, MAX_HEAP_SIZE" in line


@pytest.mark.parametrize(
    ("command", "line", "sentence", "code"),
    [
        ("mqbroker", "", "no NameServer is named", 2),
        ("mqbroker", "-n x:1 -c /no/such.conf", "cannot read /no/such.conf: No such file", 2),
        ("mqbroker", "-n x:1 -x", "mqbroker: unrecognized arguments: -x", 2),
        ("mqnamesrv", "-m", "mqnamesrv: unrecognized arguments: -m", 2),
        ("mqproxy", "-n x:1 -pc /no/such.json", "cannot read /no/such.json: No such file", 2),
        ("mqproxy", "-n x:1 -c x", "mqproxy: unrecognized arguments: -c", 2),
        ("mqbroker", "-n x:1 --enable-proxy -pc /no.json", "cannot read /no.json: No such", 2),
        ("mqcontroller", "-c x", "no controller", 1),
        ("mqbrokercontainer", "", "no broker container", 1),
        ("tools.sh", "org.apache.rocketmq.example.quickstart.Producer", "mqadmin sendMessage", 1),
        ("tools.sh", "", "there is no JVM here", 1),
        ("runbroker.sh", "-Da=b org.example.Other", "org.example.Other: there is no JVM", 1),
    ],
)
def test_what_cannot_be_run_is_one_sentence(
    command: str, line: str, sentence: str, code: int
) -> None:
    with pytest.raises(NotLaunched) as raised:
        launched(command, line, **HOME)
    assert sentence in str(raised.value)
    assert raised.value.code == code


def test_a_file_that_cannot_be_read_names_the_user() -> None:
    with pytest.raises(NotLaunched, match=user_ids()):
        launched("mqnamesrv", "-c /no/such.conf")


@pytest.mark.parametrize(
    ("java_class", "command"),
    [
        ("broker.BrokerStartup", "mqbroker"),
        ("namesrv.NamesrvStartup", "mqnamesrv"),
        ("tools.command.MQAdminStartup", "mqadmin"),
    ],
)
def test_a_java_class_is_a_command(java_class: str, command: str) -> None:
    done = launched("runbroker.sh", f"-Xmx1g org.apache.rocketmq.{java_class} -n x:1", **HOME)
    assert done == launched(command, "-n x:1", **HOME)


def test_the_entry_point_without_a_command() -> None:
    done = launched("docker-entrypoint.sh", **HOME)
    ours = ("--listen", "0.0.0.0:10911", "--namesrv-listen", "0.0.0.0:9876")
    assert done.words == ("server", *ours, *STORE)
    done = launched("docker-entrypoint.sh", "--listen 0.0.0.0:1 --store /data", **NAMED)
    given = ("--namesrv", "namesrv:9876", "--listen", "0.0.0.0:1", "--store", "/data")
    assert done.words == ("server", *given)
    done = launched("docker-entrypoint.sh", "--namesrv x:1", **HOME)
    assert done.words == ("server", "--listen", "0.0.0.0:10911", *STORE, "--namesrv", "x:1")


def test_the_entry_points_roles() -> None:
    named = launched("docker-entrypoint.sh", "nameserver -n x:1", **HOME)
    assert named == launched("mqnamesrv", **HOME)
    assert launched("docker-entrypoint.sh", NODE_ROLE="nameserver", **HOME) == named
    broker = launched("docker-entrypoint.sh", "dummy -n x:1", NODE_ROLE="broker", **HOME)
    assert broker == launched("mqbroker", "-n x:1", **HOME)
    with pytest.raises(NotLaunched, match="no controller"):
        launched("docker-entrypoint.sh", "controller", **HOME)


@pytest.mark.parametrize("command", ["docker-entrypoint.sh", "brokerStart.sh"])
def test_the_operators_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Its environment counts more than the file that all its brokers share."""
    (tmp_path / "conf").mkdir()
    path = conf(tmp_path / "conf", "brokerRole=ASYNC_MASTER\nbrokerId=5\n", "broker-common.conf")
    monkeypatch.setattr(servers, "_OPERATORS_STORE", tmp_path)
    said = {"ROCKETMQ_HOME": str(tmp_path), "BROKER_CLUSTER_NAME": "C", "POD_IP": "192.0.2.7"}
    done = launched(command, BROKER_NAME="b-0", BROKER_ID="1", **said, **NAMED)
    assert done.words == (
        *(*BROKER, "--config", str(path), "--store", str(tmp_path)),
        *("--set", "brokerClusterName=C", "--set", "brokerName=b-0", "--set", "brokerId=1"),
        *("--set", "brokerIP1=192.0.2.7", "--set", "brokerRole=SLAVE"),
    )
    with_controller = launched(
        command, BROKER_NAME="b", BROKER_ID="0", enableControllerMode="true", **said, **NAMED
    )
    assert "enableControllerMode=true" in with_controller.words


def printed(command: str, line: str) -> list[str]:
    done = launched(command, line, **HOME)
    assert done.module == "trimq.commands.original.printed"
    kind, only, *words = done.words
    return list(lines(kind, only, words))


def test_the_settings_are_printed(tmp_path: Path) -> None:
    path = conf(tmp_path, "brokerName=broker-a\ntls.server.keyPassword=secret\n")
    everything = printed("mqbroker", f"-n 127.0.0.1:1 -c {path} -p")
    texts = [line.partition(" INFO main - ")[2] for line in everything]
    assert {"brokerName=broker-a", "namesrvAddr=127.0.0.1:1", "listenPort=10911"} <= {*texts}
    assert {"bindAddress=0.0.0.0", "tls.server.keyPassword=******"} <= {*texts}
    assert "storePathRootDir=/home/rocketmq/store" in texts
    important = printed("mqbroker", f"-n 127.0.0.1:1 -c {path} -m")
    keys = [line.partition(" - ")[2].partition("=")[0] for line in important]
    assert {*keys} == {
        *("brokerClusterName", "brokerName", "brokerId", "namesrvAddr", "listenPort", "brokerIP1"),
        *("autoCreateTopicEnable", "autoCreateSubscriptionGroup", "msgTraceTopicName"),
        *("traceTopicEnable", "rejectTransactionMessage", "transactionTimeOut"),
        *("transactionCheckMax", "transactionCheckInterval"),
    }


def test_a_name_servers_settings_are_printed() -> None:
    texts = [line.partition(" - ")[2] for line in printed("mqnamesrv", "-p")]
    assert {"listenPort=9876", "bindAddress=0.0.0.0", "orderMessageEnable=false"} <= {*texts}
