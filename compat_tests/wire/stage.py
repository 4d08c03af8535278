"""What a case has to play with: names of its own, connections, and the list of what it recorded."""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final, Self

from compat_tests.wire import reading
from compat_tests.wire.frames import Frame
from compat_tests.wire.link import PATIENCE, Link
from compat_tests.wire.reading import Reader

SENDS: Final = frozenset((10, 310, 320))
GET_MAX_OFFSET: Final = 30
SETTLING: Final = 0.7


def is_overloaded(reply: Frame) -> bool:
    """Whether a busy machine answered instead of the rule under test."""
    return reply.code == 2 and "TIMEOUT_CLEAN_QUEUE" in (reply.remark or "")


@dataclass(frozen=True, slots=True)
class Place:
    """The addresses of one server and the id of one run on it."""

    namesrv: str
    broker: str
    run: str

    @property
    def fast(self) -> str:
        """The broker's fast (VIP) port: two below its own."""
        host, port = self.broker.rsplit(":", 1)
        return f"{host}:{int(port) - 2}"


@dataclass(slots=True)
class Stage(AbstractContextManager["Stage", None]):
    """One case in play. `$T $G $C $P` stand for its topic, group, client id and producer group."""

    place: Place
    case: str
    recorded: list[dict[str, Any]] = field(default_factory=list)
    _written: dict[tuple[str, str], int] = field(default_factory=dict)
    _links: dict[str, Link] = field(default_factory=dict)

    @property
    def suffix(self) -> str:
        """Tells cases apart, and a reader which case it was."""
        slug = re.sub(r"[^a-z0-9]+", "_", self.case.lower()).strip("_")[-36:]
        return f"{self.place.run}-{slug}-{zlib.crc32(self.case.encode()):08x}"

    @property
    def topic(self) -> str:
        return self.fill("$T")

    @property
    def group(self) -> str:
        return self.fill("$G")

    def fill(self, text: str) -> str:
        """`text` with this case's names in it."""
        for letter in "TGCP":
            text = text.replace(f"${letter}", f"{letter}-{self.suffix}")
        return text.replace("$RUN", self.place.run)

    def link(self, name: str = "broker") -> Link:
        """A connection by name: `broker`, `fast`, `namesrv`; `broker-2` and so on for more."""
        if name not in self._links:
            self._links[name] = Link(getattr(self.place, name.partition("-")[0]))
        return self._links[name]

    def open(self, name: str, opening: bytes = b"", tls: bool = False) -> Link:
        """The connection of that name, begun in another way than with a frame."""
        self._links[name] = Link(getattr(self.place, name.partition("-")[0]), opening, tls)
        return self._links[name]

    def request(self, frame: Frame) -> Frame:
        """A copy of the frame with this case's names in it."""
        ext = {key: self.fill(value) for key, value in frame.ext.items()}
        body = frame.body
        if b"$" in body and not body.startswith(b"\x78\x9c"):
            body = self.fill(body.decode()).encode()
        return Frame(
            frame.code,
            flag=frame.flag,
            ext=ext,
            body=body,
            language=frame.language,
            version=frame.version,
            coding=frame.coding,
        )

    def ask(self, frame: Frame, on: str = "broker") -> Frame:
        """Send and wait, recording nothing."""
        request = self.request(frame)
        if frame.code not in SENDS:
            self._settle()
        reply = self.link(on).ask(request)
        while is_overloaded(reply):
            reply = self.link(on).ask(request)
        if frame.code in SENDS and reply.code == 0:
            topic = request.ext.get("topic", request.ext.get("b", ""))
            queue = reply.ext["queueId"]
            count = reply.ext["msgId"].count(",") + 1
            self._written[topic, queue] = int(reply.ext["queueOffset"]) + count
        return reply

    def _settle(self) -> None:
        """Wait until the real broker's queues, which it fills in the background, show our sends."""
        for (topic, queue), end in self._written.items():
            question = Frame(GET_MAX_OFFSET, ext={"topic": topic, "queueId": queue})
            deadline = time.monotonic() + SETTLING
            while int(self.link().ask(question).ext["offset"]) < end:
                if time.monotonic() > deadline:
                    break  # A delayed message goes elsewhere.
                time.sleep(0.01)
        self._written.clear()

    def must(self, frame: Frame, on: str = "broker") -> Frame:
        """A step of the setting: it has to succeed."""
        reply = self.ask(frame, on)
        if reply.code != 0:
            raise AssertionError(f"{self.case}: setting up got {reply.code} {reply.remark}")
        return reply

    def show(
        self,
        what: str,
        frame: Frame,
        reader: Reader = reading.as_json,
        on: str = "broker",
    ) -> Frame:
        """Send, wait and record the reply."""
        reply = self.ask(frame, on)
        self.record(what, reading.reply(reply, reader))
        return reply

    def until(self, frame: Frame, is_there: Callable[[Frame], bool], on: str = "broker") -> Frame:
        """Ask again and again until the reply shows what takes its time; the last reply anyhow."""
        deadline = time.monotonic() + PATIENCE
        reply = self.ask(frame, on)
        while not is_there(reply) and time.monotonic() < deadline:
            time.sleep(0.05)
            reply = self.ask(frame, on)
        return reply

    def show_shared(self, what: str, frame: Frame) -> Frame:
        """`show` a send whose queue offset is that of a queue everybody uses."""
        reply = self.ask(frame)
        seen = reading.reply(reply, reading.as_json)
        if "queueOffset" in seen["ext"]:
            seen["ext"]["queueOffset"] = f"position {seen['ext']['queueOffset']}"
        self.record(what, seen)
        return reply

    def record(self, what: str, seen: Any) -> None:
        self.recorded.append({"what": what, "seen": seen})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for link in self._links.values():
            link.close()
