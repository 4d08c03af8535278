"""Java's string hash and RocketMQ's checksum: both determine bytes on disk.

Hot: compiled by mypyc when a compiler is there.
"""

import struct
import zlib


def string_hash(text: str) -> int:
    """`String.hashCode`: over UTF-16 code units, wrapped to a signed 32-bit number."""
    value = 0
    if text.isascii():
        for unit in text.encode("ascii"):
            value = (31 * value + unit) & 0xFFFFFFFF
    else:
        units = text.encode("utf-16-be", "surrogatepass")
        for index in range(0, len(units), 2):
            value = (31 * value + (units[index] << 8 | units[index + 1])) & 0xFFFFFFFF
    return value - 0x100000000 if value > 0x7FFFFFFF else value


def crc32_31(data: bytes | bytearray | memoryview) -> int:
    """CRC32 without its top bit (UtilAll.crc32), so that Java's int never turns negative."""
    return zlib.crc32(data) & 0x7FFFFFFF


def ascii_hashes(starts: list[int], texts: list[bytes]) -> list[int]:
    """Hashes of many ASCII texts of one length, unsigned; each continues from its start.

    `hash(a + b)` continues from `hash(a)`. All texts are worked on at once, as lanes of 64 bits in
    one large number: several times as fast as a loop over each.
    """
    count, length = len(texts), len(texts[0])
    size = 8 * count
    joined = b"".join(texts)
    low_halves = int.from_bytes(b"\xff\xff\xff\xff\0\0\0\0" * count, "little")
    value = int.from_bytes(struct.pack(f"<{count}Q", *starts), "little")
    lanes = bytearray(size)
    for at in range(length):
        lanes[::8] = joined[at::length]
        value = value * 31 + int.from_bytes(lanes, "little")
        # A lane grows by less than 5 bits a step, so six steps fit beside the 32.
        if at % 6 == 5:
            value &= low_halves
    value &= low_halves
    return list(struct.unpack(f"<{count}Q", value.to_bytes(size, "little")))
