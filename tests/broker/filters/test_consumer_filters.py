"""Who wants what by properties: versions, leaving and coming back, the file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.filters.consumer_filters import ConsumerFilters, Filter
from trimq.broker.filters.expressions import Expressions
from trimq.broker.steps import at_once
from trimq.codec.bodies.heartbeat import SubscriptionData

NOW = 1_700_000_000_000
DAY = 86_400_000


class HandClock(Clock):
    def __init__(self) -> None:
        self.now = NOW

    def millis(self) -> int:
        return self.now

    def steady_millis(self) -> int:
        return self.now


class Everything:
    """There is every topic, but for some."""

    def __init__(self) -> None:
        self.missing: set[str] = set()

    def __contains__(self, name: object) -> bool:
        return name not in self.missing


class Table:
    """Filters on one directory, as a broker that reads every expression at once."""

    def __init__(self, directory: Path, **settings: Any) -> None:
        self.directory = directory
        self.settings = settings
        self.clock = HandClock()
        self.topics = Everything()
        self.start()

    def start(self, read: bool = False) -> None:
        self.expressions = Expressions()
        config = BrokerConfig(**self.settings)
        self.filters = ConsumerFilters(
            config, self.directory, self.clock, self.expressions, self.topics
        )
        self.filters.load(read=read)

    def beat(self, group: str = "G", /, version: int = 1, **wanted: str) -> None:
        """A member says by which expression it wants which topic."""
        subscriptions = [
            SubscriptionData(
                topic=topic, sub_string=text, expression_type="SQL92", sub_version=version
            )
            for topic, text in wanted.items()
        ]
        for text in self.filters.unread(group, subscriptions):
            self.expressions.read_now("SQL92", text)
        self.filters.register(group, subscriptions)
        self.verdicts = subscriptions

    def find(self, topic: str = "T", group: str = "G") -> Filter:
        found = self.filters.find(topic, group)
        assert found is not None
        return found

    @property
    def file(self) -> Path:
        return self.directory / "consumerFilter.json"


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path)


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Table]:
    return lambda **settings: Table(tmp_path, **settings)


def test_a_heartbeat_registers(table: Table) -> None:
    table.beat(T="a > 5", U="b = 'x'")
    found = table.find()
    assert found.expression is not None
    assert (found.data.expression, found.data.client_version, found.data.born_time) == (
        "a > 5",
        1,
        NOW,
    )
    assert not found.is_dead
    assert set(table.filters.of_group("G")) == {"T", "U"}
    assert set(table.filters.on_topic("T")) == {"G"}
    assert table.filters.find("T", "other") is None


def test_tags_are_no_filters(table: Table) -> None:
    kinds = [(None, "A"), ("", "A"), ("TAG", "A"), ("SQL92", ""), ("SQL92", None)]
    for kind, text in kinds:
        one = SubscriptionData(topic="T", sub_string=text, expression_type=kind)
        assert table.filters.unread("G", [one]) == []
        table.filters.register("G", [one])
    assert table.filters.count == 0


def test_what_cannot_be_read_has_no_filter(table: Table) -> None:
    table.beat(T="a >")
    assert table.filters.find("T", "G") is None
    other = SubscriptionData(topic="T", sub_string="a", expression_type="ELVISH")
    assert table.filters.unread("G", [other]) == []
    table.filters.register("G", [other])
    assert table.filters.find("T", "G") is None


def test_only_a_higher_version_changes(table: Table) -> None:
    table.beat(version=5, T="a = 5")
    first = table.find()
    for version in (4, 5):
        table.beat(version=version, T="a = 6")
        assert table.find() is first
    table.clock.now += 7
    table.beat(version=6, T="a = 6")
    assert (table.find().data.expression, table.find().data.born_time) == ("a = 6", NOW + 7)
    table.clock.now += 7
    table.beat(version=7, T="a = 6")
    # The same expression goes on: what was noted for it stays good.
    assert (table.find().data.client_version, table.find().data.born_time) == (7, NOW + 7)


def test_a_newer_one_that_cannot_be_read_takes_the_old_one_away(table: Table) -> None:
    table.beat(version=5, T="a = 5")
    table.beat(version=6, T="a =")
    assert table.filters.find("T", "G") is None


def test_known_expressions_are_not_read_again(table: Table) -> None:
    table.beat(version=5, T="a = 5")
    fresh = Expressions()
    table.filters._expressions = fresh
    for version in (4, 5, 6):
        one = SubscriptionData(
            topic="T", sub_string="a = 5", expression_type="SQL92", sub_version=version
        )
        assert table.filters.unread("G", [one]) == []
    other = SubscriptionData(topic="T", sub_string="a = 6", expression_type="SQL92", sub_version=6)
    assert table.filters.unread("G", [other]) == ["a = 6"]


def test_a_topic_that_is_not_subscribed_any_more_is_out_of_use(table: Table) -> None:
    table.beat(T="a = 5", U="a = 5")
    table.clock.now += 5
    table.beat(U="a = 5")
    assert table.find("T").is_dead
    assert table.find("T").data.dead_time == NOW + 5
    assert not table.find("U").is_dead
    table.beat(T="a = 5", U="a = 5")
    assert not table.find("T").is_dead


def test_a_group_that_leaves_and_comes_back(table: Table) -> None:
    table.beat(version=5, T="a = 5")
    table.clock.now += 5
    table.filters.group_gone("G")
    assert table.find().data.dead_time == NOW + 5
    table.clock.now += 5
    table.filters.group_gone("G")
    assert table.find().data.dead_time == NOW + 5
    table.beat(version=4, T="a = 5")
    assert table.find().is_dead
    table.beat(version=5, T="a = 5")
    assert not table.find().is_dead
    assert table.find().data.born_time == NOW


def test_after_a_day_it_is_forgotten(table: Table) -> None:
    table.beat(T="a = 5")
    table.beat("H", T="a = 5")
    table.filters.group_gone("G")
    table.clock.now += DAY - 1
    at_once(table.filters.clean())
    assert table.filters.count == 2
    table.clock.now += 1
    at_once(table.filters.clean())
    assert list(table.filters.on_topic("T")) == ["H"]
    table.filters.group_gone("H")
    table.clock.now += DAY
    at_once(table.filters.clean())
    assert not table.filters.on_topic("T")
    assert not table.filters.of_group("H")


def test_only_so_much_is_kept(make: Callable[..., Table]) -> None:
    table = make(max_filter_characters=2100)
    for group in "GHIJ":
        table.beat(group, T="a = 5")
    table.beat("K", T="a = 5")
    assert sorted(table.filters.on_topic("T")) == ["G", "H", "I", "J"]
    # What is out of use makes room.
    table.filters.group_gone("H")
    table.beat("K", T="a = 5")
    assert sorted(table.filters.on_topic("T")) == ["G", "I", "J", "K"]


async def test_the_file_is_the_real_brokers(make: Callable[..., Table]) -> None:
    table = make(enable_calc_filter_bit_map=True)
    table.beat("CG", version=7, T="a > 1")
    table.beat("SQLG", version=8, TopicTest="b = 'ü'")
    await table.filters.persist()
    text = table.file.read_text()
    assert text.startswith(
        '{\n\t"filterDataByTopic":{\n\t\t"T":{\n\t\t\t"groupFilterData":{\n\t\t\t\t"CG":{\n\t\t\t\t\t"bloomFilterData":{'
    )
    assert '\t"bitPos":[0,73,34]\n' in text
    found = json.loads(text)["filterDataByTopic"]
    assert found["T"] == {
        "groupFilterData": {
            "CG": {
                "bloomFilterData": {"bitNum": 112, "bitPos": [0, 73, 34]},
                **{"bornTime": NOW, "clientVersion": 7, "consumerGroup": "CG", "dead": False},
                **{"deadTime": 0, "expression": "a > 1", "expressionType": "SQL92", "topic": "T"},
            }
        },
        "topic": "T",
    }
    assert found["TopicTest"]["groupFilterData"]["SQLG"]["expression"] == "b = 'ü'"


async def test_it_is_written_when_something_has_changed(table: Table) -> None:
    await table.filters.persist()
    table.filters.close()
    assert not table.file.exists()
    table.beat(T="a = 5")
    await table.filters.persist()
    before = table.file.stat().st_ino
    await table.filters.persist()
    assert table.file.stat().st_ino == before
    table.filters.group_gone("G")
    table.filters.close()
    known = json.loads(table.file.read_text())["filterDataByTopic"]["T"]["groupFilterData"]["G"]
    assert (known["dead"], known["deadTime"]) == (True, NOW)
    table.clock.now += DAY
    await table.filters.persist()
    assert table.file.read_text() == '{\n\t"filterDataByTopic":{}\n}'


@pytest.mark.parametrize(("later", "dead"), [(60_000, NOW + 30_000), (10_000, NOW)])
def test_at_a_start_nobody_is_there(table: Table, later: int, dead: int) -> None:
    table.beat(version=5, T="a = 5")
    table.filters.close()
    table.clock.now += later
    table.start()
    found = table.find()
    assert (found.is_dead, found.data.dead_time, found.expression) == (True, dead, None)
    table.beat(version=5, T="a = 5")
    assert (found.is_dead, found.data.born_time) == (False, NOW)
    assert found.expression is not None


def test_expressions_are_read_at_a_start_if_messages_ask_for_them(table: Table) -> None:
    table.beat(T="a = 5")
    table.filters.close()
    table.start(read=True)
    assert table.find().expression is not None


def test_other_maps_make_all_of_it_worthless(make: Callable[..., Table]) -> None:
    table = make(enable_calc_filter_bit_map=True)
    table.beat(T="a = 5")
    table.filters.close()
    assert make(expect_consumer_num_use_filter=64).filters.count == 0
    assert make().filters.count == 1


def test_without_maps_it_has_no_bits_and_is_kept(make: Callable[..., Table]) -> None:
    """RocketMQ 5.5.1 writes such a file too, and forgets it all at its next start."""
    table = make()
    table.beat(T="a = 5")
    assert table.find().data.bloom_filter_data is None
    table.filters.close()
    assert "bloomFilterData" not in table.file.read_text()
    assert make().filters.count == 1
    # A map that was made without it says nothing of it.
    table = make(enable_calc_filter_bit_map=True)
    assert table.filters.count == 0
    table.beat(T="a = 5")
    assert table.find().data.bloom_filter_data == table.filters.bloom.data_of("G", "T")


@pytest.mark.parametrize("with_maps", [False, True])
def test_a_file_of_5_5_0_has_bits_in_any_case(make: Callable[..., Table], with_maps: bool) -> None:
    table = make(enable_calc_filter_bit_map=True)
    table.beat(version=5, T="a = 5")
    table.filters.close()
    table = make(enable_calc_filter_bit_map=with_maps)
    bits = table.find().data.bloom_filter_data
    assert bits == table.filters.bloom.data_of("G", "T")
    table.beat(version=5, T="a = 5")
    assert not table.find().is_dead
    assert table.find().data.bloom_filter_data == bits


def test_a_topic_that_there_is_not_has_no_filter(table: Table) -> None:
    table.topics.missing = {"T"}
    table.beat(version=5, T="a = 5", U="a = 6")
    assert list(table.filters.of_group("G")) == ["U"]
    one = SubscriptionData(topic="T", sub_string="b = 7", expression_type="SQL92", sub_version=5)
    # Read all the same: the topic may be there when the filter is registered.
    assert table.filters.unread("G", [one]) == ["b = 7"]
    # It comes with the first heartbeat after its topic, also with one that says no subscriptions.
    table.topics.missing = set()
    table.expressions.read_now("SQL92", "a = 5")
    table.filters.register_missing("G", table.verdicts)
    assert table.find("T").data.expression == "a = 5"
    first = table.find("U")
    table.filters.register_missing("G", table.verdicts)
    assert table.find("U") is first


def test_the_filter_of_a_deleted_topic_goes_with_its_group(table: Table) -> None:
    table.beat(version=5, T="a = 5")
    table.topics.missing = {"T"}
    table.clock.now += 5
    table.beat(version=6, T="a = 6")
    assert (table.find().data.expression, table.find().is_dead) == ("a = 5", False)
    table.filters.group_gone("G")
    table.clock.now += DAY
    at_once(table.filters.clean())
    assert table.filters.count == 0
