"""Header fields of answers as HPACK: a few heads are sent again and again, the peer's table keeps those only.

Hot: compiled by mypyc when a compiler is there.
"""

from collections.abc import Iterable
from typing import Final

Field = tuple[bytes, bytes]
Fields = list[Field]

# The only ones of the static table that are worth it.
_STATUS: Final = {b"200": 8, b"404": 13}
_FIRST_OF_TABLE: Final = 62
_TABLE_BYTES: Final = 4096
_INDEXED: Final = 0x80
_LITERAL, _KEPT_LITERAL = b"\0", b"\x40"
# From now on the table holds nothing.
_NO_TABLE: Final = b"\x20"


class HeadEncoder:
    """`known`: heads that are sent often; few fields, and short ones."""

    def __init__(self, known: frozenset[tuple[Field, ...]]) -> None:
        self._known = known
        self._table: list[Field] = []
        self._keeps = True
        # What each known head is, as long as the table stays as it is.
        self._blocks: dict[tuple[Field, ...], bytes] = {}
        self._prefix = b""

    @property
    def header_table_size(self) -> int:
        return _TABLE_BYTES if self._keeps else 0

    @header_table_size.setter
    def header_table_size(self, size: int) -> None:
        """What the peer's table may hold at most."""
        if size < _TABLE_BYTES and self._keeps:
            self._keeps = False
            self._prefix = _NO_TABLE
            self._blocks.clear()

    def encode(self, headers: Iterable[Field]) -> bytes:
        fields = tuple(headers)
        block = self._blocks.get(fields)
        if block is not None:
            return block
        if self._keeps and fields in self._known:
            return self._learned(fields)
        block = self._prefix + encoded(fields)
        self._prefix = b""
        return block

    def _learned(self, fields: tuple[Field, ...]) -> bytes:
        before = len(self._table)
        block = bytearray()
        for field in fields:
            name, value = field
            if name == b":status" and value in _STATUS:
                block.append(_INDEXED | _STATUS[value])
            elif field in self._table:
                # The newest one comes first.
                behind = len(self._table) - 1 - self._table.index(field)
                block.append(_INDEXED | _FIRST_OF_TABLE + behind)
            else:
                block += _KEPT_LITERAL + _text(name) + _text(value)
                self._table.append(field)
        if len(self._table) > before:
            self._blocks.clear()
        else:
            self._blocks[fields] = bytes(block)
        return bytes(block)


def encoded(fields: Iterable[Field]) -> bytes:
    """A block that does not depend on what was sent before, and of which nothing is kept."""
    block = bytearray()
    for name, value in fields:
        if name == b":status" and value in _STATUS:
            block.append(_INDEXED | _STATUS[value])
        else:
            block += _LITERAL + _text(name) + _text(value)
    return bytes(block)


def _text(text: bytes) -> bytes:
    size = len(text)
    if size < 127:
        return bytes((size,)) + text
    head = bytearray(b"\x7f")
    size -= 127
    while size >= 128:
        head.append(size & 127 | 128)
        size >>= 7
    head.append(size)
    return bytes(head) + text
