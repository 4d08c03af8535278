"""Reads that end before the queue does: nothing from there on is looked at, and none is led past it."""

from __future__ import annotations

import pytest

from tests.store.conftest import Bench
from tests.store.reading.test_filtered_reads import fill, wanted
from trimq.codec.java.hashes import string_hash
from trimq.store.message_store import MessageStore
from trimq.store.reading.pulls import ReadStatus

BIG = 1 << 20


@pytest.fixture
def twenty(bench: Bench) -> MessageStore:
    """Every third one from 2 on is tagged and says so; two consume-queue files."""
    store = bench.open(mapped_file_size_commit_log=BIG, mapped_file_size_consume_queue=300)
    fill(bench, store, 20)
    return store


@pytest.mark.parametrize(("offset", "until", "found"), [(0, 7, 7), (5, 7, 2), (0, 15, 15)])
def test_it_bounds_what_is_read(twenty: MessageStore, offset: int, until: int, found: int) -> None:
    count, following = 0, offset
    while following < until:
        result = twenty.read("T", 0, following, 32, BIG, None, until)
        assert result.status == ReadStatus.FOUND
        assert result.max_offset == 20
        count += result.message_count
        following = result.next_begin_offset
    assert (count, following) == (found, until)


@pytest.mark.parametrize("offset", [7, 8, 20, 21, 100])
def test_from_there_on_there_is_nothing_and_nobody_is_moved(
    twenty: MessageStore, offset: int
) -> None:
    result = twenty.read("T", 0, offset, 32, BIG, None, 7)
    assert (result.status, result.next_begin_offset) == (ReadStatus.OFFSET_OVERFLOW_ONE, offset)
    assert not result.message_count


def test_a_tag_that_is_only_behind_it_leads_no_further(twenty: MessageStore) -> None:
    codes = frozenset({string_hash("none of them")})
    result = twenty.read("T", 0, 0, 32, BIG, codes, 7)
    assert (result.status, result.next_begin_offset) == (ReadStatus.NO_MATCHED_MESSAGE, 7)


def test_a_filter_neither(twenty: MessageStore) -> None:
    scan = twenty.scan("T", 0, 0, 32, wanted("n > 9"), 7)
    assert not scan.is_paused
    found = scan.result
    assert (found.status, found.next_begin_offset) == (ReadStatus.NO_MATCHED_MESSAGE, 7)
    found = twenty.scan("T", 0, 0, 32, wanted("third = 'yes'"), 7).result
    assert (found.message_count, found.next_begin_offset) == (2, 7)


def test_below_the_first_offset_one_is_led_no_further_than_that(twenty: MessageStore) -> None:
    result = twenty.read("T", 0, -5, 32, BIG, None, 0)
    assert (result.status, result.next_begin_offset) == (ReadStatus.OFFSET_TOO_SMALL, 0)
