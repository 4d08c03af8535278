"""Every table of a slave that follows its master's: what the master has lost stays."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.groups.rebalance.request_modes import RequestModes
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.steps import at_once
from trimq.broker.topics.mappings import TopicMappings
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig, SubscriptionGroupWrapper
from trimq.codec.bodies.offsets import LmqConsumerOffsetSerializeWrapper
from trimq.codec.bodies.request_modes import MessageRequestModes, SetMessageRequestModeRequestBody
from trimq.codec.bodies.static_topics import MappingsOfAll, TopicQueueMappingDetail
from trimq.codec.bodies.topics import DataVersion, TopicConfig, TopicConfigSerializeWrapper

OLD, NEW, LATEST = (DataVersion(counter=counter, timestamp=counter) for counter in (2, 5, 8))
# Of a clock that was set back.
SET_BACK = DataVersion(counter=8, timestamp=1)


class OfTopics:
    """A table: `follow` takes a master's, with these entries of these values."""

    has_version = True

    def __init__(self, home: Path) -> None:
        self.table = Topics(BrokerConfig(broker_role="SLAVE"), home, Clock())

    def follow(self, entries: dict[str, int], version: DataVersion) -> None:
        table = {
            name: TopicConfig(topic_name=name, read_queue_nums=value)
            for name, value in entries.items()
        }
        version = msgspec.structs.replace(version)
        self.table.follow(
            TopicConfigSerializeWrapper(data_version=version, topic_config_table=table)
        )

    def value(self, name: str) -> int | None:
        found = self.table.get(name)
        return None if found is None else found.read_queue_nums


class OfGroups:
    has_version = True

    def __init__(self, home: Path) -> None:
        self.table = SubscriptionGroups(BrokerConfig(broker_role="SLAVE"), home, Clock())

    def follow(self, entries: dict[str, int], version: DataVersion) -> None:
        table = {
            name: SubscriptionGroupConfig(group_name=name, retry_queue_nums=value)
            for name, value in entries.items()
        }
        version = msgspec.structs.replace(version)
        bans = {name: {"T": value} for name, value in entries.items()}
        self.table.follow(
            SubscriptionGroupWrapper(
                data_version=version, subscription_group_table=table, forbidden_table=bans
            )
        )

    def value(self, name: str) -> int | None:
        found = self.table.get(name)
        if found is None:
            return None
        return found.retry_queue_nums


class OfMappings:
    has_version = True

    def __init__(self, home: Path) -> None:
        self.table = TopicMappings(
            home, BrokerConfig(broker_name="broker-a"), Clock(), is_slave=True
        )

    def follow(self, entries: dict[str, int], version: DataVersion) -> None:
        table = {
            name: TopicQueueMappingDetail(topic=name, bname="broker-a", total_queues=value)
            for name, value in entries.items()
        }
        version = msgspec.structs.replace(version)
        self.table.follow(
            MappingsOfAll(mapping_data_version=version, topic_queue_mapping_detail_map=table)
        )

    def value(self, name: str) -> int | None:
        found = self.table.get(name)
        assert (found is None) == (name not in self.table.special)
        return None if found is None else found.total_queues


class OfModes:
    has_version = False

    def __init__(self, home: Path) -> None:
        self.table = RequestModes(home)

    def follow(self, entries: dict[str, int], version: DataVersion) -> None:
        modes = {
            name: {
                "G": SetMessageRequestModeRequestBody(
                    topic=name, consumer_group="G", pop_share_queue_num=value
                )
            }
            for name, value in entries.items()
        }
        self.table.follow(MessageRequestModes(message_request_mode_map=modes))

    def value(self, name: str) -> int | None:
        found = self.table.get(name, "G")
        return None if found is None else found.pop_share_queue_num


class OfOffsets:
    has_version = False
    group = "G"

    def __init__(self, home: Path) -> None:
        self.table = ConsumerOffsets(BrokerConfig(broker_role="SLAVE"), home, Clock(), True)
        self.table.load()

    def follow(self, entries: dict[str, int], version: DataVersion) -> None:
        table = {f"{name}@G": {"0": value} for name, value in entries.items()}
        light = {f"{name}@%LMQ%g": value for name, value in entries.items()}
        body = json.dumps({"offsetTable": table, "lmqOffsetTable": light})
        given = decode_body(LmqConsumerOffsetSerializeWrapper, body.encode())
        at_once(self.table.merge(given))

    def value(self, name: str) -> int | None:
        found = self.table.query(self.group, name, 0)
        return None if found < 0 else found


class OfLightOffsets(OfOffsets):
    group = "%LMQ%g"


TABLES = [OfTopics, OfGroups, OfMappings, OfModes, OfOffsets, OfLightOffsets]
Make = Callable[[Path], Any]


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize("version", [OLD, NEW, LATEST, SET_BACK, DataVersion()])
def test_what_the_master_does_not_have_stays(
    make: Make, version: DataVersion, tmp_path: Path
) -> None:
    table = make(tmp_path)
    table.follow({"a": 3, "b": 3}, NEW)
    table.follow({}, version)
    table.follow({"b": 3}, version)
    assert (table.value("a"), table.value("b")) == (3, 3)


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize("version", [LATEST, SET_BACK])
def test_what_is_newer_counts_whatever_the_clock_says(
    make: Make, version: DataVersion, tmp_path: Path
) -> None:
    table = make(tmp_path)
    table.follow({"a": 3}, NEW)
    table.follow({"a": 4, "b": 5}, version)
    assert (table.value("a"), table.value("b")) == (4, 5)


@pytest.mark.parametrize("make", [make for make in TABLES if make.has_version])
def test_an_older_table_changes_nothing_and_adds_what_is_missing(
    make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = make(tmp_path)
    table.follow({"a": 3}, NEW)
    for _ in range(3):
        table.follow({"a": 1, "b": 1}, OLD)
    assert (table.value("a"), table.value("b")) == (3, 1)
    assert caplog.text.count("are older than this slave's") == 1
    # Until it has caught up.
    table.follow({"a": 4, "b": 4}, LATEST)
    assert (table.value("a"), table.value("b")) == (4, 4)


@pytest.mark.parametrize("make", [make for make in TABLES if make.has_version])
def test_the_same_version_is_not_looked_at(make: Make, tmp_path: Path) -> None:
    table = make(tmp_path)
    table.follow({"a": 3}, NEW)
    table.follow({"a": 4}, NEW)
    assert table.value("a") == 3


def test_a_change_of_a_slave_is_no_newer_than_what_its_master_has(tmp_path: Path) -> None:
    """Otherwise the master's next changes would be taken for old ones."""
    topics = OfTopics(tmp_path)
    topics.follow({"a": 3}, NEW)
    for _ in range(9):
        topics.table.update(TopicConfig(topic_name="a", read_queue_nums=7))
    assert topics.value("a") == 7
    topics.follow({"a": 3}, NEW)
    assert topics.value("a") == 3
    groups = OfGroups(tmp_path)
    groups.follow({"a": 3}, NEW)
    groups.table.update(SubscriptionGroupConfig(group_name="a", retry_queue_nums=7))
    groups.follow({"a": 3}, NEW)
    assert groups.value("a") == 3


def test_a_ban_that_was_lifted(tmp_path: Path) -> None:
    """It is not in the table of bans any more: that is how a ban is lifted."""
    groups = OfGroups(tmp_path)
    groups.follow({"a": 3, "b": 2}, NEW)
    assert groups.table.forbidden("a", "T") == 3
    table = {"a": SubscriptionGroupConfig(group_name="a")}
    version = msgspec.structs.replace(LATEST)
    groups.table.follow(
        SubscriptionGroupWrapper(data_version=version, subscription_group_table=table)
    )
    assert groups.table.forbidden("a", "T") == 0
    assert groups.table.forbidden("b", "T") == 2
