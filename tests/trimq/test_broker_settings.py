"""Settings that operators see and change while the broker runs."""

from pathlib import Path
from typing import Any

import pytest

import trimq
from trimq.broker.clock import Clock
from trimq.broker_settings import BrokerSettings
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.options import ServerOptions, server_plan
from trimq.remoting.client import Client
from trimq.settings import SettingsError


class Running:
    """Settings of a broker that was started with a config file."""

    def __init__(self, folder: Path, text: str, **given: str) -> None:
        self.file = folder / "broker.conf"
        self.file.write_text(text)
        options = ServerOptions(config=self.file, store=folder / "store", settings=given)
        self.plan = server_plan(options)
        self.permission_given = 0
        self.settings = BrokerSettings(self.plan, {"listenPort": "4711"}, Clock(), self._permission)

    def _permission(self) -> None:
        self.permission_given += 1

    def shown(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.settings.text().splitlines())


@pytest.fixture
def running(tmp_path: Path) -> Running:
    text = "brokerName=b\nmessageDelayLevel=1s 60s\ndeleteWhen=4;16\nsomebodysOwn=5\n"
    return Running(tmp_path, text, regionId="R")


def test_every_setting_is_shown(running: Running) -> None:
    shown = running.shown()
    assert list(shown) == sorted(shown)
    chosen = ("brokerName", "messageDelayLevel", "deleteWhen", "somebodysOwn", "regionId")
    assert [shown[key] for key in chosen] == ["b", "1s 60s", "4;16", "5", "R"]
    assert (shown["listenPort"], shown["autoCreateTopicEnable"]) == ("4711", "true")
    assert "brokerIP2" not in shown


async def test_a_change_is_in_force_and_in_the_file(running: Running) -> None:
    await running.settings.update({"shortPollingTimeMills": "7", "traceOn": "yes", "unknown": "1"})
    assert running.plan.broker.short_polling_time_mills == 7
    assert running.plan.broker.trace_on is False
    text = running.file.read_text()
    hidden = ("tls.server.keyPassword=\n", "tls.client.keyPassword=\n")
    assert text.replace(hidden[0], "").replace(hidden[1], "") == running.settings.text()
    assert "shortPollingTimeMills=7\n" in text
    assert "unknown" not in text
    assert running.file.with_name("broker.conf.bak").read_text().startswith("brokerName=b\n")
    again = server_plan(ServerOptions(config=running.file))
    assert again.broker.short_polling_time_mills == 7
    assert again.store.delay_levels == (1000, 60000)


async def test_what_needs_a_new_start_is_only_written(running: Running) -> None:
    changes = {"brokerName": "other", "maxMessageSize": "5", "somebodysOwn": "6", "traceOn": "true"}
    await running.settings.update(changes)
    assert running.plan.broker.broker_name == "b"
    assert running.plan.store.max_message_size != 5
    shown = running.shown()
    assert {key: shown[key] for key in changes} == changes


async def test_a_key_that_there_is_not_is_logged(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    await running.settings.update({"fileReservdTime": "1", "somebodysOwn": "6"})
    (said,) = [one.getMessage() for one in caplog.records if "unknown" in one.getMessage()]
    assert "'fileReservdTime'" in said
    assert "did you mean 'fileReservedTime'?" in said


async def test_what_cannot_be_read_is_left_as_it_was(running: Running) -> None:
    before = running.shown()
    await running.settings.update({"shortPollingTimeMills": "1x"})
    assert running.shown() == before


@pytest.mark.parametrize(
    ("key", "text"), [("shortPollingTimeMills", "-1"), ("deleteWhen", "25"), ("brokerRole", "X")]
)
async def test_what_is_not_allowed_changes_nothing(running: Running, key: str, text: str) -> None:
    before = running.shown()
    with pytest.raises(SettingsError, match=key):
        await running.settings.update({"regionId": "Z", key: text})
    assert running.shown() == before
    assert running.plan.broker.region_id == "R"


async def test_every_update_has_its_version(running: Running) -> None:
    assert '"counter":0' in running.settings.version
    await running.settings.update({})
    assert '"counter":1' in running.settings.version


async def test_the_permission_concerns_routes(running: Running) -> None:
    await running.settings.update({"regionId": "Z"})
    assert running.permission_given == 0
    await running.settings.update({"brokerPermission": "4"})
    assert running.permission_given == 1


async def test_a_password_is_written_but_not_shown(tmp_path: Path) -> None:
    running = Running(tmp_path, "tls.server.keyPassword=secret\n")
    running.file.chmod(0o600)
    assert "secret" not in running.settings.text()
    await running.settings.update({"regionId": "Z"})
    assert "tls.server.keyPassword=secret\n" in running.file.read_text()
    assert running.file.stat().st_mode & 0o777 == 0o600
    assert running.file.with_name("broker.conf.bak").stat().st_mode & 0o777 == 0o600


def test_some_keys_stay(running: Running) -> None:
    assert running.settings.refused({"traceOn": "1", "brokerConfigPath": "x"})
    assert not running.settings.refused({"traceOn": "1"})


async def test_a_file_that_cannot_be_written_is_no_error(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    running.file.unlink()
    running.file.mkdir()
    await running.settings.update({"regionId": "Z"})
    assert running.plan.broker.region_id == "Z"
    assert "settings not saved" in caplog.text


async def test_without_a_config_file_they_are_kept_in_the_store(tmp_path: Path) -> None:
    async with (
        trimq.serve(tmp_path) as server,
        Client.connect(server.broker_addr) as client,
    ):
        body = b"brokerPermission=4\n"
        answer = await client.request(RequestCode.UPDATE_BROKER_CONFIG, body=body)
        assert answer.code == ResponseCode.SUCCESS
        shown: Any = await client.request(RequestCode.GET_BROKER_CONFIG)
        port = server.broker_addr.rpartition(":")[2]
        assert f"listenPort={port}\n".encode() in bytes(shown.body)
        assert b"brokerPermission=4\n" in bytes(shown.body)
    assert "brokerPermission=4\n" in (tmp_path / "config/broker.properties").read_text()
