"""How a static topic's queues are spread over brokers: no server needed."""

import pytest

from trimq.admin.errors import Invalid
from trimq.admin.topics.remapping import remap
from trimq.admin.topics.static_topics import (
    Configs,
    empty_part,
    epoch_of,
    extend,
    leaders_of,
    mapping_of,
)

NOW = 1_700_000_000_000


def places(configs: Configs) -> dict[int, str | None]:
    return {number: item.bname for number, item in sorted(leaders_of(configs).items())}


def test_first_queues_are_spread_evenly() -> None:
    configs: Configs = {}
    assert extend("T", configs, ["b", "a"], 5, NOW) == NOW
    assert places(configs) == {0: "a", 1: "b", 2: "a", 3: "b", 4: "a"}
    assert (configs["a"].write_queue_nums, configs["b"].read_queue_nums) == (3, 2)
    assert epoch_of(configs) == NOW
    assert {mapping_of(name, one).total_queues for name, one in configs.items()} == {5}


def test_new_queues_go_where_the_fewest_are_and_old_ones_stay() -> None:
    configs: Configs = {}
    extend("T", configs, ["a"], 2, NOW)
    epoch = extend("T", configs, ["b"], 6, NOW)
    assert epoch == NOW + 1000
    assert places(configs) == {0: "a", 1: "a", 2: "b", 3: "b", 4: "a", 5: "b"}
    assert leaders_of(configs)[4].queue_id == 2


def test_a_static_topic_only_grows() -> None:
    configs: Configs = {}
    extend("T", configs, ["a"], 4, NOW)
    for total in (4, 3):
        with pytest.raises(Invalid, match="can only grow"):
            extend("T", configs, ["a"], total, NOW)


def test_parts_that_do_not_fit_together() -> None:
    configs: Configs = {}
    extend("T", configs, ["a", "b"], 4, NOW)
    detail = mapping_of("b", configs["b"])
    detail.epoch += 1
    with pytest.raises(Invalid, match="differ in epoch"):
        epoch_of(configs)
    detail.epoch -= 1
    detail.dirty = True
    with pytest.raises(Invalid, match="'b' is marked as dirty"):
        epoch_of(configs)
    removed = detail.hosted_queues.pop(1)
    with pytest.raises(Invalid, match=r"queues \[1\] of 4 are on no broker"):
        leaders_of(configs)
    removed[0].bname = "a"
    mapping_of("a", configs["a"]).hosted_queues[1] = removed
    with pytest.raises(Invalid, match="share one queue"):
        leaders_of(configs)


def test_a_topic_that_is_not_static() -> None:
    config = empty_part("T", "a")
    config.mapping_detail = None
    with pytest.raises(Invalid, match="'T' is not a static topic on broker 'a'"):
        epoch_of({"a": config})


def test_queues_move_to_where_they_are_wanted_and_as_few_as_possible() -> None:
    configs: Configs = {}
    extend("T", configs, ["a", "b"], 5, NOW)
    done = remap("T", configs, ["b", "c"], NOW)
    assert (done.epoch, done.receivers, done.givers) == (NOW + 1000, {"b", "c"}, {"a"})
    # Each has one more or one less than its share, and those of b stay.
    assert places(configs) == {0: "b", 1: "b", 2: "c", 3: "b", 4: "c"}
    assert (configs["c"].write_queue_nums, configs["c"].read_queue_nums) == (2, 2)
    assert sorted(done.moved) == [0, 2, 4]
    old, new = done.moved[2]
    assert (old.bname, old.gen, old.queue_id) == ("a", 0, 1)
    assert (new.bname, new.gen, new.queue_id, new.logic_offset) == ("c", 1, 0, -1)
    # Whoever has to do with the queue learns where its new part begins.
    for name in ("a", "c"):
        assert mapping_of(name, configs[name]).hosted_queues[2] is done.moved[2]
    assert epoch_of(configs) == NOW + 1000


def test_queues_that_are_spread_evenly_stay() -> None:
    configs: Configs = {}
    extend("T", configs, ["a", "b"], 4, NOW)
    before = places(configs)
    done = remap("T", configs, ["b", "a"], NOW)
    assert (done.moved, places(configs)) == ({}, before)


def test_a_queue_that_comes_back_has_three_parts() -> None:
    configs: Configs = {}
    extend("T", configs, ["a"], 1, NOW)
    remap("T", configs, ["b"], NOW).moved[0][-1].logic_offset = 10_000
    done = remap("T", configs, ["a"], NOW)
    assert [(part.bname, part.gen, part.queue_id) for part in done.moved[0]] == [
        ("a", 0, 0),
        ("b", 1, 0),
        ("a", 2, 1),
    ]
