"""The key-value configuration."""

from pathlib import Path

import pytest

from tests.namesrv.parts import Parts
from trimq.namesrv.kv_config import KVConfig


async def test_values_survive_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "namesrv" / "kvConfig.json"
    first = KVConfig(path)
    first.load()
    first.put("ORDER_TOPIC_CONFIG", "T", "broker-a:4")
    first.put("ORDER_TOPIC_CONFIG", "U", "broker-a:1")
    first.delete("ORDER_TOPIC_CONFIG", "U")
    await first.save()
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


async def test_a_full_disk_is_reported_not_fatal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a-file").write_text("")
    kv = KVConfig(tmp_path / "a-file" / "kvConfig.json")
    kv.put("n", "k", "v")
    await kv.save()
    assert kv.get("n", "k") == "v"
    assert [record.levelname for record in caplog.records].count("ERROR") == 1
