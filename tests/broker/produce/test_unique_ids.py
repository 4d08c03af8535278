"""Message ids that the broker makes up for producers that send none."""

import os
import time

from trimq.broker.produce.sends.unique_ids import UniqueIds

NOON = int(time.mktime((2026, 2, 14, 12, 0, 0, 0, 0, -1)) * 1000)
MONTH = int(time.mktime((2026, 2, 1, 0, 0, 0, 0, 0, -1)) * 1000)


def test_the_parts_of_an_id():
    ids = UniqueIds(b"\x0a\0\0\x07")
    first, second = ids.next(NOON), ids.next(NOON)
    assert len(first) == 32
    assert first[:8] == "0A000007"
    assert int(first[8:12], 16) == os.getpid() & 0xFFFF
    assert first[:20] == second[:20]
    assert int(first[20:28], 16) == NOON - MONTH
    assert (first[28:], second[28:]) == ("0000", "0001")


def test_an_ipv6_address_makes_it_longer():
    assert len(UniqueIds(bytes(16)).next(NOON)) == 56


def test_two_starts_share_no_id():
    assert UniqueIds(bytes(4)).next(NOON) != UniqueIds(bytes(4)).next(NOON)


def test_every_month_starts_again():
    ids = UniqueIds(bytes(4))
    december = int(time.mktime((2026, 12, 31, 23, 59, 59, 0, 0, -1)) * 1000)
    assert int(ids.next(december + 1000)[20:28], 16) == 0
    assert int(ids.next(december)[20:28], 16) == december - int(
        time.mktime((2026, 12, 1, 0, 0, 0, 0, 0, -1)) * 1000
    )


def test_the_counter_wraps():
    ids = UniqueIds(bytes(4))
    made = [ids.next(NOON)[28:] for _ in range(0x10001)]
    assert (made[0xFFFF], made[0x10000]) == ("FFFF", "0000")
