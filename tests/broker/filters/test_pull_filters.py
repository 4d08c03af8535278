"""Which filter a pull gets, and what maps messages get when they are stored."""

from pathlib import Path

import pytest

from tests.broker.filters.test_consumer_filters import Table
from trimq.broker.config import BrokerConfig
from trimq.broker.filters.message_filters import ExpressionFilter, RetryFilter
from trimq.broker.filters.pull_filters import PullFilters
from trimq.codec.sql.grammar import parse
from trimq.store.messages.message import Dispatched

MATCHING = b"n\x017\x02"
OTHER = b"n\x011\x02"


def record(properties: bytes = MATCHING, topic: str = "T") -> Dispatched:
    return Dispatched(topic, 0, 0, 0, 100, 0, 0, 0, properties)


def positions(bit_map: bytes) -> set[int]:
    number = int.from_bytes(bit_map, "little")
    return {position for position in range(8 * len(bit_map)) if number >> position & 1}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path, enable_calc_filter_bit_map=True)


def filters(table: Table, with_maps: bool = True, **settings: bool) -> PullFilters:
    return PullFilters(BrokerConfig(**settings), table.filters, with_maps)


def test_a_groups_filter(table: Table) -> None:
    table.beat(T="n > 5")
    for with_maps in (False, True):
        made = filters(table, with_maps).by_group("T", table.find())
        assert isinstance(made, ExpressionFilter)
        assert (made.matches(MATCHING), made.matches(OTHER)) == (True, False)
        assert made.map_bytes == (14 if with_maps else 0)
    table.find().expression = None
    assert filters(table).by_group("T", table.find()) is None


def test_a_pulls_own_filter_is_in_no_map(table: Table) -> None:
    made = filters(table).by_expression("T", parse("n > 5"))
    assert (made.matches(MATCHING), made.map_bytes) == (True, 0)


def test_retry_topics(table: Table) -> None:
    table.beat(T="n > 5", U="n > 6")
    for topic in ("%RETRY%G", "%RETRY%G+T"):
        made = filters(table, filter_support_retry=True).by_expression(topic, parse("FALSE"))
        assert isinstance(made, RetryFilter)
        assert made.matches(MATCHING + b"RETRY_TOPIC\x01T\x02")
        assert not made.matches(OTHER + b"RETRY_TOPIC\x01T\x02")
        assert not made.matches(b"n\x016\x02RETRY_TOPIC\x01U\x02")
        assert made.matches(OTHER + b"RETRY_TOPIC\x01unknown\x02")
        assert made.matches(OTHER)
    assert isinstance(filters(table).by_expression("%RETRY%G", parse("FALSE")), ExpressionFilter)
    own = filters(table, filter_support_retry=True).by_expression("T", parse("FALSE"))
    assert isinstance(own, ExpressionFilter)


def test_a_message_has_the_bits_of_those_who_want_it(table: Table) -> None:
    table.beat("SQLG", TopicTest="n > 5")
    table.beat("other", TopicTest="n > 6")
    table.beat("nobody", TopicTest="n > 60")
    theirs = set(table.filters.bloom.data_of("other", "TopicTest").bit_pos or ())
    made = filters(table)
    assert positions(made.map_of(record(topic="TopicTest"))) == {9, 69, 4} | theirs
    assert positions(made.map_of(record(b"n\x016\x02", "TopicTest"))) == {9, 69, 4}
    assert made.map_of(record(OTHER, "TopicTest")) == bytes(14)
    assert made.map_of(record(topic="unknown")) == b""


def test_those_who_have_left_are_noted_too(table: Table) -> None:
    """They come back and read on, and the map must not say no for them."""
    table.beat("CG", T="n > 5")
    table.filters.group_gone("CG")
    assert positions(filters(table).map_of(record())) == {0, 73, 34}


def test_a_message_that_would_cost_too_much_has_none(table: Table) -> None:
    for number in range(30):
        table.beat(f"G{number}", T=" OR ".join(["text CONTAINS 'y'"] * 5))
    large = b"text\x01" + b"x" * 20_000 + b"\x02"
    assert filters(table).map_of(record(large)) == b""
    assert filters(table).map_of(record(b"text\x01y\x02")) != b""
