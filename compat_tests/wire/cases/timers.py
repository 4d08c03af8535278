"""Timer messages: when they are taken, what their senders are told, and what is asked about them."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from compat_tests.wire import records
from compat_tests.wire.asks import (
    ask,
    changed,
    create_topic,
    properties,
    pull,
    send,
    send_back,
    send_batch,
    send_v2,
)
from compat_tests.wire.case import Case, row
from compat_tests.wire.frames import Frame
from compat_tests.wire.reading import as_json, as_records
from compat_tests.wire.stage import Stage
from compat_tests.wire.timing import (
    HOUR,
    METRICS,
    arrived,
    changed_settings,
    counted,
    later,
    now,
    read_handle,
    show,
    shown,
    timer,
)

CONFIG, RUNTIME, CHECK_POINT, SWITCH, DELETE_TOPIC = 26, 28, 60, 5001, 215
LONG_MAX: Final = 2**63 - 1
SETTING_NAMES: Final = """
    allowRecallWhenBrokerNotWriteable appendTopicForTimerDeleteKey mappedFileSizeTimerLog
    recallMessageEnable timerCongestNumEachSlot timerFlushIntervalMs timerMaxDelaySec timerPrecisionMs
    timerRollWindowSlot timerStopEnqueue timerWheelEnable
"""
SETTINGS: Final = SETTING_NAMES.split()


def cases() -> Iterator[Case]:
    yield Case("timer: delivered", delivered)
    yield from refusals()
    yield from due()
    yield Case("timer: rounding", rounding)
    yield from handles()
    yield Case("timer: settings", settings)
    yield from questions()
    yield Case("timer: metrics", metrics)
    # These change settings for everybody.
    yield Case("timer: switched off", switched_off, alone=True)
    yield Case("timer: full slot", full_slot, alone=True)
    yield Case("timer: longest delay changed", longest_delay, alone=True)
    yield Case("timer: not put on the wheel", not_fed, alone=True)


# --- delivery


def delivered(stage: Stage) -> None:
    stage.must(create_topic())
    asked = later(2000)
    show(stage, "reply", timer(TIMER_DELIVER_MS=asked, TAGS="A", KEYS="k"))
    show(stage, "another", changed(timer(b"2", TIMER_DELAY_MS=2500), queueId=1))
    messages = arrived(stage, 1)
    stage.record("messages", messages)
    (one,) = messages
    stage.record("not before its time", one["storeTimestamp"] >= asked)
    found = one["properties"]
    stage.record("slot", int(found["TIMER_OUT_MS"]) - asked)
    stage.record("enqueued in a whole second", int(found["TIMER_ENQUEUE_MS"]) % 1000)
    tagged = pull(subscription="A")
    stage.show("by its tag", tagged, as_records)


# --- what is refused, and what does not wait


def refusals() -> Iterator[Case]:
    wrong: dict[str, dict[str, object]] = {
        "seconds that are no number": {"TIMER_DELAY_SEC": "x"},
        "seconds with a fraction": {"TIMER_DELAY_SEC": "1.5"},
        "seconds that are blank": {"TIMER_DELAY_SEC": " "},
        "milliseconds that are no number": {"TIMER_DELAY_MS": "x"},
        "a time that is no number": {"TIMER_DELIVER_MS": "tomorrow"},
        "a time of 65 bits": {"TIMER_DELIVER_MS": LONG_MAX + 1},
        "the last time there is": {"TIMER_DELIVER_MS": LONG_MAX},
        "seconds too many": {"TIMER_DELAY_SEC": 259_201},
        "milliseconds too many": {"TIMER_DELAY_MS": 259_200_001},
        "a wrong one first": {"TIMER_DELAY_SEC": "x", "TIMER_DELAY_MS": 1},
        "a wrong one after a level of 0": {"DELAY": 0, "TIMER_DELAY_MS": "x"},
        "a delete that is due": {"TIMER_DELAY_SEC": 0, "TIMER_DEL_UNIQKEY": "U0"},
    }
    for what, given in wrong.items():
        yield row(f"timer: {what}", timer(**given), before=[create_topic()])
    long = timer(TIMER_DELAY_SEC="x")
    yield row(
        "timer: creates a topic though it is refused", long, after=[ask(351, {"topic": "$T"})]
    )
    for what, length in {"what delivery adds": 32_750, "what the put adds": 32_770}.items():
        name = f"timer: properties without room for {what}"
        yield Case(name, partial(long_properties, length=length))
    items = records.batch_body([(b"a", {"UNIQ_KEY": "B1"}), (b"b", {"UNIQ_KEY": "B2"})])
    outer = properties(UNIQ_KEY="U1", TIMER_DELAY_SEC="3600")
    batches = create_topic(attributes="+queue.type=BatchCQ")
    packed = send_batch(items, properties=outer)
    yield row("timer: batch kept in one record", packed, before=[batches])
    inner = records.batch_body([(b"a", {"UNIQ_KEY": "B1", "TIMER_DELAY_SEC": "3600"})])
    stored: dict[str, Any] = {"before": [create_topic()], "after": [pull()]}
    yield row("timer: inside of a batch it means nothing", send_batch(inner), **stored)


def long_properties(stage: Stage, length: int) -> None:
    """`length`: bytes of the properties when they are stored."""
    given = {"UNIQ_KEY": "U1", "TIMER_DELAY_SEC": "3600"}
    added = {
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
        "CLUSTER": "DefaultCluster",
        "TIMER_OUT_MS": str(now()),
        "REAL_TOPIC": stage.topic,
        "REAL_QID": "0",
    }
    room = length - len(properties(**given, **added, k=""))
    stage.must(create_topic())
    show(stage, "reply", send(properties=properties(**given, k="v" * room)))


def due() -> Iterator[Case]:
    stored: dict[str, Any] = {"before": [create_topic()], "after": [pull()]}
    given: dict[str, dict[str, object]] = {
        "no delay": {"TIMER_DELAY_SEC": 0},
        "a negative delay": {"TIMER_DELAY_MS": -5},
        "a time in the past": {"TIMER_DELIVER_MS": 5},
        "a sum that turns over": {"TIMER_DELAY_MS": LONG_MAX},
        "a product that turns over": {"TIMER_DELAY_SEC": LONG_MAX},
        "seconds before milliseconds": {"TIMER_DELAY_SEC": 0, "TIMER_DELAY_MS": HOUR},
        "milliseconds before a time": {"TIMER_DELAY_MS": 0, "TIMER_DELIVER_MS": LONG_MAX},
        "an empty one": {"TIMER_DELAY_SEC": ""},
        "a priority as well": {"TIMER_DELAY_SEC": 0, "_SYS_MSG_PRIORITY_": 2},
    }
    for what, keys in given.items():
        yield row(f"timer: due already, {what}", timer(**keys), **stored)
    level = timer(DELAY=1, TIMER_DELAY_SEC=3600, TIMER_DELIVER_MS="x")
    yield Case("timer: a level beats it", partial(after_a_level, frame=level))
    yield Case("timer: sent back when it was due already", sent_back)


def after_a_level(stage: Stage, frame: Frame) -> None:
    stage.must(create_topic())
    stage.show_shared("reply", frame)
    stage.record("message", arrived(stage, 1))


def sent_back(stage: Stage) -> None:
    stage.must(create_topic())
    reply = stage.must(timer(TIMER_DELAY_SEC=0))
    offset = int(reply.ext["msgId"][16:], 16)
    stage.show("sent back", send_back(offset, delayLevel=1))
    retried = pull(topic="%RETRY%$G")
    there = stage.until(retried, lambda reply: reply.code == 0 and reply.body != b"")
    stage.record("message", as_records(there.body))


def rounding(stage: Stage) -> None:
    """The slot is in the handle: it begins before the time, also before that of a whole second."""
    stage.must(create_topic())
    for rest in (0, 1, 500, 999):
        asked = later(HOUR, rest)
        handle = read_handle(stage.must(timer(TIMER_DELIVER_MS=asked)))
        stage.record(f"{rest} ms", int(handle.split(" ")[3]) - asked)
    for keys in ({"TIMER_DELAY_SEC": 3600}, {"TIMER_DELAY_MS": HOUR}):
        before = now()
        handle = read_handle(stage.must(timer(**keys)))
        slot = int(handle.split(" ")[3]) - 1
        stage.record(f"{keys}", [slot % 1000, before - 1000 <= slot - HOUR <= now()])


# --- handles


def handles() -> Iterator[Case]:
    yield shown("timer: handle", timer(TIMER_DELAY_SEC=3600))
    text = properties(UNIQ_KEY="U1", TIMER_DELAY_SEC="3600")
    yield shown("timer: handle of short names", send_v2(properties=text))
    yield shown("timer: handle of the longest delay", timer(TIMER_DELAY_SEC=259_200))
    yield shown("timer: handle of a delete", timer(TIMER_DELAY_SEC=3600, TIMER_DEL_UNIQKEY="U0"))
    yield shown("timer: handle to a new topic", send(properties=text, topic="new-$T"))
    yield shown("timer: handle with a queue of its own", send(properties=text, queueId=3))
    yield shown("timer: none to a retry topic", send(properties=text, topic="%RETRY%$G"))
    # What says that it was on the wheel goes the way of others, with a handle.
    again = timer(TIMER_DELAY_SEC=3600, TIMER_OUT_MS=5000, REAL_TOPIC="Other")
    yield shown("timer: handle of what was on the wheel", again)
    level = timer(DELAY=1, TIMER_OUT_MS=5000)
    yield shown("timer: handle of a level", level)


# --- questions


def settings(stage: Stage) -> None:
    text = stage.must(ask(CONFIG)).body.decode()
    table = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    stage.record("settings", {name: table.get(name, "not there") for name in SETTINGS})


def questions() -> Iterator[Case]:
    for what, fields in {
        "without fields": {},
        "another field": {"engineType": "F"},
        "neither": {"E_T": "X"},
        "nothing": {"E_T": ""},
        "RocksDB": {"E_T": "R"},
        "files": {"E_T": "F"},
    }.items():
        yield row(f"timer engine: {what}", ask(SWITCH, fields))

    def check_point(stage: Stage) -> None:
        reply = stage.must(ask(CHECK_POINT))
        longs = struct.unpack(">7q", reply.body)
        stage.record("reply", [reply.code, reply.remark, reply.ext, len(reply.body)])
        stage.record("times", [longs[0] // HOUR - now() // HOUR in (0, -1), longs[5] > 0])
        stage.record("positions", [longs[1] % 52, longs[2] <= longs[3], longs[4]])
        stage.record("on the fast port", stage.ask(ask(CHECK_POINT), "fast").code)

    yield Case("timer: check point", check_point)


def metrics(stage: Stage) -> None:
    stage.must(create_topic())
    for unique in ("U1", "U2"):
        text = properties(UNIQ_KEY=unique, TIMER_DELAY_SEC="3600")
        stage.must(send(properties=text))
    stage.record("two wait", counted(stage, 2))
    out = {"TIMER_DELAY_SEC": "3600", "TIMER_DEL_UNIQKEY": "U1"}
    stage.must(send(properties=properties(UNIQ_KEY="U1", **out)))
    stage.record("one is to be taken back", counted(stage, 1))
    reply = stage.ask(ask(METRICS))
    body = as_json(reply.body)
    version = body["value"]["dataVersion"]
    stage.record("form", [body["strict"], body["compact"], sorted(body["value"]), sorted(version)])
    stage.record("on the fast port", stage.ask(ask(METRICS), "fast").code)
    stage.must(ask(DELETE_TOPIC, {"topic": "$T"}))
    stage.record("topic deleted", counted(stage, 0))


# --- settings that matter


def switched_off(stage: Stage) -> None:
    stage.must(create_topic())
    with changed_settings(stage, "timerWheelEnable=false", "timerWheelEnable=true"):
        show(stage, "a send", timer(TIMER_DELAY_SEC=3600))
        show(stage, "one that is due", timer(TIMER_DELAY_SEC=0))
        show(stage, "nonsense", timer(TIMER_DELAY_SEC="x"))
        show(stage, "it was on the wheel", timer(TIMER_DELAY_SEC=3600, TIMER_OUT_MS=5))
        stage.show_shared("a level", timer(DELAY=1))
        for engine in ("F", "R", "X"):
            stage.show(f"engine {engine}", ask(SWITCH, {"E_T": engine}))
        table = as_json(stage.must(ask(RUNTIME)).body)["value"]["table"]
        stage.record("figures", {key: table[key] for key in table if key.startswith("timer")})
        stage.record("check point", stage.ask(ask(CHECK_POINT)).code)
        stage.record("metrics", stage.ask(ask(METRICS)).code)
    show(stage, "afterwards", timer(TIMER_DELAY_SEC=3600))


def full_slot(stage: Stage) -> None:
    stage.must(create_topic())
    # Where no other case has messages.
    asked = later(2 * HOUR)
    back = "timerCongestNumEachSlot=2147483647"
    with changed_settings(stage, "timerCongestNumEachSlot=0", back):
        show(stage, "the first", timer(TIMER_DELIVER_MS=asked))
        counted(stage, 1)
        show(stage, "the second", timer(TIMER_DELIVER_MS=asked))
        show(stage, "of the slot before", timer(TIMER_DELIVER_MS=asked - 1000))
    show(stage, "afterwards", timer(TIMER_DELIVER_MS=asked))


def longest_delay(stage: Stage) -> None:
    stage.must(create_topic())
    with changed_settings(stage, "timerMaxDelaySec=1000", "timerMaxDelaySec=259200"):
        show(stage, "above", timer(TIMER_DELAY_SEC=1001))
        show(stage, "at most", timer(TIMER_DELAY_SEC=1000))


def not_fed(stage: Stage) -> None:
    stage.must(create_topic())

    def unread() -> int:
        table = as_json(stage.must(ask(RUNTIME)).body)["value"]["table"]
        return int(table["timerOffsetBehind"])

    with changed_settings(stage, "timerStopEnqueue=true", "timerStopEnqueue=false"):
        # What it has begun to do may still be done.
        time.sleep(0.5)
        before = unread()
        show(stage, "a send", timer(TIMER_DELAY_MS=100))
        show(stage, "another", timer(TIMER_DELAY_MS=100))
        # Due before they reach the wheel, of which they say another TIMER_ENQUEUE_MS.
        time.sleep(2)
        stage.record("not on the wheel", unread() - before)
        for engine in ("F", "R"):
            stage.show(f"engine {engine}", ask(SWITCH, {"E_T": engine}))
    stage.record("fed again", arrived(stage, 2))
