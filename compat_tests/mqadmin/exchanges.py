"""What a tool has asked, what it was told, and whether another question is the same one."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from compat_tests.mqadmin.peers import Role
from trimq.codec.codes import RequestCode
from trimq.codec.frames.command import LANGUAGE, RESPONSE_BIT, VERSION, RemotingCommand

# Wall-clock milliseconds, and ids that clients give to messages.
_MILLIS: Final = re.compile(r"\b1[6-9]\d{11}\b")
_ID: Final = re.compile(r"\b[0-9A-F]{32}(?:[0-9A-F]{24})?\b")
# What `now` of a command line may be late by, and what it may be off by when the clock is set.
_NOW_MILLIS: Final = 60_000
# In these an id is the tool's own, and new each time; in all others it is one that the tool was told.
_NAMING: Final = frozenset({RequestCode.SEND_MESSAGE_V2})


@dataclass(frozen=True)
class Exchange:
    """One question to one server, `at` milliseconds since 1970, and its answer."""

    role: Role
    at: int
    question: RemotingCommand
    answer: RemotingCommand

    def is_asked_by(self, role: Role, at: int, question: RemotingCommand) -> bool:
        """Whether this is what was asked: times that were near to that moment have to be near to this one."""
        mine, fields = self.question.ext_fields, question.ext_fields
        if (self.role, self.question.code) != (role, question.code) or mine.keys() != fields.keys():
            return False
        pairs = [(value, fields[name]) for name, value in mine.items()]
        pairs.append((_text(self.question.body), _text(question.body)))
        is_naming = question.code in _NAMING
        return all(_alike(one, self.at, other, at, is_naming) for one, other in pairs)

    def value(self) -> dict[str, Any]:
        """As it stands in a record; what every question and answer has is left out."""
        asked, told = self.question, self.answer
        answer = {
            "code": told.code,
            "remark": told.remark,
            "fields": dict(told.ext_fields),
            "body": _readable(told.body),
            "flag": told.flag if told.flag != RESPONSE_BIT else None,
            "language": told.language if told.language != LANGUAGE else None,
            "version": told.version if told.version != VERSION else None,
        }
        value = {
            "to": self.role,
            "at": self.at,
            "code": asked.code,
            "fields": dict(asked.ext_fields),
            "body": _readable(asked.body),
            "answer": _without_empty(answer),
        }
        return _without_empty(value)

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Exchange:
        told = value["answer"]
        answer = RemotingCommand(
            told.get("code", 0),
            0,
            told.get("flag", RESPONSE_BIT),
            told.get("remark"),
            told.get("fields"),
            _bytes(told.get("body")),
            language=told.get("language", LANGUAGE),
            version=told.get("version", VERSION),
        )
        question = RemotingCommand(
            value["code"], 0, ext_fields=value.get("fields"), body=_bytes(value.get("body"))
        )
        return cls(cast(Role, value["to"]), value["at"], question, answer)


def described(role: Role, question: RemotingCommand) -> str:
    """A question in one line."""
    fields = " ".join(f"{name}={value}" for name, value in sorted(question.ext_fields.items()))
    shown = question.body[:300].decode(errors="replace")
    body = f" body={shown}" if shown else ""
    names = {int(code): code.name for code in RequestCode}
    return f"{role}: {names.get(question.code, question.code)} {fields}{body}"


def _alike(one: str, at: int, other: str, now: int, is_naming: bool) -> bool:
    if one == other:
        return True
    if is_naming:
        one, other = _ID.sub("<id>", one), _ID.sub("<id>", other)
    if _MILLIS.sub("<millis>", one) != _MILLIS.sub("<millis>", other):
        return False
    moments = zip(_MILLIS.findall(one), _MILLIS.findall(other), strict=True)
    return all(
        mine == its or abs((at - int(mine)) - (now - int(its))) < _NOW_MILLIS
        for mine, its in moments
    )


def _without_empty(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in value.items() if one not in (None, {}, "")}


def _text(body: bytes) -> str:
    return body.decode("latin-1")


def _readable(body: bytes) -> Any:
    """Text as text, anything else in base64."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}


def _bytes(readable: Any) -> bytes:
    if isinstance(readable, dict):
        return base64.b64decode(readable["base64"])
    return (readable or "").encode()
