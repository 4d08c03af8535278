"""What an operation is told, read from JSON. A mistake is answered with what to write instead."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any, Final, Literal, TypeVar, get_args, get_origin

import msgspec

from trimq.hand.operation import HandError, Operation, Words

R = TypeVar("R", bound=Words)

# Where msgspec says that it is wrong.
_AT: Final = re.compile(r"`\$\.(\w+)")


def words_of(operation: Operation[R], body: bytes) -> R:
    """HandError."""
    path, known = operation.path, _fields(operation.words)
    takes = f"it takes: {', '.join(known) or 'nothing'}"
    try:
        # An empty map is null in some languages.
        said = msgspec.json.decode(b"{}" if body.strip() in (b"", b"null") else body)
    except msgspec.DecodeError as error:
        raise HandError(f"/{path}: the body is no JSON, {error}; {takes}") from None
    if not isinstance(said, dict):
        raise HandError(f"/{path}: the body is no JSON object; {takes}")
    for name in said:
        if name not in known:
            raise HandError(f"/{path}: there is no {name}{_hint(name, known)}; {takes}")
    try:
        return msgspec.convert(said, operation.words)
    except msgspec.ValidationError as error:
        raise HandError(f"/{path}: {_reason(error, said, known)}; {takes}") from None


def _fields(words: type[Words]) -> dict[str, Any]:
    """The type of each."""
    return {field.encode_name: field.type for field in msgspec.structs.fields(words)}


def _reason(error: msgspec.ValidationError, said: dict[str, Any], known: dict[str, Any]) -> str:
    found = _AT.search(str(error))
    name = "" if found is None else found[1]
    allowed = [str(one) for one in _allowed(known.get(name))]
    if not allowed:
        return str(error)
    value = str(said.get(name))
    return f"there is no {name} {value}{_hint(value, allowed)}; {name} is {' or '.join(allowed)}"


def _allowed(kind: Any) -> Iterable[object]:
    """The values of a field that has only some."""
    if get_origin(kind) is Literal:
        yield from get_args(kind)
    else:
        for one in get_args(kind):
            yield from _allowed(one)


def _hint(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), 1)
    return f", did you mean {near[0]}?" if near else ""
