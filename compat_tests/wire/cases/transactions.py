"""Transactions: half messages, their ends with every refusal, the question to a producer, taking up again.

All cases share the queue of half messages, so places in it are shown as positions. Born times are those of
the run: what is older than the broker keeps files is given up by its next round of questions.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from compat_tests.wire import reading, records
from compat_tests.wire.asks import (
    BORN,
    PULL_SUBSCRIPTION,
    PULL_SUSPEND,
    ask,
    changed,
    create_topic,
    heartbeat,
    properties,
    pull,
    send,
    send_v2,
)
from compat_tests.wire.case import Case, row
from compat_tests.wire.frames import BINARY_CODING, Frame
from compat_tests.wire.stage import Stage
from compat_tests.wire.timing import shown

END: Final = 37
VIEW: Final = 33
RESUME: Final = 323
COMMIT, ROLLBACK, UNKNOWN = 8, 12, 0
HALF_TOPIC: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
GIVEN_UP_TOPIC: Final = "TRANS_CHECK_MAX_TIME_TOPIC"
# Held until the message shows: the real broker's queues are filled in the background.
STORED: Final = pull(sysFlag=PULL_SUBSCRIPTION | PULL_SUSPEND)
EMPTY: Final = pull(sysFlag=PULL_SUBSCRIPTION | PULL_SUSPEND, suspendTimeoutMillis=300)
# A round of questions every 30 s, and halves are not asked about in their first 6 s.
ROUND: Final = 60.0


def cases() -> Iterator[Case]:
    yield asked()
    yield asked_immune()
    yield given_up()
    yield from stored_halves()
    yield from ends()
    yield from refusals()
    yield from too_late()
    yield from delayed()
    yield from not_resumed()


def half(
    body: bytes = b"hello", code: int = 310, more: dict[str, str] | None = None, **fields: object
) -> Frame:
    """A half message of the case's producer group, born now."""
    build = send if code == 10 else send_v2
    usual = {"UNIQ_KEY": "U1", "TRAN_MSG": "true", "PGROUP": "$P", "WAIT": "true"}
    text = properties(**usual | (more or {}))
    born = {"bornTimestamp": int(time.time() * 1000)}
    return build(body, code=code, **{"properties": text, **born, **fields})


def end(sent: Frame, how: int = COMMIT, **fields: object) -> Frame:
    """As the Java producer ends it, by what the answer to its send said."""
    usual: dict[str, object] = {
        "topic": "$T",
        "producerGroup": "$P",
        "tranStateTableOffset": sent.ext["queueOffset"],
        "commitLogOffset": place_of(sent),
        "commitOrRollback": how,
        "fromTransactionCheck": False,
        "msgId": "U1",
        "transactionId": "U1",
    }
    return ask(END, {**usual, **fields})


def place_of(sent: Frame) -> int:
    return int(sent.ext["msgId"][-16:], 16)


def as_halves(body: bytes) -> Any:
    """Records, with what names a place in a shared queue or in the log as a position."""
    found = reading.as_records(body)
    for record in found:
        record["preparedOffset"] = f"position {record['preparedOffset']}"
        if record["topic"] in (HALF_TOPIC, GIVEN_UP_TOPIC):
            record["queueOffset"] = f"position {record['queueOffset']}"
        at = "TRAN_PREPARED_QUEUE_OFFSET"
        if at in record["properties"]:
            record["properties"][at] = f"position {record['properties'][at]}"
    return found


# --- halves


def stored_halves() -> Iterator[Case]:
    yield stored("half: stored", half())
    yield stored("half: by the long header", half(code=10))
    yield stored("half: tagged, with keys", half(more={"TAGS": "A", "KEYS": "k1 k2"}))
    yield stored("half: no unique key", half(properties="TRAN_MSG\x01true\x02PGROUP\x01$P\x02"))
    yield stored(
        "half: no producer group", half(properties=properties(TRAN_MSG="true", UNIQ_KEY="U"))
    )
    yield stored("half: TRUE in capitals", half(more={"TRAN_MSG": "TRUE"}))
    yield stored("half: flags of a transaction", half(sysFlag=0xC))
    yield stored(
        "half: only the flags of a transaction",
        half(properties=properties(UNIQ_KEY="U"), sysFlag=4),
    )
    yield stored("half: compressed", half(sysFlag=0x301))
    yield stored("half: any queue", half(queueId=-1), queues=1)
    yield stored("half: names its own place", half(more={"REAL_TOPIC": "Other", "REAL_QID": "9"}))
    yield stored("half: consumed before", half(reconsumeTimes=2, flag=7))
    yield stored("half: of an ordered key", half(more={"__SHARDINGKEY": "o"}))
    yield stored("half: with a priority", half(more={"_SYS_MSG_PRIORITY_": "2"}))
    batches = "+queue.type=BatchCQ"
    yield stored("half: into a topic of batches", half(), attributes=batches)
    inner = half(sysFlag=0x80, more={"INNER_NUM": "2"})
    yield row("half: an inner batch", inner, before=[create_topic(attributes=batches)])
    big = half(properties=properties(TRAN_MSG="true", PGROUP="P", UNIQ_KEY="U", k="v" * 32_640))
    yield row("half: properties too long to store", big, before=[create_topic()])
    yield row("half: queue out of range", half(queueId=4), before=[create_topic()])
    yield row("half: straight into the half topic", half(topic=HALF_TOPIC))


def stored(name: str, frame: Frame, queues: int = 4, **topic: object) -> Case:
    def play(stage: Stage) -> None:
        stage.must(create_topic(queues=queues, **topic))
        sent = stage.show_shared("reply", frame)
        stage.show("the half", ask(VIEW, {"offset": place_of(sent)}), as_halves)
        stage.show("committed", end(sent))
        stage.show("delivered", STORED, as_halves)

    return Case(name, play)


# --- ends


def ends() -> Iterator[Case]:
    for how, name in ((COMMIT, "commit"), (ROLLBACK, "rollback")):
        yield ended(f"end: {name}", how)
        yield ended(f"end: {name}, asked before", how, fromTransactionCheck=True)
        yield ended(f"end: {name} without the optional fields", how, topic=None, transactionId=None)
        yield ended(f"end: {name} on the fast port", how, on="fast")
    yield ended("end: commit (binary header)", COMMIT, coding=BINARY_CODING)
    yield ended("end: other ids", COMMIT, msgId="x", transactionId="y", topic="z")
    yield row("end: no msgId", ask(END, {"commitOrRollback": 8}))
    yield silent("end: unknown is not answered", UNKNOWN, fromTransactionCheck=False)
    yield silent("end: unknown is not answered, asked before", UNKNOWN, fromTransactionCheck=True)
    yield one_way()
    yield again()
    yield deleted_topic()


def ended(
    name: str, how: int, on: str = "broker", coding: int | None = None, **fields: object
) -> Case:
    def play(stage: Stage) -> None:
        stage.must(create_topic())
        sent = stage.must(half())
        frame = end(sent, how, **fields)
        if coding is not None:
            frame = replace(frame, coding=coding)
        stage.show("end", frame, on=on)
        stage.show("delivered", STORED if how == COMMIT else EMPTY, as_halves)

    return Case(name, play)


def silent(name: str, how: int, **fields: object) -> Case:
    def play(stage: Stage) -> None:
        stage.must(create_topic())
        sent = stage.must(half())
        asked = stage.link().post(stage.request(end(sent, how, **fields)))
        stage.record("answered", stage.link().has_reply(asked, 0.5))
        stage.show("committed after all", end(sent))
        stage.show("delivered", STORED, as_halves)

    return Case(name, play)


def one_way() -> Case:
    def play(stage: Stage) -> None:
        stage.must(create_topic())
        sent = stage.must(half())
        asked = stage.link().post_oneway(stage.request(end(sent)))
        stage.show("delivered", STORED, as_halves)
        stage.record("answered", stage.link().has_reply(asked, 0.3))

    return Case("end: one way", play)


def again() -> Case:
    """Only the answers: the real broker delivers twice."""

    def play(stage: Stage) -> None:
        stage.must(create_topic())
        sent = stage.must(half())
        for how in (COMMIT, COMMIT, ROLLBACK):
            stage.show(f"end {how}", end(sent, how))

    return Case("end: again and again", play)


def deleted_topic() -> Case:
    def play(stage: Stage) -> None:
        stage.must(create_topic())
        sent = stage.must(half())
        stage.must(ask(215, {"topic": "$T"}))
        stage.show("end", end(sent))

    return Case("end: its topic was deleted", play)


def refusals() -> Iterator[Case]:
    for how in (4, -1, 1, 16, 9999):
        yield refused(f"end: commitOrRollback {how}", commitOrRollback=how)
    for name in ("producerGroup", "tranStateTableOffset", "commitLogOffset", "commitOrRollback"):
        yield refused(f"end: without {name}", **{name: None})
        yield refused(f"end: {name} empty", **{name: ""})
    yield refused("end: commitLogOffset no number", commitLogOffset="first")
    yield refused("end: wrong group", producerGroup="other")
    yield refused("end: wrong queue offset", tranStateTableOffset=123_456_789)
    yield refused("end: queue offset -1", tranStateTableOffset=-1)
    yield refused("end: behind the log's end", commitLogOffset=1 << 40)
    yield refused("end: before the log's begin", commitLogOffset=-5)
    yield refused("end: rollback of nothing", commitLogOffset=1 << 40, commitOrRollback=ROLLBACK)
    yield refused("end: rollback, wrong group", producerGroup="other", commitOrRollback=ROLLBACK)
    yield no_half("end: a plain message", properties(UNIQ_KEY="U1"))


def refused(name: str, **fields: object) -> Case:
    def play(stage: Stage) -> None:
        stage.must(create_topic())
        sent = stage.must(half())
        stage.show("end", changed(end(sent), **fields))
        stage.show("nothing was decided", end(sent))
        stage.show("delivered", STORED, as_halves)

    return Case(name, play)


def no_half(name: str, text: str) -> Case:
    def play(stage: Stage) -> None:
        stage.must(create_topic())
        sent = stage.must(send_v2(properties=text))
        for how in (COMMIT, ROLLBACK):
            reply = stage.ask(end(sent, how))
            # There the group is looked for in a missing property, and the Java exception is the remark.
            stage.record(f"end {how}", reply.code)

    return Case(name, play)


def too_late() -> Iterator[Case]:
    old = {"bornTimestamp": int(time.time() * 1000) - 600_000}
    immune = {"CHECK_IMMUNITY_TIME_IN_SECONDS": "20"}
    for how, name in ((COMMIT, "commit"), (ROLLBACK, "rollback")):
        yield timed(f"end: {name} after its immunity", half(more=immune, **old), how)
    yield timed(
        "end: asked, after its immunity", half(more=immune, **old), fromTransactionCheck=True
    )
    yield timed(
        "end: in its immunity",
        half(more={**immune, "CHECK_IMMUNITY_TIME_IN_SECONDS": "900"}, **old),
    )
    yield timed(
        "end: immunity that is no number",
        half(more={"CHECK_IMMUNITY_TIME_IN_SECONDS": "soon"}, **old),
    )
    yield timed(
        "end: negative immunity", half(more={"CHECK_IMMUNITY_TIME_IN_SECONDS": "-9"}, **old)
    )
    yield timed("end: old, without immunity", half(**old))
    wrong = {"producerGroup": "other"}
    yield timed("end: after its immunity, wrong group", half(more=immune, **old), **wrong)


def timed(name: str, frame: Frame, how: int = COMMIT, **fields: object) -> Case:
    def play(stage: Stage) -> None:
        stage.must(create_topic())
        sent = stage.must(frame)
        stage.show("end", end(sent, how, **fields))

    return Case(name, play)


def delayed() -> Iterator[Case]:
    """The real broker accepts them, and delivers them never."""
    in_ten_minutes = str(int(time.time() * 1000) + 600_000)
    yield only_sent("half: with DELAY", half(more={"DELAY": "1"}))
    yield shown("half: with TIMER_DELAY_SEC", half(more={"TIMER_DELAY_SEC": "1"}))
    yield shown("half: with TIMER_DELIVER_MS", half(more={"TIMER_DELIVER_MS": in_ten_minutes}))
    retry = half(reconsumeTimes=1, more={"DELAY": "1"})

    def play(stage: Stage) -> None:
        stage.must(create_topic())
        stage.show_shared("reply", retry)
        stage.show("delivered", changed(STORED, suspendTimeoutMillis=10_000), reading.as_records)

    yield Case("half: a retry of an old client", play)


def only_sent(name: str, frame: Frame) -> Case:
    def play(stage: Stage) -> None:
        stage.must(create_topic())
        stage.show_shared("reply", frame)

    return Case(name, play)


# --- questions


def asked() -> Case:
    """One member of the group is asked, about the copy that was put back; its END decides that."""

    def play(stage: Stage) -> None:
        stage.must(create_topic())
        stage.must(heartbeat(producers=("$P",)), "broker-2")
        sent = stage.must(half(b"body", more={"TAGS": "A"}, flag=0))
        question = stage.link("broker-2").pushed(ROUND)
        seen = reading.pushed(question, as_halves)
        assert int(seen["ext"]["tranStateTableOffset"]) > int(sent.ext["queueOffset"])
        assert int(seen["ext"]["commitLogOffset"]) > place_of(sent)
        for name in ("tranStateTableOffset", "commitLogOffset"):
            seen["ext"][name] = f"position {seen['ext'][name]}"
        for record in seen["body"]:
            record["queueOffset"] = f"position {record['queueOffset']}"
        stage.record("question", seen)
        (record,) = records.read_records(question.body)
        place = {
            "tranStateTableOffset": record.queue_offset,
            "commitLogOffset": record.physical_offset,
            "fromTransactionCheck": True,
        }
        stage.show("the copy", ask(VIEW, {"offset": record.physical_offset}), as_halves)
        stage.show("end", end(sent, **place))
        stage.show("delivered", STORED, as_halves)

    return Case("half: its producer is asked", play)


def asked_immune() -> Case:
    """With an immunity of its own it is put back unasked first."""

    def play(stage: Stage) -> None:
        stage.must(create_topic())
        stage.must(heartbeat(producers=("$P",)), "broker-2")
        stage.must(half(more={"CHECK_IMMUNITY_TIME_IN_SECONDS": "31"}))
        question = stage.link("broker-2").pushed(2 * ROUND)
        (record,) = as_halves(question.body)
        # The real broker counts what it did not ask.
        record["properties"].pop("TRANSACTION_CHECK_TIMES", None)
        put_back = "TRAN_PREPARED_QUEUE_OFFSET" in record["properties"]
        stage.record("was put back", put_back)

    return Case("half: immune in the first round", play)


def given_up() -> Case:
    """Born before the oldest file that the broker keeps: nobody is asked."""

    def play(stage: Stage) -> None:
        stage.must(create_topic())
        stage.must(heartbeat(producers=("$P",)), "broker-2")
        stage.must(half(bornTimestamp=BORN))
        question = pull(topic=GIVEN_UP_TOPIC, suspendTimeoutMillis=0)

        def own(frame: Frame) -> list[Any]:
            found = as_halves(frame.body) if frame.code == 0 else []
            group = stage.fill("$P")
            return [one for one in found if one["properties"].get("PGROUP") == group]

        deadline = time.monotonic() + ROUND
        found: list[Any] = []
        while not found and time.monotonic() < deadline:
            time.sleep(0.5)
            found = own(stage.ask(question))
        stage.record("given up", found)
        stage.record("asked", len(stage.link("broker-2").drain_pushed(0.3)))
        stage.show("its topic", ask(351, {"topic": GIVEN_UP_TOPIC}))

    return Case("half: given up", play)


# --- taking up again


def not_resumed() -> Iterator[Case]:
    yield row("resume: no id", ask(RESUME, {"topic": "$T"}))
    yield row("resume: no topic", ask(RESUME, {"msgId": "0" * 32}))
    yield row("resume: no id at all", ask(RESUME, {"topic": "$T", "msgId": "U1"}))
    nowhere = "7F00000100002A9F" + f"{1 << 40:016X}"
    yield row("resume: nothing there", ask(RESUME, {"topic": "$T", "msgId": nowhere}))

    def play(stage: Stage) -> None:
        stage.must(create_topic())
        sent = stage.must(half())
        stage.show("resume", ask(RESUME, {"topic": "$T", "msgId": sent.ext["msgId"]}))
        stage.show(
            "on the fast port", ask(RESUME, {"topic": "$T", "msgId": sent.ext["msgId"]}), on="fast"
        )

    yield Case("resume: a pending one", play)
