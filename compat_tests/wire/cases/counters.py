"""Which counters a broker has after a message of each kind: every name that RocketMQ knows, every form of a key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from compat_tests.wire.asks import ask, create_group, create_topic, pull, send, send_back
from compat_tests.wire.case import Case
from compat_tests.wire.frames import Frame
from compat_tests.wire.popped import ack, handle_of, pop
from compat_tests.wire.reading import as_json
from compat_tests.wire.stage import Stage

COUNTER: Final = 315
# Those of Stats, BrokerStatsManager and MomentStatsItemSet.
NAMES: Final = """
    QUEUE_PUT_NUMS QUEUE_PUT_SIZE QUEUE_GET_NUMS QUEUE_GET_SIZE TOPIC_PUT_NUMS TOPIC_PUT_SIZE
    GROUP_GET_NUMS GROUP_GET_SIZE SNDBCK_PUT_NUMS BROKER_PUT_NUMS BROKER_GET_NUMS GROUP_GET_FROM_DISK_NUMS
    GROUP_GET_FROM_DISK_SIZE BROKER_GET_FROM_DISK_NUMS BROKER_GET_FROM_DISK_SIZE COMMERCIAL_SEND_TIMES
    COMMERCIAL_SNDBCK_TIMES COMMERCIAL_RCV_TIMES COMMERCIAL_RCV_EPOLLS COMMERCIAL_SEND_SIZE
    COMMERCIAL_RCV_SIZE COMMERCIAL_PERM_FAILURES TOPIC_PUT_LATENCY GROUP_ACK_NUMS GROUP_CK_NUMS
    DLQ_PUT_NUMS BROKER_ACK_NUMS BROKER_CK_NUMS BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC
    BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC SNDBCK2DLQ_TIMES GROUP_GET_FALL_SIZE GROUP_GET_FALL_TIME
    GROUP_GET_LATENCY CONSUMER_REGISTER_TIME PRODUCER_REGISTER_TIME CHANNEL_ACTIVITY RT INNER_RT
    SCHEDULE_PUT_NUMS SCHEDULE_CONSUMER
"""
KEYS: Final = ("$T", "$G", "$T@$G", "0@$T", "0@$T@$G", "DefaultCluster", "")
# Only these have grown by a number that the case knows: the others are the whole broker's, or sizes and times.
COUNTED: Final = (
    ("TOPIC_PUT_NUMS", "$T"),
    ("GROUP_GET_NUMS", "$T@$G"),
    ("SNDBCK_PUT_NUMS", "$T@$G"),
)


def which_exist(stage: Stage) -> None:
    for frame in (create_topic(), create_group(), *(send(b"%d" % number) for number in range(4))):
        stage.must(frame)
    stage.must(pull(maxMsgNums=2))
    sent = stage.must(send(b"back"))
    stage.must(send_back(int(sent.ext["msgId"][16:], 16)))
    popped = stage.must(pop(initMode=0, queueId=0, maxMsgNums=1))
    stage.must(ack(handle_of(popped)))
    # A dead letter: the retries are used up.
    stage.must(send_back(int(sent.ext["msgId"][16:], 16), delayLevel=-1))
    for name, key in COUNTED:
        question = ask(COUNTER, {"statsName": name, "statsKey": key})
        stage.until(question, lambda reply: grown(reply) > 0)
    for name in NAMES.split():
        stage.record(name, [key for key in KEYS if exists(stage, name, key)])


def exists(stage: Stage, name: str, key: str) -> bool:
    return stage.ask(ask(COUNTER, {"statsName": name, "statsKey": key})).code == 0


def grown(reply: Frame) -> Any:
    return as_json(reply.body)["value"]["statsMinute"]["sum"] if reply.code == 0 else 0


def cases() -> Iterator[Case]:
    yield Case("counters: which names exist", which_exist)
