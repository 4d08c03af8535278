"""Changing attributes: what is allowed, and what a refusal says (AttributeUtil)."""

import pytest

from trimq.broker.tables.attributes import GROUP_ATTRIBUTES, TOPIC_ATTRIBUTES, alter, parse_changes
from trimq.codec.codes import ResponseCode
from trimq.remoting.contract import RemotingError


def test_changes_are_read_from_their_text() -> None:
    assert parse_changes("+message.type=FIFO,-reserve.time") == {
        "+message.type": "FIFO",
        "-reserve.time": "",
    }
    assert parse_changes(None) == parse_changes("") == parse_changes(",") == {}
    assert parse_changes("+a=1=2,+b==x=,+c=3,,") == {"+a": "1", "+b": "", "+c": "3"}


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("a=1", "add/alter attribute format is wrong: a"),
        ("a", "delete attribute format is wrong: a"),
        ("+a=1,+a=2", "key duplication: +a"),
        ("+a=1,,+b=2", "delete attribute format is wrong: "),
        (",+a=1", "delete attribute format is wrong: "),
        ("+lite.bind.topic=", "Index 1 out of bounds for length 1"),
        ("=", "Index 0 out of bounds for length 0"),
    ],
)
def test_a_text_that_is_not_a_change_is_refused(text: str, remark: str) -> None:
    with pytest.raises(RemotingError) as refused:
        parse_changes(text)
    assert (refused.value.code, refused.value.remark) == (ResponseCode.SYSTEM_ERROR, remark)


def test_set_change_and_remove() -> None:
    created = alter(TOPIC_ATTRIBUTES, None, {"+message.type": "FIFO", "+queue.type": "BatchCQ"})
    assert created == {"message.type": "FIFO", "queue.type": "BatchCQ"}
    changed = alter(TOPIC_ATTRIBUTES, created, {"+message.type": "DELAY"})
    assert changed == {"message.type": "DELAY", "queue.type": "BatchCQ"}
    assert alter(TOPIC_ATTRIBUTES, changed, {"-message.type": ""}) == {"queue.type": "BatchCQ"}
    assert created["message.type"] == "FIFO"


FIFO = {"message.type": "FIFO"}


@pytest.mark.parametrize(
    ("current", "changes", "remark"),
    [
        (None, {"-a": ""}, "only add attribute is supported while creating topic. key: a"),
        ({}, {"-message.type": ""}, "attempt to delete a nonexistent key: message.type"),
        ({}, {"message.type": "FIFO"}, "wrong format key: essage.type"),
        ({}, {"+": "1"}, "kv string format wrong."),
        ({}, {"+a+b": "1"}, "kv string format wrong."),
        ({}, {"+x": "1"}, "unsupported key: x"),
        ({}, {"+queue.type": "X"}, "attempt to update an unchangeable attribute. key: queue.type"),
        (None, {"+queue.type": "X"}, "value is not in set: [SimpleCQ, BatchCQ]"),
        ({}, {"+reserve.time": "-2"}, "value is not in range(-1, 9223372036854775807)"),
        ({}, {"+reserve.time": "soon"}, 'For input string: "soon"'),
        (
            FIFO,
            {"+message.type": "A", "-message.type": ""},
            "alter duplication key. key: message.type",
        ),
    ],
)
def test_a_refusal_reads_as_the_real_one(
    current: dict[str, str] | None, changes: dict[str, str], remark: str
) -> None:
    with pytest.raises(RemotingError) as refused:
        alter(TOPIC_ATTRIBUTES, current, changes)
    assert refused.value.remark == remark


def test_group_attributes() -> None:
    changes = {"+lite.sub.model": "Exclusive", "+lite.sub.reset.offset.exclusive": "TRUE"}
    assert len(alter(GROUP_ATTRIBUTES, None, changes)) == 2
    with pytest.raises(RemotingError, match="boolean attribute format is wrong"):
        alter(GROUP_ATTRIBUTES, {}, {"+lite.sub.reset.offset.exclusive": "yes"})
    with pytest.raises(RemotingError, match=r"value is not in range\(0, 100\)"):
        alter(GROUP_ATTRIBUTES, {}, {"+priority.factor": "101"})
