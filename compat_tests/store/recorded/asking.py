"""Questions about a store, by the wire: a record holds each with the real broker's answer; ours is asked the same."""

from __future__ import annotations

import zlib
from typing import Any, Final

from compat_tests.wire import reading
from compat_tests.wire.asks import PULL_SUBSCRIPTION, ask, pull, queue_question
from compat_tests.wire.frames import Frame
from compat_tests.wire.reading import Reader
from compat_tests.wire.records import read_records
from compat_tests.wire.stage import Place, Stage
from tests.patience import until

SUCCESS: Final = 0
QUERY, SEARCH, MAX, MIN, EARLIEST, VIEW = 12, 29, 30, 31, 32, 33
EVER: Final = (1 << 63) - 1
# Of what is written anew: the moment and the connection are those of the run. A committed copy of a half that was
# put back names the place that it was sent to on the real broker, and that of the newest half on ours.
OF_THE_RUN: Final = ("bornHost", "storeTimestamp", "storeHost", "preparedOffset")
FEW: Final = 24
# Most messages have these: a record leaves them out.
USUAL: Final = {
    "version": 1,
    "crcHolds": True,
    "flag": 0,
    "sysFlag": 0,
    "reconsumeTimes": 0,
    "preparedOffset": 0,
    "endsWithSeparator": True,
}

Entry = dict[str, Any]


def stage_of(addr: str) -> Stage:
    """Connections to a broker; the questions have their own names of topics and groups."""
    return Stage(Place("", addr, "recorded"), "recorded stores")


def places(body: bytes) -> list[int]:
    """Messages that are shown in full elsewhere: by their places in the log."""
    return [record.physical_offset for record in read_records(body)]


def messages(body: bytes) -> list[dict[str, Any]]:
    """Every field that is not the usual one."""
    return [
        {
            **{name: value for name, value in one.items() if value != USUAL.get(name)},
            "body": payload(record.body),
        }
        for one, record in zip(reading.as_records(body), read_records(body), strict=True)
    ]


def payload(body: bytes) -> Any:
    """A few words as they are, anything else by length and checksum."""
    if len(body) <= FEW and body.isascii():
        return body.decode()
    return {"length": len(body), "crc": zlib.crc32(body)}


def timeless(body: bytes) -> list[dict[str, Any]]:
    """Messages that were written in this run."""
    return [
        {name: value for name, value in one.items() if name not in OF_THE_RUN}
        for one in messages(body)
    ]


READERS: Final[dict[str, Reader]] = {
    "messages": messages,
    "places": places,
    "timeless": timeless,
    "json": reading.as_json,
}


def answer(stage: Stage, entry: Entry) -> Any:
    """What a broker says to a recorded question."""
    text = entry.get("body", "")
    frame = Frame(entry["code"], ext=dict(entry["ext"]), body=text.encode())
    return read(stage.ask(frame), entry["reader"])


def read(reply: Frame, reader: str) -> dict[str, Any]:
    if reader == "sent":
        return _sent(reply)
    if reader == "found":
        # Ops of transactions have a tag, and come into the index at a moment of the broker's own.
        return {"code": reply.code, "body": places(reply.body)}
    return reading.reply(reply, READERS[reader])


def _sent(reply: Frame) -> dict[str, Any]:
    """Where a message went: its id has the broker's port in it, too."""
    ids = reply.ext.get("msgId", "").split(",")
    found = {name: reply.ext.get(name) for name in ("queueId", "queueOffset")}
    at = [int(one[-16:], 16) for one in ids if len(one) in (32, 56)]
    return {"code": reply.code, "remark": reply.remark, **found, "positions": at}


class Asking:
    """Asks the real broker and keeps what it was asked, with the answers."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.entries: list[Entry] = []

    def show(self, frame: Frame, reader: str = "json") -> Frame:
        reply = self.stage.ask(frame)
        entry = {
            "code": frame.code,
            "ext": frame.ext,
            "reader": reader,
            "answer": read(reply, reader),
        }
        if frame.body:
            entry["body"] = frame.body.decode()
        self.entries.append(entry)
        return reply

    def queue(self, topic: str, queue_id: int, searched: bool = True) -> None:
        """All about a queue: its ends, every message, those of a tag, searches by the times of its messages."""
        for code in (MAX, MIN, EARLIEST):
            self.show(queue_question(code, topic=topic, queueId=queue_id))
        times = self._messages(topic, queue_id)
        if not searched:
            return
        self._messages(topic, queue_id, "places", subscription="Tag1 || none")
        middle = times[len(times) // 2 :][:1]
        moments = {0, 1 << 42, *middle, *(moment + 1 for moment in (*middle, *times[-1:]))}
        for moment in sorted(moments):
            for boundary in ("LOWER", "UPPER"):
                fields = {"timestamp": moment, "boundaryType": boundary}
                self.show(queue_question(SEARCH, topic=topic, queueId=queue_id, **fields))

    def _messages(
        self, topic: str, queue_id: int, reader: str = "messages", **more: object
    ) -> list[int]:
        """From the queue's beginning to its end; the times at which they were stored."""
        times: list[int] = []
        offset = 0
        while True:
            reply = self.show(pull_at(topic, queue_id, offset, **more), reader)
            following = int(reply.ext["nextBeginOffset"])
            if reply.code == SUCCESS:
                times += [record.store_timestamp for record in read_records(reply.body)]
            elif following == offset:
                return times
            offset = following

    def key(self, topic: str, key: str, kind: str = "K", reader: str = "places") -> None:
        """By the index."""
        fields = {"topic": topic, "key": key, "indexType": kind, "maxNum": 64}
        ever = {"beginTimestamp": 0, "endTimestamp": EVER}
        self.show(ask(QUERY, {**fields, **ever}), reader)

    def place(self, offset: int) -> None:
        """A message by its place in the log."""
        self.show(ask(VIEW, {"offset": offset}), "messages")


def pull_at(topic: str, queue_id: int, offset: int, **more: object) -> Frame:
    fields: dict[str, Any] = {
        "consumerGroup": "Reader",
        "topic": topic,
        "queueId": queue_id,
        "queueOffset": offset,
        "sysFlag": PULL_SUBSCRIPTION,
        "suspendTimeoutMillis": 0,
    }
    return pull(**{**fields, **more})


def end_of(stage: Stage, topic: str, queue_id: int) -> int:
    asked = stage.must(queue_question(MAX, topic=topic, queueId=queue_id))
    return int(asked.ext["offset"])


def wait_for_end(stage: Stage, topic: str, queue_id: int, end: int) -> None:
    """The real broker's queues are filled in the background, and what is delayed comes when it is due."""
    until(
        lambda: end_of(stage, topic, queue_id) >= end, f"queue {queue_id} of {topic} reaches {end}"
    )
