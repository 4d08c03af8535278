"""JSON bodies: Structs with Java's property names, read and written in FastJSON's dialect.

Every property has the default of its Java class, because Java reads whatever is there.
"""

from typing import TypeVar

import msgspec

from trimq.codec import fastjson


class Body(msgspec.Struct, rename="camel", kw_only=True):
    """Base of all JSON bodies and of the objects in them."""


B = TypeVar("B", bound=Body)


def decode_body(cls: type[B], data: bytes) -> B:
    """Read a body; CodecError when it is no JSON or does not fit."""
    return fastjson.loads_as(cls, data)


def encode_body(value: Body) -> bytes:
    """Compact, alphabetical, without nulls, integer keys bare: what Java's encode() gives."""
    return fastjson.dumps(value)
