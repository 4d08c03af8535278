"""JSON bodies: Structs with Java's property names, read and written in FastJSON's dialect.

Every property has the default of its Java class, because Java reads whatever is there.
"""

from typing import Annotated, Final, TypeVar

import msgspec

from trimq.codec.java import fastjson
from trimq.codec.java.json_scan import DEPTH, LARGE, OWN_FILES, SMALL

# Java's byte, int and long: other numbers are refused, and no key of a table can be as long as a text.
Int8 = Annotated[int, msgspec.Meta(ge=-(2**7), le=2**7 - 1)]
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
# Bytes of a text that has fewer values than any limit.
_SHORT: Final = 1 << 14


class Body(msgspec.Struct, rename="camel", kw_only=True):
    """Base of all JSON bodies and of the objects in them."""


B = TypeVar("B", bound=Body)


def decode_body(cls: type[B], data: bytes) -> B:
    """Read what a server or an administrator sent; CodecError when it is not JSON or does not fit."""
    return fastjson.loads_as(cls, data, LARGE)


def decode_if_there(cls: type[B], data: bytes) -> B | None:
    """The same; None when nothing was sent, or `null`."""
    return None if data.strip() in {b"", b"null"} else decode_body(cls, data)


def decode_request(cls: type[B], data: bytes) -> B:
    """Read what a client sent: at most 1 MiB. CodecError as above."""
    if len(data) < _SHORT and data.count(b"{") + data.count(b"[") <= DEPTH:
        # Within every limit. Most are strict JSON that fits; whatever is wrong with the others is found below.
        try:
            return msgspec.json.decode(data, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass
    return fastjson.loads_as(cls, data, SMALL)


def decode_file(cls: type[B], data: bytes) -> B:
    """Read a file of our own, of any length. CodecError as above."""
    return fastjson.loads_as(cls, data, OWN_FILES)


def encode_body(value: Body) -> bytes:
    """Compact, alphabetical, without nulls, integer keys bare: what Java's encode() gives."""
    return fastjson.dumps(value)
