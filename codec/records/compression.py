"""Compressed message bodies (CompressionType, MessageSysFlag.getCompressionType): zlib, LZ4 frames,
Zstandard.

A body's claim about its own length is not trusted: nothing beyond the limit is decompressed.
"""

import zlib
from typing import Final

from trimq.codec.errors import CodecError
from trimq.codec.flags import SysFlag

# A body that would be larger than this is not decompressed.
_BODY_LIMIT: Final = 1 << 27
_PIECE: Final = 1 << 20


def unpack_body(body: bytes, sys_flag: int, limit: int = _BODY_LIMIT) -> bytes:
    """The body as it was sent; the sysFlag names the compression.

    CodecError when it is broken, incomplete, or longer than `limit` bytes.
    """
    if not sys_flag & SysFlag.COMPRESSED or not body:
        return body
    packing = sys_flag & SysFlag.COMPRESSION_MASK
    try:
        if packing == SysFlag.COMPRESSION_LZ4:
            return _unpack_lz4(body, limit)
        if packing == SysFlag.COMPRESSION_ZSTD:
            return _unpack_zstd(body, limit)
        return _unpack_zlib(body, limit)
    except CodecError:
        raise
    except Exception as error:
        raise CodecError(f"a compressed message body is broken: {error}") from None


def _unpack_zlib(body: bytes, limit: int) -> bytes:
    inflater = zlib.decompressobj()
    unpacked = inflater.decompress(body, limit + 1)
    if len(unpacked) > limit:
        raise _too_long(limit)
    if not inflater.eof:
        raise CodecError("a compressed message body breaks off")
    return unpacked


def _unpack_lz4(body: bytes, limit: int) -> bytes:
    import lz4.frame

    unpacker = lz4.frame.LZ4FrameDecompressor()
    unpacked = bytearray(unpacker.decompress(body, max_length=_PIECE))
    while not unpacker.eof:
        if unpacker.needs_input:
            raise CodecError("a compressed message body breaks off")
        unpacked += unpacker.decompress(b"", max_length=_PIECE)
        if len(unpacked) > limit:
            raise _too_long(limit)
    if len(unpacked) > limit:
        raise _too_long(limit)
    return bytes(unpacked)


def _unpack_zstd(body: bytes, limit: int) -> bytes:
    import zstandard

    unpacker = zstandard.ZstdDecompressor()
    stated = zstandard.frame_content_size(body)
    if stated > limit:
        raise _too_long(limit)
    # The library holds an output without a stated length to this one, and a stated length to itself.
    return unpacker.decompress(body, max_output_size=limit)


def _too_long(limit: int) -> CodecError:
    return CodecError(f"a compressed message body is longer than {limit} bytes when unpacked")
