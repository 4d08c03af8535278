"""Requests with mistakes: recorded ones of 5.5.0 and hand-made ones of every other code, each changed a little.

A sequence of frames follows from its seed alone, so that whatever a frame breaks can be played again.
"""

import json
import random
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trimq.codec.frames.command import (
    JSON,
    ROCKETMQ,
    RemotingCommand,
    decode_command,
    encode_command,
)

NUMBERS = ("0", "1", "-1", "7", "2147483647", "-2147483648", "2147483648", "9223372036854775807")
NUMBERS += ("-9223372036854775808", "99999999999999999999", "1.5", "1e9", "+3", " 4", "٣", "")
TEXTS = ("", "x", "*", "a || b", "%RETRY%g", "%DLQ%g", "TBW102", "SCHEDULE_TOPIC_XXXX", "../../x")
TEXTS += ("true", "null", "\x00", "\x01\x02", "KEYS\x01k\x02", "DELAY\x0118\x02", "é中\U0001f600")
TEXTS += ("x" * 128, "y" * 300, "a" * 40_000, "TAG", "SQL92", "a > 1", "T;U", "1@2@3", "{}", "[]")
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1.5,
    2**31,
    2**63,
    2**64,
    "",
    "x",
    [],
    {},
    [[]],
)
JSON_TEXTS = (
    b"{}",
    b"[]",
    b"null",
    b"",
    b"{" * 60,
    b'{"a":' * 40 + b"1" + b"}" * 40,
    b"[" * 2000,
    b'{{"a":1}:1}',
    b"{1:2,3:4}",
    b'"\\',
    b"\xff\xfe",
    b"1" * 5000,
)


@dataclass(frozen=True)
class Request:
    """What one frame asks, before it is broken."""

    code: int
    fields: dict[str, str]
    body: bytes = b""


def recorded_requests(vectors: Path, side: str) -> list[Request]:
    """What official clients sent to a `broker` or `namesrv`."""
    found = []
    for frame in json.loads((vectors / "frames.json").read_text()):
        if f"to-server {side}: request" in frame["name"]:
            command = decode_command(bytes.fromhex(frame["hex"])[4:])
            found.append(Request(command.code, command.ext_fields, command.body))
    return found


def requests_of_every_code(
    recorded: Iterable[Request], headers: dict[int, list[str]]
) -> list[list[Request]]:
    """The requests by code; a code that nobody recorded has one with all of its header's fields."""
    by_code: dict[int, list[Request]] = {code: [] for code in headers}
    for request in recorded:
        by_code.setdefault(request.code, []).append(request)
    for code, names in headers.items():
        if not by_code[code]:
            by_code[code].append(Request(code, {name: _usual(name) for name in names}, b"{}"))
    return [by_code[code] for code in sorted(by_code)]


def _usual(name: str) -> str:
    lower = name.lower()
    if "topic" in lower:
        return "GoldenTopic"
    if "group" in lower:
        return "g"
    if "version" in lower or "queue" in lower or "offset" in lower or "time" in lower:
        return "0"
    return "1"


class Grammar:
    """Makes the frames of one seed."""

    def __init__(self, seed: int, requests: list[list[Request]]) -> None:
        self._source = random.Random(seed)
        self._requests = requests
        self.seed = seed
        self._names = sorted({name for some in requests for one in some for name in one.fields})

    def frames(self, count: int) -> Iterator[bytes]:
        """Frames with their length words; some do not keep to that either."""
        for opaque in range(count):
            yield self._frame(opaque)

    def _frame(self, opaque: int) -> bytes:
        source = self._source
        request = source.choice(source.choice(self._requests))
        if source.random() < 0.01:
            request = replace(request, code=source.randrange(-5, 500))
        fields = dict(request.fields)
        body = request.body
        for _ in range(source.choice((0, 0, 1, 1, 2, 4))):
            self._change_fields(fields)
        if source.random() < 0.4:
            body = self._changed_body(body)
        if source.random() < 0.1:
            return self._loose_json(request.code, opaque, fields, body)
        command = RemotingCommand(
            request.code,
            opaque,
            flag=source.choice((0, 0, 0, 0, 2)),
            ext_fields=fields,
            body=body,
            coding=source.choice((JSON, ROCKETMQ)) if -(2**15) <= request.code < 2**15 else JSON,
            language=source.randrange(16),
            version=source.choice((513, 513, 459, 317, 63, 0, -1)),
        )
        raw = encode_command(command)
        return self._bent(raw) if source.random() < 0.05 else raw

    def _change_fields(self, fields: dict[str, str]) -> None:
        source = self._source
        if fields and source.random() < 0.3:
            fields.pop(source.choice(list(fields)))
            return
        known = fields and source.random() < 0.8
        name = source.choice(list(fields)) if known else source.choice(self._names)
        kind = source.random()
        if kind < 0.4:
            fields[name] = source.choice(NUMBERS)
        elif kind < 0.8:
            fields[name] = source.choice(TEXTS)
        else:
            fields[name] = self._bent(fields.get(name, "x").encode()).decode("utf-8", "replace")

    def _changed_body(self, body: bytes) -> bytes:
        source = self._source
        kind = source.random()
        if kind < 0.2:
            return source.choice(JSON_TEXTS)
        if kind < 0.6 and body[:1] == b"{":
            try:
                value = json.loads(body)
            except ValueError:
                return self._bent(body)
            return json.dumps(self._changed_value(value)).encode()
        if kind < 0.9:
            return self._bent(body)
        return source.randbytes(source.randrange(400))

    def _changed_value(self, value: Any) -> Any:
        """The same JSON with something else in one place."""
        source = self._source
        if isinstance(value, dict) and value and source.random() < 0.8:
            name = source.choice(list(value))
            return {**value, name: self._changed_value(value[name])}
        if isinstance(value, list) and value and source.random() < 0.8:
            place = source.randrange(len(value))
            return [*value[:place], self._changed_value(value[place]), *value[place:]]
        return source.choice((*VALUES, source.choice(NUMBERS), source.choice(TEXTS)))

    def _bent(self, raw: bytes) -> bytes:
        """Other bytes, fewer or more of them."""
        source = self._source
        bent = bytearray(raw)
        for _ in range(source.randrange(1, 4)):
            kind = source.random()
            at = source.randrange(len(bent) + 1)
            if kind < 0.6 and at < len(bent):
                bent[at] = source.randrange(256)
            elif kind < 0.8:
                del bent[at : at + source.randrange(8)]
            else:
                bent[at:at] = bytes(bent[: source.randrange(16)])
        return bytes(bent)

    def _loose_json(self, code: int, opaque: int, fields: dict[str, str], body: bytes) -> bytes:
        """A JSON header as other languages write it, or as nobody does."""
        source = self._source
        header: dict[str, Any] = {"code": code, "opaque": opaque, "version": 513}
        header["extFields"] = {
            name: source.choice((text, 5, True, 1.5, None, [], {})) for name, text in fields.items()
        }
        if source.random() < 0.3:
            header[source.choice(("code", "flag", "language", "remark", "version", "x"))] = (
                source.choice(VALUES)
            )
        raw = json.dumps(header).encode()
        return struct.pack(">II", 4 + len(raw) + len(body), len(raw)) + raw + body
