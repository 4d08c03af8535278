"""What elastic topics are survives the files that first said it."""

import os
from collections.abc import Callable
from pathlib import Path

from tests.broker.elastic.conftest import GROUP, TOPIC, ElasticBroker
from tests.processors.conftest import NOW
from tests.store.cleaning import clean
from trimq.broker.steps import at_once

DAYS = 10 * 24 * 3600 * 1000


def _delete_old_files(elastic: ElasticBroker) -> int:
    """All but the last one, as a service would at its hour."""
    store = elastic.store
    store.flush()
    while store.write_derived():
        pass
    moment = (NOW - DAYS) / 1000
    for file in (Path(elastic.store_root) / "commitlog").iterdir():
        os.utime(file, (moment, moment))
    store.cleaning.order()
    return clean(store)


def test_maps_and_passes_are_found_when_their_first_records_are_gone(
    make_elastic: Callable[..., ElasticBroker],
) -> None:
    elastic = make_elastic(mapped_file_size_commit_log=4096, delete_when=())
    elastic.create()
    elastic.put(0, 3)
    elastic.groups.gate(GROUP, TOPIC)
    elastic.groups.gate("Behind", TOPIC)
    elastic.move(p0=2)
    elastic.commit(0, 3)
    elastic.put(1, 60)
    first = elastic.store.min_physical_offset
    assert _delete_old_files(elastic) > 0
    assert elastic.store.min_physical_offset > first
    elastic.kill()
    elastic.start()
    assert elastic.maps.place(TOPIC, 0) == 2
    assert elastic.groups.groups(TOPIC) == [GROUP, "Behind"]
    assert elastic.groups.readable_until(GROUP, TOPIC, 2) is None
    # What it has not read is deleted: nobody waits for it.
    assert elastic.store.min_offset(TOPIC, 0) == 3
    assert elastic.groups.readable_until("Behind", TOPIC, 2) is None


def test_a_change_is_forgotten_when_what_lay_before_it_is_deleted(
    make_elastic: Callable[..., ElasticBroker],
) -> None:
    elastic = make_elastic(mapped_file_size_commit_log=4096, delete_when=())
    elastic.create()
    elastic.put(0, 3)
    elastic.move(p0=2)
    elastic.put(1, 60)
    _delete_old_files(elastic)
    version = elastic.move(p1=3).version
    state = elastic.maps.state(TOPIC)
    assert state is not None
    assert [change.version for change in state.changes] == [version] == [2]


def _versions(elastic: ElasticBroker) -> list[int]:
    state = elastic.maps.state(TOPIC)
    assert state is not None
    return [change.version for change in state.changes]


def test_where_a_group_was_told_to_begin_is_known_until_it_has_begun(
    elastic: ElasticBroker,
) -> None:
    """One scale is several changes: with nothing in the first one's donor, the second forgot it at once."""
    elastic.join()
    elastic.move(p0=2)
    elastic.put(0, 3)
    elastic.move(p1=3)
    assert elastic.groups.known_offset(GROUP, TOPIC, 2) == 0
    elastic.maps.keep(elastic.store.max_physical_offset)
    elastic.kill()
    elastic.start()
    elastic.join()
    assert elastic.groups.known_offset(GROUP, TOPIC, 2) == 0
    elastic.commit(2, 0)
    elastic.move(p2=3)
    assert _versions(elastic) == [2, 3]


def test_nobody_is_waited_for_who_is_gone_or_where_nobody_reads(elastic: ElasticBroker) -> None:
    elastic.join()
    elastic.move(p0=3)
    elastic.move(p0=0)
    elastic.commit(0, 0)
    elastic.maps.resize(TOPIC, 3, 2)
    elastic.move(p1=2)
    # Queue 3 has left the route without a message.
    assert _versions(elastic) == [3]
    elastic.groups.gate("Gone", TOPIC)
    elastic.commit(2, 0)
    elastic.move(p3=2)
    assert _versions(elastic) == [4]
    elastic.move(p5=2)
    assert _versions(elastic) == [4, 5]
    elastic.groups.forget_group("Gone")
    at_once(elastic.offsets.forget_group("Gone"))
    elastic.move(p7=2)
    assert _versions(elastic) == [6]


def test_what_is_deleted_keeps_no_queue_in_the_route_and_brings_none_back(
    make_elastic: Callable[..., ElasticBroker],
) -> None:
    elastic = make_elastic(mapped_file_size_commit_log=4096, delete_when=())
    elastic.create(read=3)
    elastic.move(p0=2)
    elastic.put(0, 3)
    elastic.move(p0=0)
    elastic.join(where="CONSUME_FROM_FIRST_OFFSET")
    elastic.groups.gate(GROUP, TOPIC)
    elastic.tend()
    assert elastic.topic().read_queue_nums == 3
    elastic.put(1, 60)
    _delete_old_files(elastic)
    elastic.tend()
    assert elastic.topic().read_queue_nums == 2
    assert elastic.maps.left_queues(TOPIC) == []
    assert elastic.groups.readable_until(GROUP, TOPIC, 0) is None
    elastic.tend()
    assert elastic.topic().read_queue_nums == 2


def test_a_deleted_topic_is_elastic_no_longer(elastic: ElasticBroker) -> None:
    elastic.groups.gate(GROUP, TOPIC)
    elastic.store.delete_topic(TOPIC)
    assert elastic.maps.topics() == []
    assert elastic.groups.groups(TOPIC) == []
    elastic.kill()
    elastic.start()
    assert elastic.maps.topics() == []
