"""Every key of RocketMQ 5.5.1 is honoured, harmless or refused; so are its own configuration files."""

from dataclasses import MISSING
from pathlib import Path
from typing import NamedTuple

import pytest

from docs.settings_page import CONFIGS
from trimq.settings.options import NamesrvOptions, ServerOptions, namesrv_plan, server_plan
from trimq.settings.parsing import Setting, SettingsError, settings_of
from trimq.settings.rocketmq import unheeded

VECTOR = Path(__file__).parents[2] / "vectors" / "settings.tsv"
# BrokerStartup and NamesrvStartup set them, the machine decides, or -D does.
NOT_BY_CLASS = {"listenPort", "brokerName", "brokerIP1", "brokerIP2"}
SYSTEM_PROPERTIES = {"com.rocketmq.remoting.frameMaxLength", "rocketmq.zone", "rocketmq.zone.mode"}
# BrokerContainerConfig: not a file of a broker or NameServer.
CONTAINERS = {"brokerConfigPaths"}
JAVA_TYPES = {bool: "boolean", float: "double"}


class Recorded(NamedTuple):
    owner: str
    key: str
    type: str
    default: str


def recorded() -> list[Recorded]:
    lines = VECTOR.read_text().splitlines()[1:]
    return [Recorded(*line.split("\t")) for line in lines]


def heeded() -> list[Setting]:
    return [one for _, config in CONFIGS for one in settings_of(config).values()]


# Fields without a setter: nobody can set them there either, but people have them in their files.
UNSETTABLE = {"timerCheckMetricsWhen", "timerEnableDisruptor"}
# Those of 5.5.0 that 5.5.1 does not know any more, and passes over: people have them in their files.
GONE = {"enableLiteEventMode"}


def test_the_table_has_every_key_once() -> None:
    theirs = {one.key for one in recorded()} | CONTAINERS | SYSTEM_PROPERTIES | UNSETTABLE | GONE
    ours = {one.key for one in heeded() if not one.declaration.own}
    assert ours | unheeded().keys() == theirs
    assert not ours & unheeded().keys()
    assert not {one.key for one in heeded() if one.declaration.own} & theirs


def test_types_are_rocketmqs() -> None:
    types: dict[str, set[str]] = {}
    for one in recorded():
        if not one.key.startswith("tls."):
            types.setdefault(one.key, set()).add(one.type)
    for setting in heeded():
        whole = "long" if setting.declaration.long else "int"
        mine = whole if setting.kind is int else JAVA_TYPES.get(setting.kind, "String")
        assert mine in types.get(setting.key, {mine}), setting.key


def test_defaults_are_rocketmqs_or_name_them() -> None:
    defaults: dict[str, set[str]] = {}
    for one in recorded():
        if one.owner != "TlsSystemConfig" and one.key not in NOT_BY_CLASS:
            defaults.setdefault(one.key, set()).add(one.default.replace("/home/user", "$HOME"))
    for setting in heeded():
        if setting.key not in defaults or setting.field.default is MISSING:
            continue
        own = setting.text(setting.field.default) or "\\N"
        theirs = setting.declaration.rocketmq_default
        assert (own if theirs is None else theirs) in defaults[setting.key], setting.key
        assert theirs != own, setting.key
        assert (theirs is None) == (setting.declaration.why is None), setting.key


def refusal(**settings: str) -> str:
    with pytest.raises(SettingsError) as told:
        server_plan(ServerOptions(store=Path("data"), settings=settings))
    return str(told.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("authenticationEnabled", "true"),
        ("authorizationEnabled", "TRUE"),
        ("aclEnable", "true"),
        ("enableControllerMode", "true"),
        ("enableDLegerCommitLog", "true"),
        ("storeType", "defaultRocksDB"),
        ("configManagerVersion", "v2"),
        ("timerRocksDBEnable", "true"),
        ("fetchNamesrvAddrByAddressServer", "true"),
        ("metricsExporterType", "PROM"),
        ("messageStorePlugIn", "org.apache.rocketmq.tieredstore.TieredMessageStore"),
    ],
)
def test_what_promises_too_much_is_refused(key: str, value: str) -> None:
    sentence = refusal(**{key: value})
    assert sentence.startswith(f"{key}={value}: ")
    # What to do.
    assert any(word in sentence for word in ("set ", "leave it ", "say ", "keep "))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("authenticationEnabled", "false"),
        ("aclEnable", "no"),
        ("enableControllerMode", ""),
        ("brokerRole", "SYNC_MASTER"),
        ("inSyncReplicas", "1"),
        ("inSyncReplicas", "2"),
        ("minInSyncReplicas", "2"),
        ("storeType", "default"),
        ("timerWheelEnable", "false"),
        ("rejectTransactionMessage", "false"),
        ("metricsExporterType", "DISABLE"),
        ("sendMessageThreadPoolNums", "16"),
        ("dLegerGroup", "broker-a"),
    ],
)
def test_what_promises_nothing_starts(
    key: str, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    server_plan(ServerOptions(store=Path("data"), settings={key: value}))
    assert [one for one in caplog.records if one.levelname != "INFO"] == []


def test_everything_that_is_refused_is_named_at_once() -> None:
    sentences = refusal(aclEnable="true", allAckInSyncStateSet="true", enableControllerMode="true")
    assert [part.split("=")[0] for part in sentences.split("; ") if "=" in part.split(":")[0]] == [
        "aclEnable",
        "allAckInSyncStateSet",
        "enableControllerMode",
    ]


def test_three_kinds_of_remarks(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    settings = {
        "brokrName": "a",
        "sendMessageThreadPoolNums": "4",
        "useReentrantLockWhenPutMessage": "true",
        "transientStorePoolEnable": "true",
    }
    server_plan(ServerOptions(store=Path("data"), namesrv="127.0.0.1:9876", settings=settings))
    said = [(one.levelname, one.getMessage()) for one in caplog.records]
    assert said == [
        ("WARNING", "unknown setting 'brokrName' is ignored: TriMQ does not have it; did you mean"
         " 'brokerName'?"),
        ("INFO", "settings without effect here, docs/settings.md says why:"
         " keys=sendMessageThreadPoolNums,useReentrantLockWhenPutMessage,transientStorePoolEnable"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("key", "text", "there"),
    [
        ("autoCreateTopicEnable", "true ", "false"),
        ("fileReservedTime", "48 ", "its default, 72"),
        ("fileReservedTime", "48\t", "its default, 72"),
        ("mappedFileSizeCommitLog", "1048576 ", "its default, 1073741824"),
        ("autoCreateTopicEnable", "false ", None),
        ("autoCreateTopicEnable", "true", None),
        ("brokerName", "broker-a ", None),
        ("maxConnectionsPerAddress", "7 ", None),
    ],
)
def test_blanks_that_change_what_rocketmq_does_are_warned_of(
    tmp_path: Path, key: str, text: str, there: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "broker.conf"
    file.write_text(f"{key} = {text}\nstorePathRootDir={tmp_path}\n")
    server_plan(ServerOptions(config=file))
    said = [one.getMessage() for one in caplog.records if "blanks" in one.getMessage()]
    if there is None:
        assert said == []
    else:
        (warning,) = said
        assert warning.startswith(f"{key}='{text}': read as {text.strip()}")
        assert f"RocketMQ takes {there}, because" in warning


@pytest.mark.parametrize(("text", "level"), [("true", "WARNING"), ("false", "INFO")])
def test_pop_in_rocksdb_is_warned_of(
    caplog: pytest.LogCaptureFixture, text: str, level: str
) -> None:
    caplog.set_level("INFO")
    settings = {"popConsumerKVServiceEnable": text}
    server_plan(ServerOptions(store=Path("data"), namesrv="127.0.0.1:9876", settings=settings))
    (said,) = caplog.records
    assert said.levelname == level
    assert "popConsumerKVServiceEnable" in said.getMessage()


def test_a_queue_of_its_own_for_what_comes_again_is_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    settings = {"useSeparateRetryQueue": "true"}
    server_plan(ServerOptions(store=Path("data"), namesrv="127.0.0.1:9876", settings=settings))
    (said,) = caplog.records
    assert said.levelname == "WARNING"
    assert "useSeparateRetryQueue" in said.getMessage()
    assert "queue 0 of its retry topic" in said.getMessage()


def test_giving_up_what_cannot_be_put_back_has_an_effect(caplog: pytest.LogCaptureFixture) -> None:
    settings = {"skipWhenCKRePutReachMaxTimes": "true"}
    options = ServerOptions(store=Path("data"), namesrv="127.0.0.1:9876", settings=settings)
    assert server_plan(options).broker.skip_when_ck_re_put_reach_max_times
    assert caplog.messages == []


def test_pop_settings_without_effect(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    keys = "enablePopBufferMerge,appendAckAsync,appendCkAsync,popConsumerFSServiceInit"
    settings = dict.fromkeys(keys.split(","), "true")
    server_plan(ServerOptions(store=Path("data"), namesrv="127.0.0.1:9876", settings=settings))
    assert caplog.messages == [
        f"settings without effect here, docs/settings.md says why: keys={keys}"
    ]


def test_a_name_servers_keys_count_where_one_is_embedded(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    settings = {"supportActingMaster": "true"}
    plan = server_plan(ServerOptions(store=Path("data"), settings=settings))
    assert plan.embedded is not None
    assert plan.embedded.namesrv.support_acting_master
    assert caplog.messages == []
    server_plan(ServerOptions(store=Path("data"), namesrv="127.0.0.1:9876", settings=settings))
    assert "keys=supportActingMaster" in caplog.text


# --- the files of RocketMQ's own distribution, in its words of key and value

_TWO_MASTERS = (
    "brokerClusterName=DefaultCluster brokerName=broker-a deleteWhen=04 fileReservedTime=48"
)
_MASTER = f"{_TWO_MASTERS} brokerId=0 flushDiskType=ASYNC_FLUSH"
_IN_CONTAINER = """
    brokerClusterName=DefaultCluster brokerName=broker-a flushDiskType=ASYNC_FLUSH
    storePathRootDir=/root/broker-a/store storePathCommitLog=/root/broker-a/store/commitlog
    listenPort=10911 haListenPort=10912 totalReplicas=2 inSyncReplicas=2 minInSyncReplicas=1
    enableAutoInSyncReplicas=true slaveReadEnable=true brokerHeartbeatInterval=1000
    brokerNotActiveTimeoutMillis=5000 sendHeartbeatTimeoutMillis=1000 enableSlaveActingMaster=true
"""
STARTS = {
    "broker.conf": f"{_MASTER} brokerRole=ASYNC_MASTER",
    "2m-noslave/broker-a.properties": f"{_MASTER} brokerRole=ASYNC_MASTER",
    "2m-2s-async/broker-a.properties": f"{_MASTER} brokerRole=ASYNC_MASTER",
    "2m-2s-sync/broker-a.properties": f"{_MASTER} brokerRole=SYNC_MASTER",
    "2m-2s-async/broker-a-s.properties": (
        f"{_TWO_MASTERS} brokerId=1 brokerRole=SLAVE flushDiskType=ASYNC_FLUSH"
    ),
}
REFUSED = {
    "dledger/broker-n0.conf": (
        """
        brokerClusterName=RaftCluster brokerName=RaftNode00 listenPort=30911
        namesrvAddr=127.0.0.1:9876 storePathRootDir=/tmp/rmqstore/node00
        storePathCommitLog=/tmp/rmqstore/node00/commitlog enableDLegerCommitLog=true
        dLegerGroup=RaftNode00 dLegerPeers=n0-127.0.0.1:40911;n1-127.0.0.1:40912
        dLegerSelfId=n0 sendMessageThreadPoolNums=16
        """,
        ["enableDLegerCommitLog"],
    ),
    "container/broker-a-in-container1.conf": (
        f"{_IN_CONTAINER} brokerId=0 brokerRole=SYNC_MASTER",
        ["enableSlaveActingMaster"],
    ),
    "container/broker-a-in-container2.conf": (
        f"{_IN_CONTAINER} brokerId=1 brokerRole=SLAVE",
        ["enableSlaveActingMaster"],
    ),
    "container/broker-container1.conf": (
        """
        listenPort=10811 namesrvAddr=192.0.2.49:9876 fetchNamesrvAddrByAddressServer=false
        brokerConfigPaths=/root/broker-a-in-container1.conf:/root/broker-b-in-container1.conf
        """,
        ["brokerConfigPaths"],
    ),
    "controller/quick-start/broker-n0.conf": (
        """
        brokerClusterName=DefaultCluster brokerName=broker-a brokerId=-1 brokerRole=SLAVE
        deleteWhen=04 fileReservedTime=48 enableControllerMode=true controllerAddr=127.0.0.1:9878
        namesrvAddr=127.0.0.1:9876 allAckInSyncStateSet=true listenPort=30911
        storePathRootDir=/tmp/rmqstore/node00 storePathCommitLog=/tmp/rmqstore/node00/commitlog
        """,
        ["enableControllerMode", "allAckInSyncStateSet"],
    ),
}
_CONTROLLER = """
    controllerDLegerGroup=group1 controllerDLegerPeers=n0-127.0.0.1:9878;n1-127.0.0.1:9868
    controllerDLegerSelfId=n0
"""
_ITS_KEYS = ["controllerDLegerGroup", "controllerDLegerPeers", "controllerDLegerSelfId"]
NAMESRV_REFUSED = {
    "controller/cluster-3n-namesrv-plugin/namesrv-n0.conf": (
        f"listenPort=9876 enableControllerInNamesrv=true {_CONTROLLER}",
        ["enableControllerInNamesrv", *_ITS_KEYS],
    ),
    "controller/cluster-3n-independent/controller-n0.conf": (_CONTROLLER, _ITS_KEYS),
}


def written(folder: Path, words: str) -> Path:
    file = folder / "given.conf"
    file.write_text("\n".join(words.split()))
    return file


def refused_keys(error: SettingsError, words: str) -> set[str]:
    return {word.split("=")[0] for word in words.split() if f"{word}: " in str(error)}


@pytest.mark.parametrize("name", STARTS)
def test_files_of_the_distribution_that_start(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    file = written(tmp_path, STARTS[name])
    plan = server_plan(ServerOptions(config=file, store=tmp_path / "store"))
    assert (plan.broker.broker_name, plan.store.file_reserved_time) == ("broker-a", 48)
    assert caplog.messages == []


@pytest.mark.parametrize("name", REFUSED)
def test_files_of_the_distribution_that_are_refused(tmp_path: Path, name: str) -> None:
    words, keys = REFUSED[name]
    with pytest.raises(SettingsError) as told:
        server_plan(ServerOptions(config=written(tmp_path, words), store=tmp_path / "store"))
    assert refused_keys(told.value, words) == set(keys)


@pytest.mark.parametrize("name", NAMESRV_REFUSED)
def test_files_of_controllers_are_refused(tmp_path: Path, name: str) -> None:
    words, keys = NAMESRV_REFUSED[name]
    with pytest.raises(SettingsError) as told:
        namesrv_plan(NamesrvOptions(config=written(tmp_path, words)))
    assert refused_keys(told.value, words) == set(keys)


def test_the_name_server_of_the_containers_starts(tmp_path: Path) -> None:
    settings = {"kvConfigPath": str(tmp_path / "kv"), "configStorePath": str(tmp_path / "conf")}
    file = written(tmp_path, "supportActingMaster=true")
    plan = namesrv_plan(NamesrvOptions(config=file, settings=settings))
    assert plan.namesrv.support_acting_master


def test_a_dump_of_every_default_starts(tmp_path: Path) -> None:
    """What a real broker writes into its file with the first change at run time."""
    owners = ("BrokerConfig", "MessageStoreConfig", "NettyServerConfig", "NettyClientConfig")
    file = tmp_path / "broker.conf"
    dump = {
        one.key: one.default
        for one in recorded()
        if one.owner in owners and one.default not in ("\\N", "(machine)")
    }
    dump["listenPort"] = "10911"
    file.write_text("".join(f"{key}={value}\n" for key, value in dump.items()))
    server_plan(ServerOptions(config=file, store=tmp_path / "store"))


@pytest.mark.parametrize(
    ("enabled", "mode", "served"),
    [
        (None, "permissive", True),
        (None, "enforcing", False),
        ("true", "enforcing", True),
        ("false", "permissive", False),
    ],
)
def test_a_log_in_plain_text_is_not_served_where_tls_is_enforced(
    enabled: str | None, mode: str, served: bool
) -> None:
    settings = {"tls.server.mode": mode} | ({} if enabled is None else {"haEnable": enabled})
    assert server_plan(ServerOptions(store=Path("data"), settings=settings)).serves_slaves is served
