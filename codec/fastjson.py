"""FastJSON's dialect of JSON, both ways (formats of RemotingSerializable and ConfigManager).

It differs from JSON in map keys: integers stand without quotes (`{0:"127.0.0.1:10911"}`) and
whole objects can be keys (`{{"brokerName":"b","queueId":0,"topic":"T"}:5}`). Reading gives
strings for both: the digits, or the key object's own text. Bean properties leave in
alphabetical order, nulls are left out.
"""

import re
from functools import cache
from typing import Any, Final, TypeVar

import msgspec

from trimq.codec.errors import CodecError

T = TypeVar("T")

_encode: Final = msgspec.json.encode
_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<mark>[{}\[\],:])|(?P<word>[^\s"{}\[\],:]+))""",
    re.DOTALL,
)
_BARE_KEY: Final = re.compile(r'("(?:[^"\\]|\\.)*")|([{,]\s*)(-?\d+)(?=\s*:)', re.DOTALL)
_STRING_OR_OBJECT_KEY: Final = re.compile(r'"(?:[^"\\]|\\.)*"|(}\s*:)', re.DOTALL)


def loads(data: bytes | str) -> Any:
    """Read JSON or the dialect; map keys come as strings."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return msgspec.json.decode(_repair(data))
    except (msgspec.DecodeError, RecursionError) as error:
        raise CodecError(f"this is no JSON: {error}") from None


def loads_as(cls: type[T], data: bytes | str) -> T:
    """Read JSON or the dialect into a type; what does not fit it is a CodecError.

    A null counts as an absent value, numbers and text are taken for each other, as Java does.
    """
    try:
        return msgspec.json.decode(data, type=cls)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # Most bodies are plain JSON that fits; the others get a slower second look.
        value = loads(data)
    try:
        return msgspec.convert(_without_nulls(value), cls, strict=False, str_keys=True)
    except (msgspec.ValidationError, RecursionError) as error:
        raise CodecError(f"this is no {getattr(cls, '__name__', cls)}: {error}") from None


def dumps(
    value: Any,
    *,
    int_keys_quoted: bool = False,
    pretty_tabs: bool = False,
    sort_keys: bool = False,
) -> bytes:
    """Write a value of dicts, lists, sets, Structs and scalars.

    Integer keys are bare unless asked for, Struct keys are objects. Sets leave sorted: Java's
    order there is its hash order, which nobody can rely on.
    """
    writer = _Writer(int_keys_quoted, pretty_tabs, sort_keys)
    writer.write(value, 0)
    return "".join(writer.parts).encode()


class _Writer:
    """Collects the pieces of one JSON text."""

    def __init__(self, int_keys_quoted: bool, pretty: bool, sort_keys: bool) -> None:
        self.parts: list[str] = []
        self._int_keys_quoted = int_keys_quoted
        self._pretty = pretty
        self._sort_keys = sort_keys
        self._plain = not pretty and not sort_keys

    def write(self, value: Any, depth: int) -> None:
        kind = type(value)
        if kind is str:
            self.parts.append(_encode(value).decode())
        elif kind is int:
            self.parts.append(str(value))
        elif kind is dict:
            self._object(self._entries(value), depth)
        elif issubclass(kind, msgspec.Struct):
            if self._plain and _is_plain(kind):
                self.parts.append(_encode(value).decode())
            else:
                self._object([(key, getattr(value, name)) for key, name in _bean(kind)], depth)
        elif issubclass(kind, list | tuple):
            self._array(value, depth)
        elif issubclass(kind, set | frozenset):
            self._array(sorted(value), depth)
        else:
            self.parts.append(_encode(value).decode())

    def _entries(self, value: dict[Any, Any]) -> list[tuple[str, Any]]:
        items = sorted(value.items()) if self._sort_keys else value.items()
        return [(self._key(key), item) for key, item in items]

    def _key(self, key: Any) -> str:
        if isinstance(key, int):
            return f'"{key}"' if self._int_keys_quoted else str(key)
        if isinstance(key, msgspec.Struct):
            return dumps(key).decode()
        return _encode(key).decode()

    def _object(self, entries: list[tuple[str, Any]], depth: int) -> None:
        before, between, after = self._spaces(depth)
        parts = self.parts
        parts.append("{")
        lead = before
        for key, value in entries:
            if value is None:
                continue
            if type(value) is int:
                parts.append(f"{lead}{key}:{value}")
            else:
                parts.append(f"{lead}{key}:")
                self.write(value, depth + 1)
            lead = between
        parts.append("}" if lead == before else after + "}")

    def _array(self, values: Any, depth: int) -> None:
        before, between, after = self._spaces(depth)
        self.parts.append("[")
        lead = before
        for value in values:
            self.parts.append(lead)
            self.write(value, depth + 1)
            lead = between
        self.parts.append(after + "]" if values else "]")

    def _spaces(self, depth: int) -> tuple[str, str, str]:
        """What stands before the first item, between two, and after the last."""
        if not self._pretty:
            return "", ",", ""
        inner = "\n" + "\t" * (depth + 1)
        return inner, "," + inner, inner[:-1]


@cache
def _bean(cls: type[msgspec.Struct]) -> list[tuple[str, str]]:
    """(quoted name on the wire, attribute) in alphabetical order of the wire names."""
    fields = sorted((field.encode_name, field.name) for field in msgspec.structs.fields(cls))
    return [(_encode(wire).decode(), name) for wire, name in fields]


@cache
def _is_plain(cls: type[msgspec.Struct]) -> bool:
    """Whether msgspec writes this type as FastJSON does: no null, no set, no key but text."""
    fields = msgspec.structs.fields(cls)
    names = [field.encode_name for field in fields]
    return names == sorted(names) and all(
        field.type in (bool, int, str, dict[str, str], list[str]) for field in fields
    )


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value if item is not None]
    return value


def _repair(data: bytes | str) -> str:
    """The same value as strict JSON."""
    try:
        text = data if isinstance(data, str) else bytes(data).decode()
    except UnicodeDecodeError as error:
        raise CodecError(f"this JSON is not UTF-8: {error}") from None
    has_object_keys = any(match.group(1) for match in _STRING_OR_OBJECT_KEY.finditer(text))
    return _quote_keys(text) if has_object_keys else _BARE_KEY.sub(_quoted, text)


def _quoted(match: re.Match[str]) -> str:
    return match.group(1) or f'{match.group(2)}"{match.group(3)}"'


def _quote_keys(text: str) -> str:
    """Turn every bare or object key into a string that holds its text."""
    parts: list[str] = []
    opened: list[int] = []
    last = ""
    start = 0
    for match in _TOKEN.finditer(text):
        token = match.group().strip()
        if token == "{":
            opened.append(len(parts))
        elif token == "}" and opened:
            start = opened.pop()
        elif token == ":":
            if last == "}":
                parts[start:] = [_encode("".join(parts[start:])).decode()]
            elif last and last[0] not in '"{}[],:':
                parts[-1] = f'"{last}"'
        parts.append(token)
        last = token
    return "".join(parts)
