"""What a group misses whose members subscribe differently."""

import pytest

from trimq.admin.groups.losses import (
    FILTERED,
    REJECTED,
    UNREAD,
    Loss,
    losses_of_manner,
    losses_of_topic,
)
from trimq.codec.bodies.heartbeat import SubscriptionData
from trimq.codec.bodies.locks import MessageQueue

QUEUES = [MessageQueue(broker_name="b", queue_id=number, topic="T") for number in range(4)]


def sub(expression: str, kind: str = "TAG") -> SubscriptionData:
    return SubscriptionData(topic="T", sub_string=expression, expression_type=kind)


def losses(
    in_force: str | None, wishes: dict[str, str | None], held: dict[str, list[int] | None]
) -> list[Loss]:
    return losses_of_topic(
        None if in_force is None else sub(in_force),
        {name: None if wish is None else sub(wish) for name, wish in wishes.items()},
        {name: None if ids is None else [QUEUES[i] for i in ids] for name, ids in held.items()},
        QUEUES,
    )


def test_two_tags() -> None:
    of_x, of_y = losses("b", {"x": "a", "y": "b"}, {"x": [0, 1], "y": [2, 3]})
    assert (of_x.kind, of_x.members, of_x.queues) == (FILTERED, ["x"], QUEUES[:2])
    # The broker keeps a back, the member drops b.
    assert of_x.tags == ["a", "b"]
    assert of_x.text == (
        "messages with tags a, b in queues 0, 1 of b of x are skipped: the broker lets 'b' through, "
        "x itself takes 'a'"
    )
    assert (of_y.members, of_y.queues, of_y.tags) == (["y"], QUEUES[2:], ["a"])


@pytest.mark.parametrize(
    ("in_force", "wish", "tags", "kept"),
    [
        ("a", "a", ["*"], ["a"]),
        ("*", "a", ["*"], ["a"]),
        ("a", "*", ["*"], ["a"]),
        ("a", "b", ["*"], []),
    ],
)
def test_one_member_wants_everything(
    in_force: str, wish: str, tags: list[str], kept: list[str]
) -> None:
    found = losses(in_force, {"x": wish, "y": "*"}, {"x": [0], "y": []})
    assert [(one.members, one.tags, one.kept) for one in found] == [(["x"], tags, kept)]


def test_a_member_that_gets_all_that_the_group_wants_loses_nothing() -> None:
    assert losses("*", {"x": "*", "y": "a"}, {"x": [0], "y": []}) == []
    assert losses("b || a", {"x": "a || b", "y": "a"}, {"x": [0], "y": []}) == []


def test_queues_of_members_that_do_not_want_the_topic_are_not_read() -> None:
    (loss,) = losses("*", {"x": "*", "y": None}, {"x": [0, 1], "y": []})
    assert (loss.kind, loss.members, loss.queues) == (UNREAD, ["y"], QUEUES[2:])
    assert loss.text == "y does not want the topic: nobody reads queues 2, 3 of b"
    assert losses("*", {"x": "*", "y": None}, {"x": [0, 1, 2, 3], "y": None}) == []


def test_a_member_that_cannot_be_asked_leaves_the_queues_unknown() -> None:
    (loss,) = losses("*", {"x": "*", "y": None}, {"x": None, "y": []})
    assert (loss.kind, loss.queues) == (UNREAD, None)
    (loss,) = losses("a", {"x": "b"}, {"x": None})
    assert (loss.kind, loss.queues, loss.tags) == (FILTERED, None, ["b"])


def test_a_removed_topic_is_not_read_until_it_comes_back() -> None:
    unread, rejected = losses(None, {"x": "a", "y": None}, {"x": [0], "y": []})
    assert (unread.kind, rejected.kind, rejected.members) == (UNREAD, REJECTED, ["x"])
    assert rejected.text.startswith("the heartbeat of y has removed the topic")


def test_other_expressions_are_told_in_words_only() -> None:
    wishes = {"x": sub("i > 1", "SQL92"), "y": sub("a")}
    held = {"x": QUEUES[:1], "y": QUEUES[1:]}
    found = losses_of_topic(sub("a"), wishes, held, QUEUES)
    assert [(one.members, one.tags) for one in found] == [(["x"], []), (["y"], [])]


def test_members_that_all_read_everything_leave_no_queue() -> None:
    assert losses_of_topic(sub("*"), {"x": sub("*"), "y": None}, {"x": QUEUES}, None) == []


@pytest.mark.parametrize("name", ["consumeType", "messageModel", "consumeFromWhere"])
def test_ways_to_consume(name: str) -> None:
    (loss,) = losses_of_manner(name, {"ONE": ["x"], "OTHER": ["y", "z"]})
    assert loss.members == ["x", "y", "z"]
    assert loss.text.startswith("ONE (x) and OTHER (y, z): ")
