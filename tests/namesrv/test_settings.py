"""Settings that change while the NameServer runs, and the key-value configuration."""

from pathlib import Path

import pytest

from tests.namesrv.parts import Parts
from trimq.namesrv.config import NamesrvConfig, NamesrvSettings
from trimq.namesrv.kv_config import KVConfig


def test_settings_are_printed_under_rocketmqs_names(tmp_path: Path) -> None:
    config = NamesrvConfig(kv_config_path=tmp_path / "kv", config_store_path=tmp_path / "conf")
    lines = NamesrvSettings(config, shown={"listenPort": "9876"}).text().splitlines()
    assert lines == sorted(lines)
    assert {
        "enableAllTopicList=true",
        "listenPort=9876",
        "scanNotActiveBrokerInterval=5000",
        f"kvConfigPath={tmp_path / 'kv'}",
    } <= set(lines)


def test_a_change_is_taken_over_and_written(parts: Parts, tmp_path: Path) -> None:
    parts.settings.update({"enableTopicList": "FALSE", "scanNotActiveBrokerInterval": "700"})
    assert parts.settings.current.enable_topic_list is False
    assert parts.settings.current.scan_not_active_broker_interval == 700
    written = (tmp_path / "namesrv.properties").read_text()
    assert written == parts.settings.text()
    assert "enableTopicList=false\n" in written


def test_unknown_and_unreadable_settings_stay_as_they_were(parts: Parts) -> None:
    before = parts.settings.current
    parts.settings.update({"noSuchKey": "1", "scanNotActiveBrokerInterval": "soon"})
    assert parts.settings.current == before


@pytest.mark.parametrize("key", ["kvConfigPath", "configStorePath", "rocketmqHome", "mine"])
def test_some_settings_cannot_change(tmp_path: Path, key: str) -> None:
    parts = Parts(tmp_path, config_black_list="mine")
    assert parts.settings.refused({key: "x"})
    assert not parts.settings.refused({"orderMessageEnable": "true"})


def test_values_survive_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "namesrv" / "kvConfig.json"
    first = KVConfig(path)
    first.load()
    first.put("ORDER_TOPIC_CONFIG", "T", "broker-a:4")
    first.put("ORDER_TOPIC_CONFIG", "U", "broker-a:1")
    first.delete("ORDER_TOPIC_CONFIG", "U")
    assert path.read_text() == '{"configTable":{"ORDER_TOPIC_CONFIG":{"T":"broker-a:4"}}}'
    second = KVConfig(path)
    second.load()
    assert second.get("ORDER_TOPIC_CONFIG", "T") == "broker-a:4"
    assert second.table("ORDER_TOPIC_CONFIG") == {"T": "broker-a:4"}


def test_absent_values_and_namespaces(parts: Parts) -> None:
    assert parts.kv.get("n", "k") is None
    assert parts.kv.get(None, None) is None
    assert parts.kv.table("n") is None
    parts.kv.delete("n", "k")
    parts.kv.put("n", "k", "v")
    parts.kv.put("n", "k", None)
    assert parts.kv.table("n") == {}


def test_a_damaged_file_is_reported_not_fatal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "kvConfig.json").write_text('{"configTable":')
    kv = KVConfig(tmp_path / "kvConfig.json")
    kv.load()
    assert kv.table("n") is None
    assert "kvConfig.json" in caplog.text


def test_a_full_disk_is_reported_not_fatal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a-file").write_text("")
    kv = KVConfig(tmp_path / "a-file" / "kvConfig.json")
    kv.put("n", "k", "v")
    config = NamesrvConfig(config_store_path=tmp_path / "a-file" / "conf")
    NamesrvSettings(config).update({"orderMessageEnable": "true"})
    assert kv.get("n", "k") == "v"
    assert [record.levelname for record in caplog.records].count("ERROR") == 2
