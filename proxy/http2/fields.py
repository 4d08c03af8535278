"""Reads the fields of a head (HPACK, RFC 7541), in place of hpack's decoder: most are one byte that names a field which
came before, and cost next to nothing here.

Hot: compiled by mypyc when a compiler is there.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

from hpack.exceptions import HPACKDecodingError
from hpack.huffman_table import decode_huffman
from hpack.table import HeaderTable

Field = tuple[bytes, bytes]
# A field, and what it counts as: its bytes and 32.
_Counted = tuple[Field, int]

_OVERHEAD: Final = 32
_TABLE_BYTES: Final = 4096
# No length or index of ours is that large: longer numbers are only meant to take time.
_NUMBER_MOST: Final = 1 << 24


def _counted(name: bytes, value: bytes) -> _Counted:
    return (name, value), len(name) + len(value) + _OVERHEAD


# From 1 on.
_STATIC: Final = tuple(_counted(bytes(n), bytes(v)) for n, v in HeaderTable.STATIC_TABLE)
_OWN: Final = len(_STATIC) + 1
_unhuffed: Final[Callable[[bytes], bytes]] = decode_huffman


class BadFields(Exception):
    """A head that is none."""


class TooManyFields(Exception):
    """A head that is too long when it is unpacked."""


class FieldsReader:
    """`most`: bytes of all fields of a head, as they count."""

    def __init__(self, most: int) -> None:
        self.max_header_list_size = most
        # As we have said in our settings, or not: it is the default.
        self.max_allowed_table_size = _TABLE_BYTES
        self._table: deque[_Counted] = deque()
        self._size = 0
        self._table_most = _TABLE_BYTES

    @property
    def header_table_size(self) -> int:
        """What the peer's own table may hold at most."""
        return self._table_most

    def decode(self, data: bytes) -> list[Field]:
        """All fields, in their order."""
        fields: list[Field] = []
        table = self._table
        at, total, most = 0, 0, self.max_header_list_size
        while at < len(data):
            byte = data[at]
            if 0x80 < byte < 0xFF:
                at += 1
                index = byte & 0x7F
                if index < _OWN:
                    field, size = _STATIC[index - 1]
                elif index - _OWN < len(table):
                    field, size = table[index - _OWN]
                else:
                    raise BadFields(f"there is no field {index}")
            elif byte >= 0x80:
                index, at = _number(data, at, 0x7F)
                field, size = self._indexed(index)
            elif byte >= 0x40:
                field, size, at = self._literal(data, at, 0x3F)
                self._keep(field, size)
            elif byte >= 0x20:
                if fields:
                    raise BadFields("a table's size in the middle of a head")
                at = self._resized(data, at)
                continue
            else:
                field, size, at = self._literal(data, at, 0x0F)
            total += size
            if total > most:
                raise TooManyFields(f"more than {most} bytes of fields")
            fields.append(field)
        return fields

    def _indexed(self, index: int) -> _Counted:
        if not index:
            raise BadFields("there is no field 0")
        if index < _OWN:
            return _STATIC[index - 1]
        if index - _OWN < len(self._table):
            return self._table[index - _OWN]
        raise BadFields(f"there is no field {index}")

    def _literal(self, data: bytes, at: int, mask: int) -> tuple[Field, int, int]:
        """The field, what it counts as, and where it ends."""
        if data[at] & mask:
            index, at = _number(data, at, mask)
            name = self._indexed(index)[0][0]
        else:
            name, at = _text(data, at + 1)
        value, at = _text(data, at)
        return (name, value), len(name) + len(value) + _OVERHEAD, at

    def _keep(self, field: Field, size: int) -> None:
        self._table.appendleft((field, size))
        self._size += size
        self._shrink()

    def _shrink(self) -> None:
        while self._size > self._table_most:
            self._size -= self._table.pop()[1]

    def _resized(self, data: bytes, at: int) -> int:
        size, at = _number(data, at, 0x1F)
        if size > self.max_allowed_table_size:
            raise BadFields(f"a table of {size} bytes")
        self._table_most = size
        self._shrink()
        return at


def _number(data: bytes, at: int, mask: int) -> tuple[int, int]:
    """It begins in the lower bits of a byte, and goes on in others when these are all set."""
    number = data[at] & mask
    at += 1
    if number < mask:
        return number, at
    shift = 0
    while True:
        if at >= len(data):
            raise BadFields("a number that does not end")
        byte = data[at]
        at += 1
        number += (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at
        if number > _NUMBER_MOST or shift > 28:
            raise BadFields("a number that is too large")


def _text(data: bytes, at: int) -> tuple[bytes, int]:
    if at >= len(data):
        raise BadFields("a head that ends within a field")
    is_packed = data[at] & 0x80
    size, at = _number(data, at, 0x7F)
    end = at + size
    if end > len(data):
        raise BadFields("a text that is longer than its head")
    text = data[at:end]
    return (_unpacked(text) if is_packed else text), end


def _unpacked(text: bytes) -> bytes:
    try:
        return _unhuffed(text)
    except HPACKDecodingError as error:
        raise BadFields(str(error)) from error
