"""Settings that change while a store is open hold from the next message, pull or round on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.store.cleaning import age, clean, fill
from trimq.store.config import StoreConfig
from trimq.store.errors import MessageTooLarge
from trimq.store.message_store import MessageStore

BIG = 1 << 20


class Changing:
    """An open store whose config can be changed."""

    def __init__(self, bench: Any, **settings: Any) -> None:
        self.bench = bench
        large = {"mapped_file_size_commit_log": 8 * BIG, "mapped_file_size_consume_queue": 20 * 500}
        config = StoreConfig(root=bench.root, **(bench.small | large | settings))
        self.store: MessageStore = MessageStore(config, bench.clock, bench._use_of)
        self.store.open()
        bench._open.append(self.store)
        self._config = config

    def change(self, **settings: Any) -> None:
        for name, value in settings.items():
            object.__setattr__(self._config, name, value)
        self.store.heed_settings()

    def put(self, count: int, body: bytes = b"x", **more: Any) -> None:
        for _ in range(count):
            self.store.put(self.bench.message(body, **more))

    def read(self, tags: frozenset[int] | None = None, offset: int = 0) -> Any:
        return self.store.read("T", 0, offset, 100, 2 * BIG, tags)


def test_the_longest_body(bench: Any) -> None:
    changing = Changing(bench, max_message_size=1000)
    with pytest.raises(MessageTooLarge):
        changing.put(1, bytes(1001))
    changing.change(max_message_size=2 * BIG)
    changing.put(1, bytes(BIG))
    changing.change(max_message_size=10)
    with pytest.raises(MessageTooLarge):
        changing.put(1, bytes(11))


def test_how_much_one_pull_takes(bench: Any) -> None:
    changing = Changing(bench)
    changing.put(100, bytes(1000))
    assert changing.read().message_count == 32
    changing.change(max_transfer_count_on_message_in_memory=7)
    assert changing.read().message_count == 7
    changing.change(
        max_transfer_count_on_message_in_memory=90, max_transfer_bytes_on_message_in_memory=5000
    )
    assert changing.read().message_count == 4
    changing.change(access_message_in_memory_max_ratio=0)
    assert changing.read().message_count == 8
    changing.change(max_transfer_count_on_message_in_disk=6)
    assert changing.read().message_count == 6
    changing.change(max_transfer_bytes_on_message_in_disk=2500)
    assert changing.read().message_count == 2


def test_how_far_a_filter_looks(bench: Any) -> None:
    changing = Changing(bench, mapped_file_size_consume_queue=20 * 300)
    changing.put(1000)
    nobody = frozenset([1])
    assert changing.read(nobody).next_begin_offset == 300
    changing.change(max_filter_message_size=20 * 150)
    assert changing.read(nobody).next_begin_offset == 150
    changing.change(max_filter_message_size=20 * 900, travel_cq_file_num_when_get_message=2)
    assert changing.read(nobody).next_begin_offset == 600


def test_the_index(bench: Any) -> None:
    changing = Changing(bench, max_index_num=1000, max_hash_slot_num=100)
    keys = b"KEYS\x01k\x02"

    def found() -> int:
        query = changing.store.plan_query("T", "k", 64, 0, 1 << 60)
        query.run()
        return len(query.offsets)

    changing.put(3, properties=keys)
    assert found() == 3
    changing.change(message_index_enable=False)
    changing.put(3, properties=keys)
    assert found() == 3
    changing.change(message_index_enable=True)
    changing.put(1, properties=keys)
    assert found() == 4
    changing.change(max_msgs_num_batch=2)
    assert found() == 2


def test_when_a_disk_is_too_full(bench: Any) -> None:
    changing = Changing(bench, delete_when=(), mapped_file_size_commit_log=1024)
    fill(bench, changing.store, 32)
    bench.disk_use = 0.92
    cleaning = changing.store.cleaning
    cleaning.begin_round(cleaning.measure())
    assert cleaning.disk_full
    bench.disk_use = 0.6
    cleaning.begin_round(cleaning.measure())
    assert not cleaning.disk_full
    changing.change(disk_space_warning_level_ratio=50, disk_space_clean_forcibly_ratio=40)
    cleaning.begin_round(cleaning.measure())
    assert cleaning.disk_full
    changing.change(disk_space_warning_level_ratio=90, disk_space_clean_forcibly_ratio=85)
    cleaning.begin_round(cleaning.measure())
    age(bench, 80)
    assert clean(changing.store) == 0
    changing.change(disk_max_used_space_ratio=50)
    assert clean(changing.store) == 4
