"""Replies of request-reply: the push to the requester, what is stored, and every refusal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from compat_tests.wire import frames, reading
from compat_tests.wire.asks import (
    PULL_SUBSCRIPTION,
    PULL_SUSPEND,
    ask,
    body_of,
    changed,
    create_topic,
    heartbeat,
    properties,
    pull,
    send,
    send_v2,
    unregister,
)
from compat_tests.wire.case import Case, in_binary, row
from compat_tests.wire.frames import RESPONSE_FLAG, Frame
from compat_tests.wire.stage import Stage

LONG: Final = 324
SHORT: Final = 325
GET_CONFIG: Final = 351
REPLY_TOPIC: Final = "DefaultCluster_REPLY_TOPIC"
# Held until the reply shows: the real broker's queues are filled in the background.
STORED: Final = pull(sysFlag=PULL_SUBSCRIPTION | PULL_SUSPEND)
# Longer than a broker waits for the requester.
PATIENCE: Final = 15.0


def cases() -> Iterator[Case]:
    yield from unasked()
    yield from refusals()
    yield from stored_ones()
    yield answered("reply: taken by the requester", LONG, 0)
    yield answered("reply v2: taken by the requester", SHORT, 0)
    yield answered("reply v2: refused by the requester", SHORT, 1)
    yield answered("reply v2: the requester answers another code", SHORT, 208)
    yield delayed()
    yield with_fields()
    yield silent()
    yield from gone()
    yield latest_connection()
    yield oneway()
    yield row("reply: the reply topic", ask(GET_CONFIG, {"topic": REPLY_TOPIC}))


def reply(body: bytes = b"the answer", code: int = SHORT, **fields: object) -> Frame:
    """A reply to the case's own topic: the reply topic is shared by all."""
    build = send if code == LONG else send_v2
    text = properties(UNIQ_KEY="U1", REPLY_TO_CLIENT="$C", CORRELATION_ID="c-1", WAIT="true")
    return build(body, code=code, **{"properties": text, **fields})


def unasked() -> Iterator[Case]:
    stored: dict[str, Any] = {"before": [create_topic()], "after": [STORED]}
    for code in (LONG, SHORT):
        yield row(f"reply {code}: to nobody", reply(code=code), **stored)
        without = reply(code=code, properties=properties(UNIQ_KEY="U1"))
        yield row(f"reply {code}: names no requester", without, **stored)
        yield row(f"reply {code}: no properties", reply(code=code, properties=None), **stored)
        yield row(f"reply {code}: on the fast port", reply(code=code), on="fast")
        yield in_binary(f"reply {code}: to nobody", reply(code=code), **stored)
        yield row(f"reply {code}: no fields", ask(code, body=b"x"))
        yield row(f"reply {code}: empty body", reply(b"", code=code), **stored)
    empty = properties(UNIQ_KEY="U1", REPLY_TO_CLIENT="")
    yield row("reply: to a client without a name", reply(properties=empty), **stored)


def refusals() -> Iterator[Case]:
    yield row("reply: topic with a dot", reply(topic="a.b"))
    yield row("reply: topic empty", reply(topic=""))
    yield row("reply: topic of 128 letters", reply(topic="t" * 120 + "$RUN"))
    yield row("reply: to SCHEDULE_TOPIC_XXXX", reply(topic="SCHEDULE_TOPIC_XXXX"))
    created = {"after": [ask(GET_CONFIG, {"topic": "$T"})]}
    yield row("reply: creates a topic", reply(defaultTopicQueueNums=3), **created)
    yield row("reply: creates no topic without a template", reply(defaultTopic="NoSuch"), **created)
    yield row("reply: queue out of range", reply(queueId=4), before=[create_topic()])
    yield row("reply: queue -1 of 1", reply(queueId=-1), before=[create_topic(queues=1)])
    retry = {"after": [ask(GET_CONFIG, {"topic": "%RETRY%$G"})]}
    yield row("reply: creates a retry topic", reply(topic="%RETRY%$G", defaultTopic="N"), **retry)
    for field in ("topic", "queueId", "sysFlag", "bornTimestamp", "flag"):
        yield row(f"reply: without {field}", reply(code=LONG, **{field: None}))
        yield row(f"reply v2: without {field}", reply(**{field: None}))


def stored_ones() -> Iterator[Case]:
    """How a reply is kept that nobody takes."""
    stored: dict[str, Any] = {"before": [create_topic()], "after": [STORED]}
    yield row("reply: compressed, by its flag", reply(sysFlag=0x301), **stored)
    yield row("reply: flags of a transaction", reply(sysFlag=0xC), **stored)
    yield row("reply: flag 7, reconsumed 5 times", reply(flag=7, reconsumeTimes=5), **stored)
    yield row("reply: batch flag", reply(batch=True), **stored)
    yield row("reply: body of 4 MiB and a byte", reply(b"x" * ((4 << 20) + 1)), **stored)
    usual = {"UNIQ_KEY": "U1", "REPLY_TO_CLIENT": "nobody"}
    texts = {
        "TAGS": {"TAGS": "A"},
        "POP_CK": {"POP_CK": "0 1 2 3 0 broker-a 0 0"},
        "CLUSTER": {"CLUSTER": "Elsewhere"},
        "MSG_REGION": {"MSG_REGION": "Elsewhere", "TRACE_ON": "false"},
        "INNER_NUM": {"INNER_NUM": "3"},
        "TRAN_MSG": {"TRAN_MSG": "true", "PGROUP": "P"},
        "a DELAY that is no number": {"DELAY": "many"},
        "_SYS_MSG_PRIORITY_": {"_SYS_MSG_PRIORITY_": "2"},
        "PUSH_REPLY_TIME": {"PUSH_REPLY_TIME": "5"},
    }
    for what, more in texts.items():
        text = properties(**usual, **more)
        yield row(f"reply: property {what}", reply(properties=text), **stored)
    without = "TAGS\x01A\x02"
    yield row("reply: no unique key", reply(properties=without), **stored)
    big = properties(**usual, k="v" * 32_700)
    yield row("reply: properties too long to store", reply(properties=big), **stored)
    multi: dict[str, Any] = {
        "before": [create_topic(topicFilterType="MULTI_TAG")],
        "after": [STORED],
    }
    yield row("reply: topic of many tags", reply(), **multi)
    batched = create_topic(attributes="+queue.type=BatchCQ")
    yield row("reply: topic of batches", reply(), before=[batched], after=[STORED])


def delayed() -> Case:
    """Its queue offset is that of a delay level's queue, which everybody uses."""

    def play(stage: Stage) -> None:
        stage.must(create_topic())
        text = properties(UNIQ_KEY="U1", REPLY_TO_CLIENT="nobody", DELAY="1")
        stage.show_shared("reply", reply(properties=text))
        stage.show("delivered", changed(STORED, suspendTimeoutMillis=10_000), reading.as_records)

    return Case("reply: property DELAY", play)


def answered(name: str, code: int, answer: int) -> Case:
    """The requester gets the push and answers with a code."""

    def play(stage: Stage) -> None:
        stage.must(create_topic())
        stage.must(heartbeat(producers=("$P",)), "broker-2")
        asked = stage.link().post(stage.request(reply(code=code)))
        take(stage, answer)
        stage.record("reply", reading.reply(stage.link().reply(asked), reading.as_json))
        stage.show("stored", STORED, reading.as_records)

    return Case(name, play)


def take(stage: Stage, answer: int) -> None:
    """The requester is on the second connection; what it was sent is recorded."""
    link = stage.link("broker-2")
    pushed = link.pushed(PATIENCE)
    seen = reading.pushed(pushed, reading.as_text)
    if "properties" in seen["ext"]:
        seen["ext"]["properties"] = sorted(seen["ext"]["properties"].split("\x02"))
    stage.record("pushed", seen)
    done = Frame(answer, flag=RESPONSE_FLAG, remark="as asked")
    done.opaque = pushed.opaque
    link.write(frames.encode(done))


def with_fields() -> Case:
    """What of the reply's header reaches the requester."""

    def play(stage: Stage) -> None:
        stage.must(create_topic())
        stage.must(heartbeat(producers=("$P",)), "broker-2")
        frame = reply(
            code=LONG,
            queueId=-1,
            sysFlag=0x301,
            flag=9,
            reconsumeTimes=3,
            unitMode=True,
            defaultTopicQueueNums=None,
            defaultTopic=None,
            producerGroup=None,
        )
        asked = stage.link().post(stage.request(frame))
        take(stage, 0)
        seen = reading.reply(stage.link().reply(asked), reading.as_json)
        seen["ext"]["queueId"] = int(seen["ext"]["queueId"]) in range(4)
        stage.record("reply", seen)
        # The broker chose the queue.
        found = [stage.ask(changed(STORED, queueId=queue)) for queue in range(4)]
        records = [record for one in found for record in reading.as_records(one.body)]
        stage.record("stored", [{**record, "queueId": "any"} for record in records])

    return Case("reply: fields of the push", play)


def silent() -> Case:
    """A requester that does not answer for 10 s; requests behind the reply are answered meanwhile."""

    def play(stage: Stage) -> None:
        stage.must(create_topic())
        stage.must(heartbeat(producers=("$P",)), "broker-2")
        asked = stage.link().post(stage.request(reply()))
        stage.show("a send behind it", send(b"behind", queueId=1))
        stage.record("pushed", stage.link("broker-2").pushed(PATIENCE).code)
        answer = stage.link().reply(asked, PATIENCE)
        stage.record("reply", reading.reply(answer, reading.as_json))
        stage.show("stored", STORED, reading.as_records)

    return Case("reply: the requester is silent", play)


def gone() -> Iterator[Case]:
    def leaving(stage: Stage) -> None:
        stage.must(create_topic())
        stage.must(heartbeat(producers=("$P",)), "broker-2")
        stage.must(unregister(producerGroup="$P"), "broker-2")
        stage.show("reply", reply())
        stage.record("pushed", len(stage.link("broker-2").drain_pushed(0.3)))

    yield Case("reply: the requester has left its group", leaving)

    def closing(stage: Stage) -> None:
        stage.must(create_topic())
        stage.must(heartbeat(producers=("$P",)), "broker-2")
        stage.link("broker-2").close()
        members = ask(204, {"producerGroup": "$P"})
        stage.until(members, lambda answer: answer.code != 0)
        stage.show("reply", reply())

    yield Case("reply: the requester has closed its connection", closing)

    def consumer_only(stage: Stage) -> None:
        stage.must(create_topic())
        body = {"clientID": "$C", "consumerDataSet": [], "producerDataSet": []}
        stage.must(ask(34, body=body_of(body)), "broker-2")
        stage.show("reply", reply())

    yield Case("reply: the requester is no producer", consumer_only)

    def while_asked(stage: Stage) -> None:
        stage.must(create_topic())
        stage.must(heartbeat(producers=("$P",)), "broker-2")
        asked = stage.link().post(stage.request(reply()))
        stage.link("broker-2").pushed(PATIENCE)
        stage.link("broker-2").close()
        answer = stage.link().reply(asked, PATIENCE)
        stage.record("reply", reading.reply(answer, reading.as_json))

    yield Case("reply: the requester leaves while it is asked", while_asked)


def latest_connection() -> Case:
    """The same client id on two connections, and two groups of one client."""

    def play(stage: Stage) -> None:
        stage.must(create_topic())
        stage.must(heartbeat(producers=("$P",)), "broker-3")
        stage.must(heartbeat(producers=("$P",)), "broker-2")
        asked = stage.link().post(stage.request(reply()))
        take(stage, 0)
        stage.record("reply", stage.link().reply(asked).code)
        stage.record("pushed to the first", len(stage.link("broker-3").drain_pushed(0.3)))
        stage.must(heartbeat(producers=("$P", "X$P")), "broker-2")
        stage.must(unregister(producerGroup="X$P"), "broker-2")
        stage.show("one of two groups left", reply())

    return Case("reply: which connection of a client", play)


def oneway() -> Case:
    def play(stage: Stage) -> None:
        stage.must(create_topic())
        stage.must(heartbeat(producers=("$P",)), "broker-2")
        asked = stage.link().post_oneway(stage.request(reply()))
        take(stage, 0)
        stage.record("answered", stage.link().has_reply(asked, 0.3))
        stage.show("stored", STORED, reading.as_records)

    return Case("reply: one way", play)
