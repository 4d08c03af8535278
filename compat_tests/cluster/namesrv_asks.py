"""Raw requests to a NameServer, one at a time, and its answers in a comparable form."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from compat_tests.wire.frames import V5_5_0, Frame
from compat_tests.wire.link import Link

Answer = tuple[int, str | None, dict[str, str], Any]


@dataclass(frozen=True)
class Ask:
    """One request. ``exact=False``: the remark is the text of an exception, only the code counts."""

    code: int
    ext: dict[str, str]
    body: bytes = b""
    version: int = V5_5_0
    exact: bool = True


class Connection:
    """One connection that asks one question at a time, without TriMQ's own code."""

    def __init__(self, addr: str) -> None:
        self._link = Link(addr)

    def ask(self, ask: Ask) -> Answer:
        reply = self.ask_raw(ask)
        remark = reply.remark if ask.exact else None
        return reply.code, remark, dict(reply.ext), readable(reply.body)

    def ask_raw(self, ask: Ask) -> Frame:
        """The answer as it came, with the order of whatever is listed in its body."""
        return self._link.ask(Frame(ask.code, ext=ask.ext, body=ask.body, version=ask.version))

    def close(self) -> None:
        self._link.close()


def readable(body: bytes) -> Any:
    """A body with its order taken out. Whether its integer keys are bare stays visible."""
    if not body:
        return None
    text = body.decode()
    try:
        value = json.loads(re.sub(r"([{,])(-?\d+):", r'\1"bare \2":', text))
    except ValueError:
        return text
    return _sorted(value)


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return sorted(map(_sorted, value), key=lambda item: json.dumps(item, sort_keys=True))
    return value


def ask_once(addr: str, code: int, **ext: str) -> Answer:
    connection = Connection(addr)
    try:
        return connection.ask(Ask(code, ext))
    finally:
        connection.close()
