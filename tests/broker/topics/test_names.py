"""Names against TopicValidator's rules and remarks."""

import pytest

from trimq.broker.topics import names
from trimq.codec.names import is_system_pull_group, is_system_topic


@pytest.mark.parametrize(
    ("name", "remark"),
    [
        ("", "The specified topic is blank."),
        (" \t", "The specified topic is blank."),
        (
            "a b",
            "The specified topic: a b, contains illegal characters, allowing only "
            "^[%|a-zA-Z0-9_-]+$",
        ),
        ("x" * 128, f"The specified topic: {'x' * 128}, is longer than topic max length: 127"),
        (
            "%RETRY%" + "x" * 249,
            f"The specified topic is DLQ or Retry topic: %RETRY%{'x' * 249}, and it's longer than "
            "topic max length: 255",
        ),
    ],
)
def test_a_bad_topic_name_gets_the_real_brokers_remark(name: str, remark: str) -> None:
    assert names.validate_topic(name) == remark


@pytest.mark.parametrize("name", ["x" * 127, "%DLQ%" + "x" * 250, "A|b%c_d-9", "%RETRY%g"])
def test_a_good_topic_name_has_no_remark(name: str) -> None:
    assert names.validate_topic(name) is None


def test_a_group_name_may_have_120_characters() -> None:
    assert names.validate_group("g" * 120) is None
    assert names.validate_group("g" * 121) == (
        f"The specified group: {'g' * 121}, is longer than group max length: 120"
    )
    assert names.validate_group("\n") == "The specified group is blank."
    assert names.validate_group("ä") == (
        "The specified group: ä, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
    )


def test_whose_names_they_are() -> None:
    assert is_system_topic("rmq_sys_wheel_timer")
    assert is_system_topic("BenchmarkTest")
    assert not is_system_topic("%RETRY%g")
    assert names.is_not_allowed_send_topic("SCHEDULE_TOPIC_XXXX")
    assert not names.is_not_allowed_send_topic("BenchmarkTest")
    assert is_system_pull_group("CID_RMQ_SYS_REVIVE_GROUP")
    assert not is_system_pull_group("g")
