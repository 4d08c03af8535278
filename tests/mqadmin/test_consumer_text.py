"""What is reported about a group from what its members say about themselves."""

import pytest

from trimq.codec.bodies.heartbeat import SubscriptionData
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.queue_tables import (
    ConsumerRunningInfo,
    ConsumeStatus,
    PopProcessQueueInfo,
    ProcessQueueInfo,
)
from trimq.codec.java import fastjson
from trimq.mqadmin.text.consumers import running_text, same_subscriptions, stuck_queues

NOW = 1_700_000_000_000
LONG_AGO = NOW - 121_000
QUEUE = fastjson.dumps(MessageQueue(broker_name="b", queue_id=1, topic="T")).decode()
WHERE = "c MessageQueue [topic=T, brokerName=b, queueId=1]"


def member(
    tags: str, *, started: int = LONG_AGO, kind: str = "CONSUME_PASSIVELY"
) -> ConsumerRunningInfo:
    return ConsumerRunningInfo(
        properties={"PROP_CONSUME_TYPE": kind, "PROP_CONSUMER_START_TIMESTAMP": str(started)},
        subscription_set=[SubscriptionData(topic="T", sub_string=tags)],
    )


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (member("A"), member("A"), True),
        (member("A"), member("B"), False),
        (member("A", started=NOW - 119_000), member("B"), True),
        (member("A", kind="CONSUME_ACTIVELY"), member("B"), True),
    ],
    ids=["same", "different", "new", "pulling"],
)
def test_subscriptions_are_compared(
    first: ConsumerRunningInfo, second: ConsumerRunningInfo, same: bool
) -> None:
    assert same_subscriptions({"a": first, "b": second}, NOW) is same


def test_the_version_of_a_subscription_does_not_count() -> None:
    one, other = member("A"), member("A")
    other.subscription_set[0].sub_version = 7
    assert same_subscriptions({"a": one, "b": other}, NOW)


@pytest.mark.parametrize(
    ("orderly", "held", "said"),
    [
        (
            False,
            ProcessQueueInfo(cached_msg_count=1, last_consume_timestamp=NOW - 61_000),
            [f"{WHERE} can't consume for a while, maybe blocked, 61000ms"],
        ),
        (False, ProcessQueueInfo(cached_msg_count=1, last_consume_timestamp=NOW - 60_000), []),
        (False, ProcessQueueInfo(cached_msg_count=0, last_consume_timestamp=1), []),
        (
            True,
            ProcessQueueInfo(last_lock_timestamp=NOW - 5),
            [f"{WHERE} can't lock for a while, 5ms"],
        ),
        (
            True,
            ProcessQueueInfo(locked=True, droped=True, try_unlock_times=3),
            [f"{WHERE} unlock 3 times, still failed"],
        ),
        (True, ProcessQueueInfo(locked=True, cached_msg_count=1, last_consume_timestamp=1), []),
    ],
)
def test_stuck_queues_are_named(orderly: bool, held: ProcessQueueInfo, said: list[str]) -> None:
    info = member("A")
    info.properties["PROP_CONSUMEORDERLY"] = str(orderly).lower()
    info.mq_table = {QUEUE: held}
    assert stuck_queues("c", info, NOW) == said
    info.properties["PROP_CONSUME_TYPE"] = "CONSUME_ACTIVELY"
    assert stuck_queues("c", info, NOW) == []


def test_a_popping_consumer_with_stacks() -> None:
    info = member("*")
    info.mq_pop_table = {QUEUE: PopProcessQueueInfo(wait_ack_count=2, last_pop_timestamp=NOW)}
    info.status_table = {"T": ConsumeStatus(pull_rt=1.234, consume_failed_msgs=5)}
    info.user_consumer_info = {"who": "me"}
    info.jstack = "TID: 1 STATE: RUNNABLE\n"
    lines = running_text(info).splitlines()
    popped = f"[waitAckCount:2, droped:false, lastPopTimestamp:{NOW}]"
    assert f"{'T':<32}  {'b':<32}  {1:<4}  PopProcessQueueInfo {popped}" in lines
    pace = "          1.23           0.00           0.00           0.00               0.00"
    assert f"{'T':<32}  {pace}                         5" in lines
    assert f"{'who':<40}: me" in lines
    assert lines[-2:] == ["#Consumer jstack#", "TID: 1 STATE: RUNNABLE"]
