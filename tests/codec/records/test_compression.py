"""Packed bodies: whole and within the limit, or refused, whatever they say of themselves."""

import zlib
from collections.abc import Callable

import lz4.frame
import pytest
import zstandard

from trimq.codec.errors import CodecError
from trimq.codec.flags import SysFlag
from trimq.codec.records.compression import unpack_body

SIZE = 3 << 20
PLAIN = bytes(SIZE)

PACKERS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "zlib": (0, zlib.compress),
    "lz4": (SysFlag.COMPRESSION_LZ4, lz4.frame.compress),
    "lz4, no size": (
        SysFlag.COMPRESSION_LZ4,
        lambda body: lz4.frame.compress(body, store_size=False),
    ),
    "zstd": (SysFlag.COMPRESSION_ZSTD, zstandard.ZstdCompressor().compress),
    "zstd, no size": (
        SysFlag.COMPRESSION_ZSTD,
        zstandard.ZstdCompressor(write_content_size=False).compress,
    ),
}


@pytest.mark.parametrize(("flag", "pack"), PACKERS.values(), ids=PACKERS.keys())
def test_no_more_than_the_limit_is_unpacked(flag: int, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(PLAIN)
    flag |= SysFlag.COMPRESSED
    assert unpack_body(packed, flag, SIZE) == PLAIN
    for limit in (SIZE - 1, 1000):
        with pytest.raises(CodecError):
            unpack_body(packed, flag, limit)


@pytest.mark.parametrize(("flag", "pack"), PACKERS.values(), ids=PACKERS.keys())
def test_what_breaks_off_is_refused(flag: int, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(PLAIN)
    for cut in (packed[:-1], packed[: len(packed) // 2], packed[:3], b"x" * 30):
        with pytest.raises(CodecError):
            unpack_body(cut, flag | SysFlag.COMPRESSED)
