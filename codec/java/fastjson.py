"""FastJSON's dialect of JSON, both ways (formats of RemotingSerializable and ConfigManager).

It differs from JSON in map keys: integers are written without quotes (`{0:"127.0.0.1:10911"}`) and
whole objects can be keys (`{{"brokerName":"b","queueId":0,"topic":"T"}:5}`). Reading gives
strings for both: the digits, or the key object's own text. Bean properties leave in
alphabetical order, nulls are left out.
"""

from functools import cache
from typing import Any, Final, Literal, TypeVar, get_origin

import msgspec

from trimq.codec.errors import CodecError
from trimq.codec.java.json_scan import (
    DEPTH,
    LARGE,
    OWN_FILES,
    BeyondLimits,
    DialectScanner,
    JsonLimits,
    nests_little,
)
from trimq.codec.java.lenient import LenientReader
from trimq.codec.java.values import fit

T = TypeVar("T")

# A step of the lenient reader is that much dearer than one of the scanner.
_DEARER: Final = 8
_encode: Final = msgspec.json.encode


def loads(data: bytes | str, limits: JsonLimits = OWN_FILES) -> Any:
    """Read JSON or the dialect; map keys come as strings. CodecError beyond the limits."""
    try:
        return _read(data, Any, limits)
    except msgspec.ValidationError as error:
        raise CodecError(f"this JSON has no value: {error}") from None


def loads_as(cls: type[T], data: bytes | str, limits: JsonLimits = LARGE) -> T:
    """Read JSON or the dialect into a type; what does not fit it is a CodecError.

    Values are converted as Java's classes convert them (`java_values`): a null counts as an absent
    value, an enum may be given as its number, and numbers, texts and booleans are converted into
    each other.
    """
    try:
        found: T = _read(data, cls, limits)
    except msgspec.ValidationError:
        # Most bodies fit; the others get a slower second attempt.
        value = fit(loads(data, limits), cls)
    else:
        return found
    try:
        return msgspec.convert(value, cls, strict=False, str_keys=True)
    except (msgspec.ValidationError, RecursionError) as error:
        raise CodecError(f"this is not a {getattr(cls, '__name__', cls)}: {error}") from None


def _read(data: bytes | str, kind: Any, limits: JsonLimits) -> Any:
    """Decode strict JSON as it is, then the dialect, then what only fastjson2 takes for JSON.

    What could nest too deeply is scanned first.
    """
    text = _bytes(data)
    opened = limits.check(text)
    if opened <= DEPTH or (kind is not Any and nests_little(text)):
        try:
            return msgspec.json.decode(text, type=kind)
        except msgspec.ValidationError:
            raise
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    try:
        return _read_dialect(text, kind, limits)
    except (msgspec.ValidationError, BeyondLimits):
        raise
    except (CodecError, msgspec.DecodeError, UnicodeDecodeError) as error:
        mended = LenientReader(text, limits.steps // _DEARER).strict()
        if mended == text:
            raise CodecError(f"this is not JSON: {error}") from None
    try:
        return _read_dialect(mended, kind, limits)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CodecError(f"this is not JSON: {error}") from None


def _read_dialect(text: bytes, kind: Any, limits: JsonLimits) -> Any:
    return msgspec.json.decode(DialectScanner(text, limits.steps).strict(), type=kind)


def _bytes(data: bytes | str) -> bytes:
    try:
        return data.encode() if isinstance(data, str) else bytes(data)
    except UnicodeEncodeError as error:
        raise CodecError(f"this JSON is not text: {error}") from None


def dumps(
    value: Any, *, int_keys_quoted: bool = False, pretty_tabs: bool = False, sort_keys: bool = False
) -> bytes:
    """Write a value of dicts, lists, sets, Structs and scalars.

    Integer keys are bare unless asked for, Struct keys are objects. Sets are written sorted: Java's
    order is its hash order, on which nobody can rely.
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
        """The texts before the first item, between two, and after the last."""
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
        get_origin(field.type) is Literal
        or getattr(field.type, "__origin__", field.type) in (bool, int, str)
        or field.type in (dict[str, str], list[str])
        for field in fields
    )
