"""From which record on the elastic map is read: moved on, killed, cut, and when all of it is needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.broker.elastic.conftest import GROUP, TOPIC, ElasticBroker

pytestmark = pytest.mark.usefixtures("no_threads")


def moved(broker: ElasticBroker, count: int) -> None:
    for number in range(count):
        broker.move(p2=3 if number % 2 == 0 else 0)


def holders(broker: ElasticBroker) -> list[Any]:
    elastic = broker.broker.elastic
    return [elastic.maps, elastic.groups, elastic.commits]


def move_on(broker: ElasticBroker) -> None:
    trio.run(broker.broker.elastic.kept.move_on, holders(broker))


def known(broker: ElasticBroker) -> tuple[Any, Any, Any]:
    state = broker.maps.state(TOPIC)
    groups = broker.groups
    return state, groups.passed(GROUP, TOPIC), dict(groups.closed_queues(GROUP, TOPIC))


@pytest.fixture
def elastic(tmp_path: Path) -> ElasticBroker:
    made = ElasticBroker(tmp_path / "store")
    made.create()
    made.put(2, 3)
    made.groups.gate(GROUP, TOPIC)
    moved(made, 20)
    made.commit(0, 3)
    return made


def read(broker: ElasticBroker) -> int:
    """Bytes of the records that this start has read."""
    reread = broker.broker.elastic.kept.recovery_point.reread
    assert reread is not None
    return reread.size


def test_a_start_reads_from_there_on(elastic: ElasticBroker) -> None:
    before = known(elastic)
    elastic.kill()
    elastic.start()
    whole = read(elastic)
    move_on(elastic)
    assert known(elastic) == before
    moved(elastic, 2)
    before = known(elastic)
    elastic.kill()
    elastic.start()
    assert read(elastic) < whole // 3
    assert known(elastic) == before
    elastic.kill()


def test_a_file_that_does_not_fit_the_log_is_worth_nothing(elastic: ElasticBroker) -> None:
    before = known(elastic)
    move_on(elastic)
    elastic.kill()
    path = elastic.store_root / "config" / "elasticMap.json"
    good = json.loads(path.read_text())
    sizes = []
    for change in (
        {},
        {"at": good["at"] + 1},
        {"last": 3},
        {"end": good["end"] + 1},
        {"begin": -1},
    ):
        path.write_text(json.dumps({**good, **change}))
        elastic.start()
        sizes.append(read(elastic))
        assert known(elastic) == before
        elastic.kill()
    path.write_text("no JSON")
    elastic.start()
    sizes.append(read(elastic))
    assert known(elastic) == before
    elastic.kill()
    assert sizes[0] < sizes[1]
    assert len(set(sizes[1:])) == 1


def test_a_cut_takes_the_file_with_it(elastic: ElasticBroker) -> None:
    state = elastic.maps.state(TOPIC)
    end = elastic.store.max_physical_offset
    moved(elastic, 2)
    move_on(elastic)
    elastic.broker.parts.before_cut(end)
    elastic.store.cut(end)
    elastic.broker.parts.recover(end)
    assert elastic.maps.state(TOPIC) == state
    # Something else of the same length comes in its place.
    moved(elastic, 2)
    before = known(elastic)
    elastic.kill()
    elastic.start()
    assert known(elastic) == before
    elastic.kill()


def test_a_slave_appends_nothing(elastic: ElasticBroker) -> None:
    elastic.broker.elastic.commits.follow()
    end = elastic.store.max_physical_offset
    before = known(elastic)
    move_on(elastic)
    assert elastic.store.max_physical_offset == end
    elastic.kill()
    elastic.start()
    assert known(elastic) == before
    elastic.kill()


def test_what_is_needed_is_not_appended_again_and_again(elastic: ElasticBroker) -> None:
    """More states than the bound allows: the next time is when as much has come again."""
    kept = elastic.broker.elastic.kept
    kept._hurry()
    assert trio.run(kept._pause.wait, 0)
    move_on(elastic)
    kept._hurry()
    assert not trio.run(kept._pause.wait, 0)
    moved(elastic, 40)
    kept._hurry()
    assert trio.run(kept._pause.wait, 0)
    elastic.kill()
