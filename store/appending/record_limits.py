"""What a record may hold (MessageExtEncoder), and what would make one look torn.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from typing import Final

from trimq.codec.records.record import LONGEST_PROPERTIES
from trimq.store.disk.files import SECTOR, ZERO_SECTOR
from trimq.store.errors import MessageTooLarge, PropertiesLookTorn, PropertiesTooLong
from trimq.store.log.commit_log import CommitLog

# MessageExtEncoder keeps this much room beside the longest body.
ROOM_BESIDE_BODY: Final = 64 * 1024
_ENTRY_END: Final = b"\x02"


class RecordLimits:
    """`longest_body`: bytes (maxMessageSize)."""

    __slots__ = ("_log", "_longest_record", "longest_body")

    def __init__(self, log: CommitLog, longest_body: int) -> None:
        self._log = log
        self.limit_bodies(longest_body)

    def limit_bodies(self, longest: int) -> None:
        """Bytes of the longest body from now on."""
        self._longest_record = longest + ROOM_BESIDE_BODY
        self.longest_body = longest

    def check(self, body: bytes, properties: bytes, size: int) -> None:
        """Raises what is wrong with a record of this size, in the order of MessageExtEncoder.encode."""
        if len(properties) > LONGEST_PROPERTIES:
            raise PropertiesTooLong(f"the properties take {len(properties)} bytes")
        if len(properties) >= SECTOR and ZERO_SECTOR in properties:
            raise PropertiesLookTorn(f"the properties hold {SECTOR} zero bytes in a row")
        too_long = len(body) > self.longest_body or size > self._longest_record
        if too_long or not self._log.fits(size):
            raise MessageTooLarge(
                f"a body of {len(body)} bytes (record {size}) is above {self.longest_body}"
            )

    def check_batch(self, size: int) -> None:
        """The records of a batch, `size` bytes together, must fit into one file."""
        if not self._log.fits(size):
            raise MessageTooLarge(f"a batch of {size} bytes does not fit into one file")


def closed_properties(properties: bytes) -> bytes:
    """Properties never end in a zero byte: recovery knows a torn record by that."""
    return properties + _ENTRY_END if properties.endswith(b"\0") else properties
