"""Names of light queues, and what records say about the light queues they are in."""

import pytest

from trimq.codec import names
from trimq.codec.records.multi_dispatch import (
    light_places,
    split_names,
    wanted_names,
    with_offsets,
    without_offsets,
)
from trimq.codec.records.properties import format_properties, parse_properties


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("%LMQ%$t$l", ("t", "l")),
        ("%LMQ%$t$", None),
        ("%LMQ%$$l", None),
        ("%LMQ%$t", None),
        ("%LMQ%$t$l$m", None),
        ("%LMQ%t$l", None),
        ("t", None),
    ],
)
def test_parts_of_lite_names(name: str, parts: tuple[str, str] | None) -> None:
    assert names.lite_queue_parts(name) == parts


def test_a_built_name_has_its_parts() -> None:
    name = names.lite_queue("parent", "child")
    assert names.is_lite_queue(name)
    assert names.lite_queue_parts(name) == ("parent", "child")
    assert names.is_light(name)
    assert names.is_light("%LMQ%x")
    assert not names.is_lite_queue("%LMQ%x")
    assert not names.is_light("x%LMQ%")


@pytest.mark.parametrize(
    ("topic", "allowed"),
    [
        ("T", True),
        ("RMQ_SYS_TRANS_HALF_TOPIC", True),
        ("%RETRY%g", False),
        ("%DLQ%g", False),
        ("rmq_sys_wheel_timer", False),
        ("SCHEDULE_TOPIC_XXXX", False),
    ],
)
def test_topics_with_light_queues(topic: str, allowed: bool) -> None:
    assert names.allows_light(topic) is allowed


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("a", ["a"]), ("a,b,,", ["a", "b"]), (",a", ["", "a"]), (",", []), ("a,,b", ["a", "", "b"])],
)
def test_names_are_split_as_java_does(value: str, wanted: list[str]) -> None:
    assert split_names(value) == wanted


def test_wanted_names() -> None:
    assert wanted_names(b"A\x01b\x02INNER_MULTI_DISPATCH\x01%LMQ%a,%LMQ%b\x02") == [
        "%LMQ%a",
        "%LMQ%b",
    ]
    assert wanted_names(b"INNER_MULTI_DISPATCH\x01  \x02") == []
    assert wanted_names(b"XINNER_MULTI_DISPATCH\x01%LMQ%a\x02") == []
    assert wanted_names(b"") == []


def test_stored_properties_name_the_offsets() -> None:
    sent = {"INNER_MULTI_DISPATCH": "%LMQ%a,%LMQ%b", "WAIT": "true", "K": "v"}
    sent["INNER_MULTI_QUEUE_OFFSET"] = "77,78"
    stored = with_offsets(format_properties(sent)[:-1], [3, 0])
    assert parse_properties(stored) == {
        "INNER_MULTI_DISPATCH": "%LMQ%a,%LMQ%b",
        "WAIT": "true",
        "K": "v",
        "INNER_MULTI_QUEUE_OFFSET": "3,0",
    }
    assert light_places(stored) == (("%LMQ%a", 3), ("%LMQ%b", 0))
    assert light_places(without_offsets(stored)) == ()


@pytest.mark.parametrize(
    ("queues", "offsets", "places"),
    [
        ("%LMQ%a", "5", (("%LMQ%a", 5),)),
        ("%LMQ%a,%LMQ%a", "5,5", (("%LMQ%a", 5),)),
        ("%LMQ%a,%LMQ%b", "5", ()),
        ("%LMQ%a,other", "5,6", (("%LMQ%a", 5),)),
        ("%LMQ%a,%LMQ%../x", "5,6", (("%LMQ%a", 5),)),
        ("%LMQ%" + "x" * 251 + ",%LMQ%b", "5,6", (("%LMQ%b", 6),)),
        ("%LMQ%" + "x" * 250, "5", (("%LMQ%" + "x" * 250, 5),)),
        ("%LMQ%a,%LMQ%b", ",6", (("%LMQ%b", 6),)),
        ("%LMQ%a", "-5", ()),
        ("%LMQ%a", "5000000000000000000", ()),
        ("%LMQ%a", "\u0665", ()),
        ("", "5", ()),
        ("%LMQ%a", "", ()),
    ],
)
def test_places_of_a_record(queues: str, offsets: str, places: tuple[tuple[str, int], ...]) -> None:
    properties = f"INNER_MULTI_DISPATCH\x01{queues}\x02INNER_MULTI_QUEUE_OFFSET\x01{offsets}\x02"
    assert light_places(properties.encode()) == places
