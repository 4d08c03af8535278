"""What differs between any two runs of the same proxy, and is replaced before comparing: each with its reason."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any, Final

from compat_tests.proxy.recorder import Asked, Recorder

Json = Any
# A handle's time, its queue for revival and its place in the log: all other traffic decides. Of an orderly group, or a
# message that was changed, its milliseconds are what is left of them.
_HANDLE: Final = re.compile(r"\b\d+ 1\d{12} \d+ -?\d+(?: [\w.-]+){2,6}")
_TIME, _INVISIBLE, _REVIVE, _LOG = 1, 2, 3, 8
# What a message that waits is recalled with, by base64: a version, topic, broker, time and id.
_RECALL: Final = re.compile(r"\bdjEg[\w-]+=*")
# Fields that all other traffic decides, by the request's code.
_PLACES: Final = {(36, "offset"), (37, "commitLogOffset"), (37, "tranStateTableOffset")}
# What is left of a deadline is not a whole second.
_POLLS: Final = frozenset({(200050, "pollTime"), (200070, "pollTime")})
_SEND_BATCH: Final = 320
# Types of messages that all lie in one queue until they are due.
_SHARED: Final = frozenset({"TRANSACTION", "DELAY"})
# Bodies up to here are kept as they are.
_SHORT: Final = 200
# And so many messages of a batch.
_ITEMS: Final = 4
# (pattern, what takes its place, why).
RULES: Final[tuple[tuple[str, str, str], ...]] = (
    (r"{proxy}", "<proxy>", "the proxy listens on a free port"),
    (r"{broker}", "<broker>", "as the broker does"),
    (r"{namesrv}", "<namesrv>", "and the NameServer"),
    (r"127\.0\.0\.1:\d{{4,5}}", "<peer>", "a connection's other end, or the broker itself"),
    (r"{run}\d{{3}}", "<case>", "each case has topics, groups and clients of its own"),
    (r"\b7F000001[0-9A-F]{{24}}\b", "<offset-id>", "the broker's address and a place in its log"),
    (
        r"\b\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z",
        "<time>",
        "wall-clock time of the run",
    ),
    (r"\b(?:1[6-9]|2[01])\d{{11}}\b", "<millis>", "the same, as a number"),
    (r"\bcost \[?\d+\]?ms", "cost <n>ms", "how long it took"),
    (r"\b\d+(?=\(ms\)|ms\b)", "<n>", "the same"),
)


class Masks:
    """Of one run."""

    def __init__(self, run: str, proxy: str, recorder: Recorder) -> None:
        values = {
            "run": re.escape(run),
            "proxy": re.escape(proxy) + r"\b",
            "broker": re.escape(recorder.broker_addr) + r"\b",
            "namesrv": re.escape(recorder.namesrv_addr) + r"\b",
        }
        self._port = int(proxy.rpartition(":")[2])
        self._rules = [(re.compile(rule.format(**values)), place) for rule, place, _ in RULES]

    def answer(self, found: list[Json], ended: Json, kind: str) -> Json:
        """The messages in order, and how the stream ended. `kind`: of the topic."""
        messages = self._walk(found)
        if kind in _SHARED:
            for one in messages:
                for entry in one.get("entries", ()):
                    entry["offset"] = "<offset>"
        return {"messages": messages, "grpc": self._walk(ended)}

    def request(self, asked: Asked) -> Json:
        """Properties and bodies of JSON are taken apart; other bodies, when long, are a digest."""
        frame = asked.frame
        ext = {key: self._field(frame.code, key, value) for key, value in frame.ext.items()}
        body: Json = (
            self._items(frame.body) if frame.code == _SEND_BATCH else self._body(frame.body)
        )
        return {
            "to": asked.to,
            "code": frame.code,
            "oneway": bool(frame.flag & 2),
            "ext": ext,
            "body": body,
        }

    def _field(self, code: int, key: str, value: str) -> Json:
        if (code, key) in _PLACES and value.isdecimal():
            return "<position>"
        if (code, key) in _POLLS and not value.endswith("000"):
            return f"about {round(int(value) / 1000)} s"
        if "\x01" in value:
            pairs = [pair.partition("\x01") for pair in value.split("\x02") if pair]
            return {name: self.text(text) for name, _, text in pairs}
        return self.text(value)

    def _body(self, body: bytes) -> Json:
        if body[:1] in (b"{", b"["):
            try:
                return self._walk(json.loads(body))
            except ValueError:
                pass
        if len(body) > _SHORT:
            return f"{len(body)} bytes, {hashlib.sha256(body).hexdigest()[:16]}"
        return self.text(body.decode("latin-1"))

    def _items(self, body: bytes) -> Json:
        """The messages of a batch: a head of 20 bytes, body and properties each behind their length."""
        found, at = [], 0
        while at < len(body):
            end = at + int.from_bytes(body[at : at + 4], "big")
            size = int.from_bytes(body[at + 16 : at + 20], "big")
            text, rest = body[at + 20 : at + 20 + size], body[at + 22 + size : end]
            found.append([self._body(text), self._field(0, "", rest.decode())])
            at = end
        return found if len(found) <= _ITEMS else [len(found), *found[:_ITEMS]]

    def text(self, value: str) -> str:
        value = _RECALL.sub(self._recall, value)
        value = _HANDLE.sub(_masked_handle, value)
        for pattern, place in self._rules:
            value = pattern.sub(place, value)
        return value

    def _walk(self, value: Json) -> Json:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            walked = {self.text(key): self._walk(item) for key, item in value.items()}
            if walked.get("port") == self._port:
                walked["port"] = "<port>"
            return walked
        if isinstance(value, list):
            return [self._walk(item) for item in value]
        if isinstance(value, int) and not isinstance(value, bool):
            text = self.text(str(value))
            return text if text.startswith("<") else value
        return value

    def _recall(self, found: re.Match[str]) -> str:
        return f"<recall {self.text(base64.urlsafe_b64decode(found[0]).decode())}>"


def _masked_handle(found: re.Match[str]) -> str:
    parts = found[0].split(" ")
    parts[_TIME], parts[_REVIVE] = "<time>", "<revive>"
    parts[_INVISIBLE] = f"{parts[_INVISIBLE][:-3]}***"
    if len(parts) > _LOG and parts[_LOG].isdecimal():
        parts[_LOG] = "<position>"
    return " ".join(parts)
