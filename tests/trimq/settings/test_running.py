"""Settings that operators see and change while a server runs."""

from pathlib import Path
from typing import Any

import pytest

import trimq
from trimq.base.clock import Clock
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.java.properties import read_properties
from trimq.remoting.clients.client import Client
from trimq.remoting.contract import RemotingError
from trimq.settings.options import NamesrvOptions, ServerOptions, namesrv_plan, server_plan
from trimq.settings.running import RunningSettings
from trimq.wiring.namesrv import build_namesrv

GUARDED = """
    storePathRootDir storePathCommitLog bindAddress listenPort brokerIP1 brokerIP2 namesrvAddr
    metricsListen tls.enable tls.server.mode tls.server.certPath tls.server.keyPassword
    innerClientAuthenticationCredentials somebodysPassword
"""


class Running:
    """Settings of a broker that was started with a config file, or without."""

    def __init__(self, folder: Path, text: str | None = None, **given: str) -> None:
        self.folder = folder
        self.file = folder / "broker.conf"
        if text is not None:
            self.file.write_text(text)
        self._named = self.file if text is not None else None
        self._given = given
        self.kept = folder / "store/config/broker.properties"
        self.start()

    def start(self) -> None:
        options = ServerOptions(
            config=self._named, store=self.folder / "store", settings=self._given
        )
        self.plan = server_plan(options)
        configs = (self.plan.broker, self.plan.store, self.plan.server, self.plan.tls)
        never = {"configBlackList", "mine"}
        self.settings = RunningSettings(configs, self.plan.sources, Clock(), never)

    def shown(self) -> dict[str, str]:
        return read_properties(self.settings.text())

    async def refused(self, **values: str) -> tuple[int, str]:
        before = self.shown()
        with pytest.raises(RemotingError) as told:
            await self.settings.update(values)
        assert self.shown() == before
        return told.value.code, str(told.value.remark)


@pytest.fixture
def running(tmp_path: Path) -> Running:
    text = "# ours\nbrokerName=b\nmessageDelayLevel=1s 60s\ndeleteWhen=4;16\nsomebodysOwn=5\n"
    return Running(tmp_path, text, regionId="R")


def test_every_setting_is_shown(running: Running) -> None:
    shown = running.shown()
    assert list(shown) == sorted(shown)
    chosen = ("brokerName", "messageDelayLevel", "deleteWhen", "somebodysOwn", "regionId")
    assert [shown[key] for key in chosen] == ["b", "1s 60s", "4;16", "5", "R"]
    assert (shown["listenPort"], shown["autoCreateTopicEnable"]) == ("10911", "true")
    assert "brokerIP2" not in shown


async def test_a_change_is_in_force_and_in_the_file(running: Running) -> None:
    changes = {"shortPollingTimeMills": "7", "traceOn": "FALSE", "deleteWhen": "5"}
    assert await running.settings.update(changes) is None
    assert running.plan.broker.short_polling_time_mills == 7
    assert running.plan.broker.trace_on is False
    assert running.plan.store.delete_when == (5,)
    shown = running.shown()
    assert (shown["traceOn"], shown["deleteWhen"]) == ("false", "5")
    text = running.file.read_text()
    assert text == (
        "# ours\nbrokerName=b\nmessageDelayLevel=1s 60s\ndeleteWhen=5\nsomebodysOwn=5\n"
        "shortPollingTimeMills=7\ntraceOn=FALSE\n"
    )
    assert running.file.with_name("broker.conf.bak").read_text().startswith("# ours\n")
    running.start()
    assert running.plan.broker.short_polling_time_mills == 7
    assert running.plan.store.delay_levels == (1000, 60000)


async def test_what_needs_a_new_start_says_so_and_what_holds_is_shown(running: Running) -> None:
    changes = {"brokerName": "other", "somebodysOwn": "6", "traceOn": "true"}
    said = await running.settings.update(changes)
    assert said == "brokerName: in force from the next start on"
    assert running.plan.broker.broker_name == "b"
    shown = running.shown()
    assert [shown[key] for key in changes] == ["b", "6", "true"]
    running.start()
    assert running.plan.broker.broker_name == "other"


async def test_an_unknown_key_is_reported_and_logged(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    said = await running.settings.update({"fileReservdTime": "1", "somebodysOwn": "6"})
    assert said is not None
    assert "'fileReservdTime'" in said
    assert "did you mean 'fileReservedTime'?" in said
    assert said in [one.getMessage() for one in caplog.records]
    assert "fileReservdTime" not in running.file.read_text()


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("shortPollingTimeMills", "-1"),
        ("shortPollingTimeMills", "1x"),
        ("flushIntervalCommitLog", "1" + "0" * 400),
        ("flushIntervalCommitLog", "2147483648"),
        ("flushIntervalConsumeQueue", "0"),
        ("traceOn", "yes"),
        ("deleteWhen", "25"),
        ("brokerRole", "X"),
        ("regionId", "x\nstorePathRootDir=/etc"),
    ],
)
async def test_what_is_not_allowed_changes_nothing(running: Running, key: str, text: str) -> None:
    code, remark = await running.refused(**{"regionId": "Z", key: text})
    assert code == ResponseCode.SYSTEM_ERROR
    assert remark.startswith(f"{key}=")
    assert running.plan.broker.region_id == "R"
    assert "regionId" not in running.file.read_text()


@pytest.mark.parametrize("key", GUARDED.split())
async def test_files_addresses_and_protection_are_not_set_over_the_network(
    running: Running, key: str
) -> None:
    code, remark = await running.refused(**{"regionId": "Z", key: "1"})
    assert (code, remark.split(":")[0]) == (ResponseCode.NO_PERMISSION, key)


@pytest.mark.parametrize("key", ["configBlackList", "mine"])
async def test_the_black_list_is_heard(running: Running, key: str) -> None:
    refused = await running.refused(**{"regionId": "Z", key: "x"})
    assert refused == (ResponseCode.NO_PERMISSION, "Can not update config in black list.")


async def test_every_update_has_its_version(running: Running) -> None:
    assert '"counter":0' in running.settings.version
    await running.settings.update({})
    assert '"counter":1' in running.settings.version


async def test_listeners_that_are_concerned_are_called(running: Running) -> None:
    calls: list[str] = []
    running.settings.when_given("brokerPermission", lambda: calls.append("permission"))
    running.settings.add_listener(lambda: calls.append("any"))
    await running.settings.update({"regionId": "Z"})
    await running.settings.update({"brokerPermission": "6"})
    assert calls == ["any", "any", "permission"]


async def test_secrets_are_written_but_not_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secrets = (
        "tls.server.keyPassword=hidden\n"
        'innerClientAuthenticationCredentials={"accessKey":"a","secretKey":"hidden"}\n'
        'initAuthenticationUser={"username":"a","password":"hidden"}\n'
        "somebodysPassword=hidden\n"
    )
    running = Running(tmp_path, secrets)
    running.file.chmod(0o600)
    text = running.settings.text()
    assert "hidden" not in text
    assert text.count("******") == 4
    await running.settings.update({"regionId": "Z"})
    assert running.file.read_text() == secrets + "regionId=Z\n"
    assert "hidden" not in caplog.text
    for file in (running.file, running.file.with_name("broker.conf.bak")):
        assert file.stat().st_mode & 0o777 == 0o600


async def test_a_file_that_cannot_be_written_is_reported(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    running.file.unlink()
    running.file.mkdir()
    said = await running.settings.update({"traceOn": "false"})
    assert running.plan.broker.trace_on is False
    assert said is not None
    assert "lost at the next start" in said
    assert "settings not saved" in caplog.text


async def test_what_the_command_line_names_holds_until_the_next_start(running: Running) -> None:
    said = await running.settings.update({"regionId": "Z"})
    assert said == "regionId: lost at the next start if its command line (--set) names it again"
    assert running.plan.broker.region_id == "Z"
    running.start()
    assert running.plan.broker.region_id == "R"


async def test_without_a_config_file_success_lasts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    running = Running(tmp_path)
    said = await running.settings.update({"fileReservedTime": "24", "flushDiskType": "SYNC_FLUSH"})
    assert said == "flushDiskType: in force from the next start on"
    assert running.kept.read_text() == "fileReservedTime=24\nflushDiskType=SYNC_FLUSH\n"
    assert running.kept.stat().st_mode & 0o777 == 0o600
    running.start()
    assert running.plan.store.file_reserved_time == 24
    assert running.plan.store.flush_disk_type == "SYNC_FLUSH"
    told = f"settings changed at run time are read: file={running.kept}"
    assert f"{told} keys=fileReservedTime,flushDiskType" in caplog.text


def test_no_address_and_no_file_comes_from_what_was_changed(tmp_path: Path) -> None:
    running = Running(tmp_path)
    running.kept.parent.mkdir(parents=True)
    running.kept.write_text("bindAddress=0.0.0.0\nstorePathCommitLog=/etc\nregionId=Z\n")
    running.start()
    assert running.plan.server.bind_address == "127.0.0.1"
    assert running.plan.store.commit_log_directories == ()
    assert running.plan.broker.region_id == "Z"


def test_with_a_config_file_nothing_else_is_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    running = Running(tmp_path, "regionId=A\n")
    running.kept.parent.mkdir(parents=True)
    running.kept.write_text("regionId=Z\n")
    running.start()
    assert running.plan.broker.region_id == "A"
    assert f"settings changed at run time are ignored: {running.kept}" in caplog.text


async def test_over_the_network(tmp_path: Path) -> None:
    async with (
        trimq.serve(tmp_path) as server,
        Client.connect(server.broker_addr) as client,
    ):
        body = b"brokerPermission=4\n"
        answer = await client.request(RequestCode.UPDATE_BROKER_CONFIG, body=body)
        assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, None)
        shown: Any = await client.request(RequestCode.GET_BROKER_CONFIG)
        port = server.broker_addr.rpartition(":")[2]
        assert f"listenPort={port}\n".encode() in bytes(shown.body)
        assert b"brokerPermission=4\n" in bytes(shown.body)
    assert (tmp_path / "config/broker.properties").read_text() == "brokerPermission=4\n"


class Namesrv:
    """Settings of a NameServer of its own."""

    def __init__(self, folder: Path, text: str) -> None:
        self.file = folder / "namesrv.conf"
        self.file.write_text(text)
        self._folder = folder
        self.start()

    def start(self) -> None:
        options = NamesrvOptions(
            config=self.file, settings={"kvConfigPath": str(self._folder / "kv")}
        )
        self.plan = namesrv_plan(options)
        process = (self.plan.server, self.plan.tls)
        self.settings = build_namesrv(
            self.plan.namesrv, Clock(), self.plan.sources, process
        ).settings


async def test_a_name_servers_changes_go_to_its_file_and_come_back(tmp_path: Path) -> None:
    namesrv = Namesrv(tmp_path, "listenPort=9877\nbindAddress=127.0.0.2\nsomebodysOwn=1\n")
    assert (namesrv.plan.listen.host, namesrv.plan.listen.port) == ("127.0.0.2", 9877)
    assert await namesrv.settings.update({"waitSecondsForService": "7"}) is None
    assert namesrv.plan.namesrv.wait_seconds_for_service == 7
    shown = read_properties(namesrv.settings.text())
    chosen = ("listenPort", "bindAddress", "somebodysOwn", "waitSecondsForService")
    assert [shown[key] for key in chosen] == ["9877", "127.0.0.2", "1", "7"]
    assert namesrv.file.read_text().endswith("somebodysOwn=1\nwaitSecondsForService=7\n")
    namesrv.start()
    assert namesrv.plan.namesrv.wait_seconds_for_service == 7


@pytest.mark.parametrize("text", ["-1", "0", "99", "1" + "0" * 400, str(2**63), "soon"])
async def test_no_interval_ends_the_name_server(tmp_path: Path, text: str) -> None:
    namesrv = Namesrv(tmp_path, "")
    with pytest.raises(RemotingError, match="scanNotActiveBrokerInterval"):
        await namesrv.settings.update({"scanNotActiveBrokerInterval": text})
    assert namesrv.plan.namesrv.scan_not_active_broker_interval == 5000
    assert namesrv.file.read_text() == ""


@pytest.mark.parametrize("key", ["listenPort", "bindAddress", "tls.server.keyPath"])
async def test_a_name_servers_addresses_and_files(tmp_path: Path, key: str) -> None:
    namesrv = Namesrv(tmp_path, "bindAddress=127.0.0.1\ntls.server.mode=disabled\n")
    with pytest.raises(RemotingError, match=f"^{key}: set where the server is started") as told:
        await namesrv.settings.update({key: "0"})
    assert told.value.code == ResponseCode.NO_PERMISSION


@pytest.mark.parametrize(
    "key", ["kvConfigPath", "configStorePath", "rocketmqHome", "configBlackList", "mine"]
)
async def test_a_name_servers_black_list(tmp_path: Path, key: str) -> None:
    namesrv = Namesrv(tmp_path, "configBlackList=mine;other\n")
    with pytest.raises(RemotingError, match="Can not update config in black list") as told:
        await namesrv.settings.update({key: "x"})
    assert told.value.code == ResponseCode.NO_PERMISSION


def test_an_unknown_key_of_a_name_server_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Namesrv(tmp_path, "suportActingMaster=true\n")
    assert "did you mean 'supportActingMaster'?" in caplog.text


async def test_an_embedded_name_server_keeps_its_own(tmp_path: Path) -> None:
    running = Running(tmp_path, "brokerName=b\n")
    assert running.plan.embedded is not None
    embedded = running.plan.embedded
    settings = build_namesrv(embedded.namesrv, Clock(), embedded.sources).settings
    assert await settings.update({"supportActingMaster": "true"}) is None
    assert running.file.read_text() == "brokerName=b\n"
    assert "brokerName" not in settings.text()
    running.start()
    assert running.plan.embedded is not None
    assert running.plan.embedded.namesrv.support_acting_master is True
