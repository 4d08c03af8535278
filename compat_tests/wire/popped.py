"""What cases of POP ask for, and how their answers are recorded: the revive queue is anybody's guess."""

from __future__ import annotations

import base64
import json
import time
from typing import Any, Final

from compat_tests.wire import reading, records
from compat_tests.wire.asks import ask, body_of, pull
from compat_tests.wire.frames import Frame
from compat_tests.wire.link import PATIENCE
from compat_tests.wire.stage import Stage

POP, ACK, BATCH_ACK, CHANGE, POLLING_INFO, ROLLBACK = 200050, 200051, 200151, 200053, 200055, 200056
REVIVE_TOPIC: Final = "rmq_sys_REVIVE_LOG_DefaultCluster"
WHEEL_TOPIC: Final = "rmq_sys_wheel_timer"
RETRY: Final = "%RETRY%$G_$T"
REVIVE_QUEUES: Final = range(8)
MINUTE: Final = 60_000
LONG_MAX: Final = 2**63 - 1
# extraInfo of an acknowledgement, by what is wrong with it.
HANDLES: Final = {
    "an empty handle": "",
    "a handle of one word": "x",
    "a handle of five fields": "0 1700000000000 60000 3 0",
    "a handle of six fields": "0 1700000000000 60000 3 0 broker-a",
    "a handle of seven fields": "0 1700000000000 60000 3 0 broker-a 0",
    "a handle of nine fields": "0 1700000000000 60000 3 0 broker-a 0 0 0",
    "a handle with letters for numbers": "a b c d e f g h",
    "a handle with letters for its time": "0 x 60000 3 0 broker-a 0 0",
    "a handle with two blanks": "0  1700000000000 60000 3 0 broker-a 0 0",
    "a handle of another kind of topic": "0 1700000000000 60000 3 9 broker-a 0 0",
    "a handle of another broker": "0 1700000000000 60000 3 0 broker-x 0 0",
    "a handle of another queue": "0 1700000000000 60000 3 0 broker-a 5 0",
    "a handle of a revive queue beyond": "0 1700000000000 60000 77 0 broker-a 0 0",
    "a handle that turns over": f"0 {LONG_MAX} {LONG_MAX} 3 0 broker-a 0 0",
    "a handle of 65 bits": f"0 {LONG_MAX + 1} 60000 3 0 broker-a 0 0",
    "from another group": "0 1700000000000 60000 3 0 broker-a 0 0",
}


def pop(**fields: object) -> Frame:
    """As the push consumer sends it, but for the waiting."""
    usual: dict[str, object] = {
        "consumerGroup": "$G",
        "topic": "$T",
        "queueId": -1,
        "maxMsgNums": 32,
        "invisibleTime": MINUTE,
        "pollTime": 0,
        "bornTime": 0,
        "initMode": 0,
        "expType": "TAG",
        "exp": "*",
        "order": False,
    }
    return ask(POP, {**usual, **fields})


def ack(handle: str, offset: object = 0, code: int = ACK, **fields: object) -> Frame:
    usual: dict[str, object] = {
        "consumerGroup": "$G",
        "topic": "$T",
        "queueId": 0,
        "extraInfo": handle,
        "offset": offset,
    }
    return ask(code, {**usual, **fields})


def change(handle: str, offset: object = 0, **fields: object) -> Frame:
    return ack(handle, offset, CHANGE, **{"invisibleTime": MINUTE, **fields})


def batch_ack(*entries: dict[str, Any]) -> Frame:
    return ask(BATCH_ACK, body=body_of({"brokerName": "broker-a", "acks": list(entries)}))


def entry(popped: Frame, *bits: int, **more: object) -> dict[str, Any]:
    """Of a batch ack: the messages so many after the first of the answer's first queue."""
    kind, queue, first = popped.ext["startOffsetInfo"].split(";")[0].split(" ")
    number = sum(1 << bit for bit in bits)
    data = number.to_bytes(max(1, (number.bit_length() + 7) // 8), "little")
    return {
        "c": "$G",
        "t": "$T",
        "r": kind,
        "so": int(first),
        "q": int(queue),
        "rq": int(popped.ext["reviveQid"]),
        "pt": int(popped.ext["popTime"]),
        "it": int(popped.ext["invisibleTime"]),
        "b": base64.b64encode(data).decode(),
        **more,
    }


def handle_of(popped: Frame, offset: int = 0) -> str:
    """Of a message in the answer's first queue."""
    kind, queue, first = popped.ext["startOffsetInfo"].split(";")[0].split(" ")
    ext = popped.ext
    times = f"{ext['popTime']} {ext['invisibleTime']} {ext['reviveQid']}"
    return f"{first} {times} {kind} broker-a {queue} {offset}"


def answer(reply: Frame) -> dict[str, Any]:
    """The recorded form: properties as pairs in their order, a queue of the revive topic as such."""
    seen = reading.reply(reply, in_order if reply.ext.get("msgOffsetInfo") else reading.as_json)
    if "reviveQid" in seen["ext"]:
        seen["ext"]["reviveQid"] = _revive_queue(seen["ext"]["reviveQid"])
    return seen


def show(stage: Stage, what: str, frame: Frame, on: str = "broker") -> Frame:
    reply = stage.ask(frame, on)
    stage.record(what, answer(reply))
    return reply


def _revive_queue(text: str) -> str:
    return "one of the revive queues" if text in map(str, REVIVE_QUEUES) else text


def in_order(body: bytes) -> Any:
    """Message records, with their properties as pairs: in their order where a broker encoded them for this answer.

    The real one stores properties in the order of a hash table, TriMQ as they were sent.
    """
    found = reading.as_records(body)
    for record in found:
        pairs = [list(pair) for pair in record["properties"].items()]
        for pair in pairs:
            if pair[0] == "POP_CK":
                fields = pair[1].split(" ")
                fields[3] = _revive_queue(fields[3])
                pair[1] = fields
        record["properties"] = pairs if "POP_CK" in record["properties"] else sorted(pairs)
    return found


def popped_again(stage: Stage, frame: Frame, count: int = 1) -> list[Frame]:
    """Answers until so many messages have come."""
    found: list[Frame] = []
    deadline = time.monotonic() + PATIENCE
    while count > 0 and time.monotonic() < deadline:
        reply = stage.ask(frame)
        if reply.code == 0:
            found.append(reply)
            count -= len(records.read_records(reply.body))
        else:
            time.sleep(0.1)
    return found


def ends(stage: Stage) -> dict[tuple[str, int], int]:
    """Where the queues of POP's records end now."""
    places = [(WHEEL_TOPIC, 0), *((REVIVE_TOPIC, queue) for queue in REVIVE_QUEUES)]
    return {
        place: int(stage.must(ask(30, {"topic": place[0], "queueId": place[1]})).ext["offset"])
        for place in places
    }


def notes(stage: Stage, since: dict[tuple[str, int], int], topic: str, count: int) -> list[Any]:
    """So many records about this case's topic that came to a topic since then, by body's kind."""
    found: list[Any] = []
    deadline = time.monotonic() + PATIENCE
    at = {place: offset for place, offset in since.items() if place[0] == topic}
    mine = stage.topic.encode()
    while len(found) < count and time.monotonic() < deadline:
        for place, offset in at.items():
            asked = pull(topic=topic, queueId=place[1], queueOffset=offset, consumerGroup="W-$G")
            reply = stage.ask(asked)
            if reply.code == 0:
                at[place] = int(reply.ext["nextBeginOffset"])
                read = records.read_records(reply.body)
                found += [_note(record) for record in read if mine in record.body]
        time.sleep(0.05)
    return sorted(found, key=lambda note: (note["tag"], str(note["body"])))


def _note(record: records.Record) -> dict[str, Any]:
    """A checkpoint or an acknowledgement, key by key in their order; times by what they add up to."""
    body = json.loads(record.body)
    held = records.read_properties(record.properties)
    seen = reading.one_record(record)
    # In a flag that is 0 there, ours says of a checkpoint that it moves no offset (docs/decisions/0018-pop.md).
    for name in ("queueId", "queueOffset", "body", "flag"):
        del seen[name]
    for name in ("REAL_QID", "REVIVE_QID"):
        if name in held:
            held[name] = _revive_queue(held[name])
    deliver = int(held.get("TIMER_DELIVER_MS", 0))
    if deliver:
        held["TIMER_DELIVER_MS"] = f"{deliver - body['pt']} after the pop"
    if "reviveTime" in body:
        body["reviveTime"] = f"{body['reviveTime'] - body['pt']} after the pop"
    for name in ("TIMER_OUT_MS", "TIMER_ENQUEUE_MS", "TIMER_DEQUEUE_MS"):
        if name in held:
            held[name] = "a time"
    seen["properties"] = held
    text = record.body.decode()
    seen["compact"] = " " not in text and "\n" not in text
    return {"tag": held["TAGS"], "body": [list(pair) for pair in body.items()], **seen}
