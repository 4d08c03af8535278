"""Request and response headers: typed fields over the ext fields of a command.

`None` means: not on the wire. Fields are read as RocketMQ reads them
(RemotingCommand.decodeCommandCustomHeader): numbers are decimal text, a boolean is true when
its text is `true` in any case, unknown ext fields are ignored.
"""

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, ClassVar, Final, TypeVar, get_args

import msgspec

from trimq.codec.errors import CodecError
from trimq.codec.java.numbers import parse_int, parse_long

_INTEGER: Final = "Integer"
_LONG: Final = "Long"

Integer = Annotated[int, msgspec.Meta(title=_INTEGER)]
"""A number that Java holds in 32 bits."""
Long = Annotated[int, msgspec.Meta(title=_LONG)]
"""A number that Java holds in 64 bits."""

_READERS: Final[dict[str, Callable[[str], int | None]]] = {_INTEGER: parse_int, _LONG: parse_long}


class Header(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=False):
    """Base of all headers; a field without a default must be on the wire.

    `strict` ones (FastCodesHeader in Java) refuse an unreadable number in an optional field;
    in the others it counts as absent.
    """

    strict: ClassVar[bool] = False


class RpcHeader(Header, kw_only=True):
    """The fields that every RpcRequestHeader inherits: namespace, broker name, oneway."""

    ns: str | None = None
    nsd: bool | None = None
    bname: str | None = None
    oway: bool | None = None


class TopicHeader(RpcHeader, kw_only=True):
    """TopicRequestHeader adds `lo`: the queue id is a logical one of a static topic."""

    lo: bool | None = None


H = TypeVar("H", bound=Header)


def decode_header(cls: type[H], ext_fields: dict[str, str]) -> H:
    """Build a header from ext fields; CodecError when a required one is absent or not a number."""
    values: dict[str, str | int | bool] = {}
    for attribute, wire, kind, required in _plan(cls):
        text = ext_fields.get(wire)
        if text is None:
            if required:
                raise CodecError(f"{cls.__name__} needs the field {wire!r}")
        elif kind == "String":
            values[attribute] = text
        elif kind == "Boolean":
            values[attribute] = text.lower() == "true"
        else:
            number = _READERS[kind](text)
            if number is not None:
                values[attribute] = number
            elif required or cls.strict:
                raise CodecError(f"{cls.__name__}: {wire!r} is not of type {kind}: {text[:40]!r}")
    return cls(**values)


def encode_header(header: Header) -> dict[str, str]:
    """The ext fields of a header, without those that are None."""
    fields: dict[str, str] = {}
    for attribute, wire, kind, _ in _plan(type(header)):
        value = getattr(header, attribute)
        if value is None:
            continue
        if kind == "Boolean":
            fields[wire] = "true" if value else "false"
        else:
            fields[wire] = value if kind == "String" else str(value)
    return fields


@cache
def _plan(cls: type[Header]) -> tuple[tuple[str, str, str, bool], ...]:
    """(attribute, name on the wire, Java type, required) of each field, computed once."""
    return tuple(
        (field.name, field.encode_name, _kind(field.type), field.required)
        for field in msgspec.structs.fields(cls)
    )


def _kind(annotation: Any) -> str:
    for part in (annotation, *get_args(annotation)):
        for meta in getattr(part, "__metadata__", ()):
            if isinstance(meta, msgspec.Meta) and meta.title in _READERS:
                return meta.title
        if part is bool:
            return "Boolean"
        if part is str:
            return "String"
    raise TypeError(f"a header field cannot be {annotation!r}")
