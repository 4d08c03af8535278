"""Java's string hash and RocketMQ's checksum: both decide bytes on disk."""

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
