"""SEND_MESSAGE and SEND_MESSAGE_V2: every field, every refusal, and what is stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from compat_tests.wire import records
from compat_tests.wire.asks import (
    V2_NAMES,
    ask,
    changed,
    create_topic,
    properties,
    pull,
    send,
    send_v2,
)
from compat_tests.wire.case import Case, in_binary, row
from compat_tests.wire.frames import Frame
from compat_tests.wire.stage import Stage

MIB: Final = 1 << 20
FIELDS: Final = [
    "producerGroup",
    "topic",
    "defaultTopic",
    "defaultTopicQueueNums",
    "queueId",
    "sysFlag",
    "bornTimestamp",
    "flag",
    "properties",
    "reconsumeTimes",
    "unitMode",
    "batch",
]
NUMBERS: Final = [
    "defaultTopicQueueNums",
    "queueId",
    "sysFlag",
    "bornTimestamp",
    "flag",
    "reconsumeTimes",
    "maxReconsumeTimes",
]
NOT_FOR_PRODUCERS: Final = [
    "SCHEDULE_TOPIC_XXXX",
    "RMQ_SYS_TRANS_HALF_TOPIC",
    "RMQ_SYS_TRANS_OP_HALF_TOPIC",
    "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC",
    "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC",
    "TRANS_CHECK_MAX_TIME_TOPIC",
    "SELF_TEST_TOPIC",
    "OFFSET_MOVED_EVENT",
]
TOPIC_CONFIG: Final = ask(351, {"topic": "$T"})


def cases() -> Iterator[Case]:
    yield from plain()
    yield from fields()
    yield from queues()
    yield from topics()
    yield from creation()
    yield from bodies()
    yield from property_rules()
    yield from reserved_properties()
    yield from flags()
    yield oneway()


def plain() -> Iterator[Case]:
    stored: dict[str, Any] = {"before": [create_topic()], "after": [pull()]}
    yield row("send: long names", send(), **stored)
    yield row("send: one-letter names", send_v2(), **stored)
    yield in_binary("send: long names", send(), **stored)
    yield in_binary("send: one-letter names", send_v2(), **stored)
    yield row("send: on the fast port", send(), before=[create_topic()], on="fast")
    for version in (0, 62, 120, 121, 317, 401, 475):
        request = send()
        request.version = version
        yield row(f"send: from a client of version {version}", request, before=[create_topic()])
    go = send_v2()
    go.language = 9
    yield row("send: from Go", go, before=[create_topic()])


def fields() -> Iterator[Case]:
    stored: dict[str, Any] = {"before": [create_topic()], "after": [pull()]}
    for name in FIELDS:
        yield row(f"send: without {name}", changed(send(), **{name: None}), **stored)
        letter = V2_NAMES[name]
        yield row(f"send v2: without {name}", changed(send_v2(), **{letter: None}), **stored)
    for name in NUMBERS:
        yield row(
            f"send: {name} is no number", changed(send(), **{name: "many"}), before=[create_topic()]
        )
        request = changed(send_v2(), **{V2_NAMES[name]: "many"})
        yield row(f"send v2: {name} is no number", request, before=[create_topic()])
    for value in ("", " 1", "1.0", "+1", "99999999999", "0x1"):
        request = send(queueId=value)
        yield row(f"send: queueId is {value!r}", request, before=[create_topic()])
    yield row("send: unitMode is no boolean", send(unitMode="perhaps"), **stored)
    yield row("send: TRUE is true", send(unitMode="TRUE"), **stored)
    yield row("send: a field nobody knows", changed(send(), surprise="yes"), **stored)
    yield row("send: no fields at all", ask(10, body=b"hello"))
    yield row("send v2: no fields at all", ask(310, body=b"hello"))


def queues() -> Iterator[Case]:
    for queue in (3, 4, 99, 2147483647):
        request = send(queueId=queue)
        yield row(f"send: queue {queue} of 4", request, before=[create_topic()])
    for queue in (-1, -2):
        request = send(queueId=queue)
        yield row(f"send: queue {queue} of 1", request, before=[create_topic(queues=1)])
    yield any_queue()
    uneven = create_topic(readQueueNums=6, writeQueueNums=2)
    yield row("send: queue between write and read number", send(queueId=5), before=[uneven])
    yield row("send: queue above both numbers", send(queueId=6), before=[uneven])
    for perm in (0, 1, 2, 4, 6):
        request, setting = send(), [create_topic(perm=perm)]
        yield row(f"send: topic with permission {perm}", request, before=setting)


def any_queue() -> Case:
    def play(stage: Stage) -> None:
        stage.must(create_topic())
        chosen = {int(stage.must(send(queueId=-1)).ext["queueId"]) for _ in range(60)}
        stage.record("queues chosen for -1", sorted(chosen))

    return Case("send: the broker chooses among all queues", play)


def topics() -> Iterator[Case]:
    named = {
        "empty": "",
        "blank": "  ",
        "with a dot": "a.b",
        "with a space": "a b",
        "with an at sign": "a@b",
        "with an umlaut": "täg",
        "with percent and bar": "a%b|c_d-e-$RUN",
        "of 127 letters": "t" * 119 + "$RUN",
        "of 128 letters": "t" * 120 + "$RUN",
        "of 128 letters as dead letter": "%DLQ%" + "t" * 115 + "$RUN",
        "of 128 letters as retry": "%RETRY%" + "t" * 113 + "$RUN",
        "of 127 letters as retry": "%RETRY%" + "t" * 112 + "$RUN",
        "of 255 letters as retry": "%RETRY%" + "t" * 240 + "$RUN",
        "of 256 letters as retry": "%RETRY%" + "t" * 241 + "$RUN",
        "with a reserved prefix": "rmq_sys_$RUN",
        "only a retry prefix": "%RETRY%",
    }
    for what, topic in named.items():
        yield row(f"send: topic {what}", send(topic=topic))
        again = topic.replace("$RUN", "2$RUN").replace("tt2", "t2")
        yield row(f"send v2: topic {what}", send_v2(topic=again))
    for topic in NOT_FOR_PRODUCERS:
        yield row(f"send: to {topic}", send(topic=topic))
    yield row("send v2: to SCHEDULE_TOPIC_XXXX", send_v2(topic="SCHEDULE_TOPIC_XXXX"))
    for topic in ("TBW102", "RMQ_SYS_TRACE_TOPIC", "CHECKPOINT_TOPIC", "%DLQ%"):
        yield to_shared_topic(topic)


def to_shared_topic(topic: str) -> Case:
    """Every run sends there: the offset says nothing."""

    def play(stage: Stage) -> None:
        reply = stage.ask(send(topic=topic))
        stage.record("reply", [reply.code, reply.remark, sorted(reply.ext)])

    return Case(f"send: to {topic}", play, alone=True)


def creation() -> Iterator[Case]:
    shown: dict[str, Any] = {"after": [TOPIC_CONFIG]}
    for number in (-1, 0, 1, 3, 8, 16):
        request = send(defaultTopicQueueNums=number)
        yield row(f"send: creates a topic with {number} queues", request, **shown)
    yield row("send: creates no topic without a template", send(defaultTopic="NoSuch"), **shown)
    yield row("send v2: creates no topic without a template", send_v2(defaultTopic="NoSuch"))
    yield row("send: template is empty", send(defaultTopic=""), **shown)
    yield row("send: template does not pass on", send(defaultTopic="SELF_TEST_TOPIC"), **shown)
    template = create_topic("X$T", queues=3, perm=7)
    yield row("send: own template", send(defaultTopic="X$T"), before=[template], **shown)
    reading = create_topic("X$T", queues=3, perm=5)
    yield row("send: template read only", send(defaultTopic="X$T"), before=[reading], **shown)
    yield row("send: creates a topic in unit mode", send(unitMode=True), **shown)
    yield row("send: creates a topic, queue out of range", send(queueId=4), **shown)
    retry = ask(351, {"topic": "%RETRY%$G"})
    yield row("send: creates a retry topic", send(topic="%RETRY%$G"), after=[retry])
    request = send(topic="%RETRY%$G", defaultTopic="NoSuch")
    yield row("send: creates a retry topic without a template", request, after=[retry])
    dead = ask(351, {"topic": "%DLQ%$G"})
    yield row("send: creates a dead letter topic", send(topic="%DLQ%$G"), after=[dead])


def bodies() -> Iterator[Case]:
    stored: dict[str, Any] = {"before": [create_topic()], "after": [pull()]}
    sizes = {"4 MiB": 4 * MIB, "4 MiB and a byte": 4 * MIB + 1, "5 MiB": 5 * MIB, "5 KiB": 5120}
    for what, size in sizes.items():
        yield row(f"send: body of {what}", send(b"x" * size), **stored)
    yield row("send: body of one byte", send(b"\x00"), **stored)
    yield row("send: empty body", send(b""), **stored)
    yield row("send v2: empty body", send_v2(b""), **stored)
    yield row("send v2: body of 4 MiB and a byte", send_v2(b"x" * (4 * MIB + 1)), **stored)


def property_rules() -> Iterator[Case]:
    stored: dict[str, Any] = {"before": [create_topic()], "after": [pull()]}
    texts = {
        "empty": "",
        "no separator at the end": "UNIQ_KEY\x01U1\x02k\x01v",
        "an entry without a separator": "UNIQ_KEY\x01U1\x02nonsense\x02k\x01v\x02",
        "an empty key": "UNIQ_KEY\x01U1\x02\x01v\x02k\x01v\x02",
        "an empty value": "UNIQ_KEY\x01U1\x02k\x01\x02l\x01v\x02",
        "two separators": "UNIQ_KEY\x01U1\x02k\x01v\x01w\x02",
        "the same key twice": "UNIQ_KEY\x01U1\x02k\x01v\x02k\x01w\x02",
        "one letter each": "UNIQ_KEY\x01U1\x02a\x01b\x02",
        "letters beyond ASCII": "UNIQ_KEY\x01U1\x02größe\x01große Ü 你好 😀\x02",
        "no WAIT": "UNIQ_KEY\x01U1\x02TAGS\x01A\x02",
        "WAIT false": "UNIQ_KEY\x01U1\x02WAIT\x01false\x02",
        "keys and tag": "UNIQ_KEY\x01U1\x02KEYS\x01k1 k2\x02TAGS\x01TagA\x02",
        "no unique key": "TAGS\x01A\x02",
        "an empty unique key": "UNIQ_KEY\x01\x02TAGS\x01A\x02",
    }
    for what, text in texts.items():
        yield row(f"send: properties: {what}", send(properties=text), **stored)
    for length in (32000, 32600, 32680, 32700, 32766, 32767, 32768, 40000):
        text = properties(UNIQ_KEY="U1", k="v" * (length - 14))
        yield row(f"send: properties of {length} bytes", send(properties=text), **stored)
    text = properties(UNIQ_KEY="U1", k="ä" * 16300)
    yield row("send: properties of 16 300 letters, twice as many bytes", send(properties=text))


def reserved_properties() -> Iterator[Case]:
    stored: dict[str, Any] = {"before": [create_topic()], "after": [pull()]}
    reserved = {
        "MSG_REGION": "Elsewhere",
        "TRACE_ON": "false",
        "CLUSTER": "Elsewhere",
        "POP_CK": "0 1 2 3 0 broker-a 0 0",
        "1ST_POP_TIME": "5",
        "INNER_NUM": "3",
        "INNER_BASE": "3",
        "MIN_OFFSET": "5",
        "MAX_OFFSET": "5",
        "RECONSUME_TIME": "3",
        "REAL_TOPIC": "Other",
        "REAL_QID": "3",
        "RETRY_TOPIC": "Other",
        "ORIGIN_MESSAGE_ID": "X",
        "__SHARDINGKEY": "s",
        "TRAN_MSG": "false",
        "PGROUP": "P",
        "INSTANCE_ID": "I",
        "BUYER_ID": "B",
        "__RMQ.TRANSIENT.X": "y",
        "_SYS_MSG_PRIORITY_": "2",
        "MSG_TYPE": "reply",
        "__BORNHOST": "1.2.3.4",
        "BORN_TIMESTAMP": "5",
        "TIMER_DELAY_SEC": "0",
        "DELAY": "0",
    }
    for key, value in reserved.items():
        text = properties(UNIQ_KEY="U1", **{key: value})
        yield row(f"send: reserved property {key}", send(properties=text), **stored)
    for value in ("-1", "many", ""):
        text = properties(UNIQ_KEY="U1", DELAY=value)
        yield row(f"send: DELAY is {value!r}", send(properties=text), **stored)


def flags() -> Iterator[Case]:
    """Not the two address bits: the real broker writes a record then that it cannot read back."""
    stored: dict[str, Any] = {"before": [create_topic()], "after": [pull()]}
    for value in (1, 2, 0x100, 0x301, 0x40, 0x80):
        yield row(f"send: sysFlag {value:#x}", send(sysFlag=value), **stored)
    for value in (7, -1, 2147483647):
        yield row(f"send: flag {value}", send(flag=value), **stored)
    yield row("send: reconsumeTimes 5", send(reconsumeTimes=5), **stored)
    yield row("send: reconsumeTimes -1", send(reconsumeTimes=-1), **stored)
    yield row("send: born at 0", send(bornTimestamp=0), **stored)
    tags = properties(UNIQ_KEY="U1", TAGS="A||B")
    multi: dict[str, Any] = {
        "before": [create_topic(topicFilterType="MULTI_TAG")],
        "after": [pull()],
    }
    yield row("send: topic of many tags", send(properties=tags), **multi)


def oneway() -> Case:
    def play(stage: Stage) -> None:
        stage.must(create_topic())
        link = stage.link()
        one_way = link.post_oneway(stage.request(send(b"one way")))
        refused = link.post_oneway(stage.request(send(b"refused", topic="a.b")))
        stage.show("the next request is answered", send(b"asked", queueId=1))
        stage.record("oneway send answered", link.has_reply(one_way, 0.2))
        stage.record("refused oneway send answered", link.has_reply(refused, 0))
        stage.show("it is stored", pull(), reader=bodies_only)

    return Case("send: one way", play)


def bodies_only(body: bytes) -> list[str]:
    return [record.body.decode() for record in records.read_records(body)]


def sent(stage: Stage, *requests: Frame) -> list[Frame]:
    """Send and get the replies: the setting of other cases."""
    return [stage.must(request) for request in requests]
