"""Packed message bodies (CompressionType, MessageSysFlag.getCompressionType): zlib, LZ4 frames, Zstandard."""

import zlib
from typing import Final

from trimq.codec.errors import CodecError
from trimq.codec.flags import SysFlag

# A body that claims to be larger when unpacked is not unpacked.
_BODY_LIMIT: Final = 1 << 27


def unpack_body(body: bytes, sys_flag: int) -> bytes:
    """The body as it was sent; the packing is in the sysFlag. CodecError when it is broken."""
    if not sys_flag & SysFlag.COMPRESSED or not body:
        return body
    packing = sys_flag & SysFlag.COMPRESSION_MASK
    try:
        if packing == SysFlag.COMPRESSION_LZ4:
            import lz4.frame  # type: ignore[import-untyped]

            return bytes(lz4.frame.decompress(body))
        if packing == SysFlag.COMPRESSION_ZSTD:
            import zstandard

            return zstandard.ZstdDecompressor().decompress(body, max_output_size=_BODY_LIMIT)
        return zlib.decompressobj().decompress(body, _BODY_LIMIT)
    except Exception as error:
        raise CodecError(f"a compressed message body is broken: {error}") from None
