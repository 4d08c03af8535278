"""Reader of FastJSON's dialect: bare integers and whole objects may be keys."""

from __future__ import annotations

import json
from typing import Any, Final

_DECODER: Final = json.JSONDecoder()


def loads(text: str) -> Any:
    """The value of `text`; a key that is an object becomes its own canonical JSON text."""
    value, end = _value(text, _skip(text, 0))
    if _skip(text, end) != len(text):
        raise ValueError(f"something follows the value at {end}: {text[end : end + 40]!r}")
    return value


def is_strict(text: str) -> bool:
    """Whether an ordinary JSON parser reads it too."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def canonical(value: Any) -> str:
    """One text for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _value(text: str, at: int) -> tuple[Any, int]:
    if text[at : at + 1] == "{":
        return _object(text, at)
    if text[at : at + 1] == "[":
        return _array(text, at)
    return _DECODER.raw_decode(text, at)


def _object(text: str, at: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _value(text, at)
        at = _skip(text, at)
        if text[at] != ":":
            raise ValueError(f"no colon at {at}: {text[at : at + 40]!r}")
        name = key if isinstance(key, str) else canonical(key)
        found[name], at = _value(text, _skip(text, at + 1))
        at = _separator(text, at, "}")
    return found, at + 1


def _array(text: str, at: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    at = _skip(text, at + 1)
    while text[at] != "]":
        value, at = _value(text, at)
        found.append(value)
        at = _separator(text, at, "]")
    return found, at + 1


def _separator(text: str, at: int, end: str) -> int:
    """Behind a comma, or at the closing bracket."""
    at = _skip(text, at)
    if text[at] == ",":
        return _skip(text, at + 1)
    if text[at] != end:
        raise ValueError(f"neither comma nor {end} at {at}: {text[at : at + 40]!r}")
    return at
