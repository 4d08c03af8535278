"""The checks and turns of a put, and how refusals are named."""

import pytest

from trimq.base.clock import Clock
from trimq.broker.produce.puts.rules import (
    PutRefused,
    PutRules,
    PutStatus,
    disk_usage,
    put_answer,
    put_status,
)
from trimq.broker.timers.schedule_rule import TimerRule
from trimq.codec.errors import CodecError
from trimq.codec.flags import SysFlag
from trimq.codec.records.properties import parse_properties
from trimq.store import errors
from trimq.store.config import StoreConfig
from trimq.store.disk.usage import used_share
from trimq.store.messages.message import Message

RULES = PutRules((1000, 5000), lambda: None, TimerRule(StoreConfig(), Clock(), None))


def applied(properties, sys_flag=0, topic="T", attributes=None):
    message = Message(topic, 3, b"x", sys_flag=sys_flag)
    RULES.apply(message, properties, attributes)
    return message


def test_an_ordinary_message_stays_where_it_is():
    message = applied({"K": "v"})
    assert (message.topic, message.queue_id) == ("T", 3)
    assert parse_properties(message.properties) == {"K": "v"}


@pytest.mark.parametrize("sys_flag", [0, SysFlag.COMMIT])
def test_a_delayed_one_goes_to_its_level(sys_flag):
    message = applied({"DELAY": "9", "TIMER_DELAY_MS": "5"}, sys_flag)
    assert (message.topic, message.queue_id) == ("SCHEDULE_TOPIC_XXXX", 1)
    assert parse_properties(message.properties) == {
        "DELAY": "2",
        "REAL_TOPIC": "T",
        "REAL_QID": "3",
    }


@pytest.mark.parametrize("sys_flag", [SysFlag.PREPARED, SysFlag.ROLLBACK])
def test_half_messages_are_not_delayed(sys_flag):
    assert applied({"DELAY": "1", "TIMER_DELAY_MS": "5"}, sys_flag).topic == "T"


def test_timer_messages_need_a_wheel():
    for key in ("TIMER_DELIVER_MS", "TIMER_DELAY_SEC", "TIMER_DELAY_MS"):
        with pytest.raises(PutRefused, match="WHEEL_TIMER_NOT_ENABLE"):
            applied({key: "5"})
    # One that a wheel has sent off already is an ordinary message.
    assert applied({"TIMER_DELIVER_MS": "5", "TIMER_OUT_MS": "5"}).topic == "T"


def test_inner_batches_need_flag_and_queue_type():
    batch = {"queue.type": "BatchCQ"}
    assert applied({"INNER_NUM": "2"}, SysFlag.INNER_BATCH, attributes=batch).topic == "T"
    for sys_flag, attributes in (
        (0, batch),
        (SysFlag.INNER_BATCH, None),
        (SysFlag.INNER_BATCH, {}),
    ):
        with pytest.raises(PutRefused, match="MESSAGE_ILLEGAL"):
            applied({"INNER_NUM": "2"}, sys_flag, attributes=attributes)
    for count in ("x", "32768", "99999999999"):
        with pytest.raises(CodecError, match="INNER_NUM"):
            applied({"INNER_NUM": count}, SysFlag.INNER_BATCH, attributes=batch)


@pytest.mark.parametrize(
    ("topic", "fits"),
    [
        ("t" * 127, True),
        ("t" * 128, False),
        ("%RETRY%" + "t" * 248, True),
        ("%RETRY%" + "t" * 249, False),
        ("%DLQ%" + "t" * 123, False),
    ],
)
def test_topics_that_are_too_long_to_store(topic, fits):
    if fits:
        assert applied({}, topic=topic).topic == topic
    else:
        with pytest.raises(PutRefused, match="MESSAGE_ILLEGAL"):
            applied({}, topic=topic)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.MessageTooLarge(), PutStatus.MESSAGE_ILLEGAL, 13),
        (errors.PropertiesLookTorn(), PutStatus.MESSAGE_ILLEGAL, 13),
        (errors.PropertiesTooLong(), PutStatus.PROPERTIES_SIZE_EXCEEDED, 13),
        (errors.StoreNotWritable(), PutStatus.SERVICE_NOT_AVAILABLE, 14),
        (errors.DiskFull(), PutStatus.SERVICE_NOT_AVAILABLE, 14),
        (errors.StoreError(), PutStatus.UNKNOWN_ERROR, 1),
        (PutRefused(PutStatus.WHEEL_TIMER_NOT_ENABLE, ""), PutStatus.WHEEL_TIMER_NOT_ENABLE, 1),
    ],
)
def test_how_refusals_are_named(tmp_path, error, status, code):
    assert put_status(error) is status
    assert put_answer(error, StoreConfig(root=tmp_path), used_share)[0] == code


def test_how_full_the_disks_are(tmp_path):
    config = StoreConfig(root=tmp_path)
    assert disk_usage(config, used_share) == "CL: -1.00 CQ: -1.00 INDEX: -1.00"
    config.commit_log.mkdir()
    assert disk_usage(config, used_share).startswith("CL:  0.")
