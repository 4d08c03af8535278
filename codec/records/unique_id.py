"""The id that a producer gives its message (MessageClientIDSetter.createUniqID).

Upper-case hex of: address (4 or 16 bytes), process id (2), a number for this start (4, in Java the
class loader's hash), milliseconds since the month began in local time (4), a counter (2).

Hot: compiled by mypyc when a compiler is there.
"""

import struct
from typing import Final

LOADER_SIZE: Final = 4
_PROCESS: Final = struct.Struct(">H")
_CHANGING: Final = struct.Struct(">IH")


def id_start(address: bytes, process: int, loader: bytes) -> str:
    """What all ids of one process begin with; `loader` has LOADER_SIZE bytes."""
    return (address + _PROCESS.pack(process & 0xFFFF) + loader).hex().upper()


def id_end(elapsed: int, count: int) -> str:
    """What differs: milliseconds since the month began, and a count; both wrap."""
    return _CHANGING.pack(elapsed & 0xFFFFFFFF, count & 0xFFFF).hex().upper()
