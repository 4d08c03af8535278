"""How a static topic's queues are spread over brokers: no server needed."""

import pytest

from admin.errors import Invalid
from admin.static_topics import Configs, empty_part, epoch_of, extend, leaders_of, mapping_of

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
    with pytest.raises(Invalid, match="'T' is no static topic on broker 'a'"):
        epoch_of({"a": config})
