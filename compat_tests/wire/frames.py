"""RocketMQ's remoting frame, written and read without TriMQ's codec.

The driver judges TriMQ, so it must not share its mistakes: only `struct` and `json` are used here,
after formats.md sections 1 and 2. A reply is read in either header coding, by its high byte.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

JSON_CODING: Final = 0
BINARY_CODING: Final = 1
RESPONSE_FLAG: Final = 1
ONEWAY_FLAG: Final = 2
JAVA: Final = 0
V5_5_0: Final = 513

_LANGUAGES: Final = (
    *("JAVA", "CPP", "DOTNET", "PYTHON", "DELPHI", "ERLANG", "RUBY", "OTHER"),
    *("HTTP", "GO", "PHP", "OMS", "RUST", "NODE_JS"),
)
_BINARY_HEAD: Final = struct.Struct(">hBhii")


@dataclass(slots=True)
class Frame:
    """One request or reply as it travels, header values still text."""

    code: int
    opaque: int = 0
    flag: int = 0
    remark: str | None = None
    ext: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    language: int = JAVA
    version: int = V5_5_0
    coding: int = JSON_CODING

    @property
    def is_response(self) -> bool:
        return bool(self.flag & RESPONSE_FLAG)

    @property
    def is_oneway(self) -> bool:
        return bool(self.flag & ONEWAY_FLAG)


def encode(frame: Frame) -> bytes:
    """The whole frame with its length word."""
    header = _binary_header(frame) if frame.coding == BINARY_CODING else _json_header(frame)
    return with_lengths(header, frame.body, frame.coding)


def with_lengths(header: bytes, body: bytes, coding: int) -> bytes:
    """A frame around any header bytes, broken ones too."""
    total = 4 + len(header) + len(body)
    return struct.pack(">iI", total, coding << 24 | len(header)) + header + body


def decode(payload: bytes) -> Frame:
    """The frame that follows a length word."""
    (word,) = struct.unpack_from(">I", payload)
    coding, length = word >> 24, word & 0xFFFFFF
    header, body = payload[4 : 4 + length], payload[4 + length :]
    if len(header) != length:
        raise ValueError(f"header of {length} bytes announced, {len(header)} there")
    return _read_binary(header, body) if coding == BINARY_CODING else _read_json(header, body)


def _json_header(frame: Frame) -> bytes:
    header: dict[str, object] = {
        "code": frame.code,
        "flag": frame.flag,
        "language": _LANGUAGES[frame.language],
        "opaque": frame.opaque,
        "serializeTypeCurrentRPC": "JSON",
        "version": frame.version,
    }
    if frame.ext:
        header["extFields"] = frame.ext
    if frame.remark is not None:
        header["remark"] = frame.remark
    return json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()


def _read_json(header: bytes, body: bytes) -> Frame:
    value = json.loads(header)
    return Frame(
        code=value["code"],
        opaque=value["opaque"],
        flag=value.get("flag", 0),
        remark=value.get("remark"),
        ext=value.get("extFields") or {},
        body=body,
        language=_LANGUAGES.index(value.get("language", "OTHER")),
        version=value.get("version", 0),
        coding=JSON_CODING,
    )


def _binary_header(frame: Frame) -> bytes:
    remark = (frame.remark or "").encode()
    block = binary_ext(frame.ext)
    head = _BINARY_HEAD.pack(
        _signed_short(frame.code), frame.language, frame.version, frame.opaque, frame.flag
    )
    return b"".join(
        (head, struct.pack(">i", len(remark)), remark, struct.pack(">i", len(block)), block)
    )


def binary_ext(ext: Mapping[str, str]) -> bytes:
    """`short keyLen, key, int valLen, value`, repeated."""
    parts: list[bytes] = []
    for key, value in ext.items():
        raw_key, raw_value = key.encode(), value.encode()
        parts += [struct.pack(">h", len(raw_key)), raw_key]
        parts += [struct.pack(">i", len(raw_value)), raw_value]
    return b"".join(parts)


def _read_binary(header: bytes, body: bytes) -> Frame:
    code, language, version, opaque, flag = _BINARY_HEAD.unpack_from(header)
    at = _BINARY_HEAD.size
    (length,) = struct.unpack_from(">i", header, at)
    remark = header[at + 4 : at + 4 + length].decode() if length > 0 else None
    at += 4 + max(length, 0)
    (length,) = struct.unpack_from(">i", header, at)
    ext = _read_binary_ext(header[at + 4 : at + 4 + length]) if length > 0 else {}
    return Frame(
        code=code,
        opaque=opaque,
        flag=flag,
        remark=remark,
        ext=ext,
        body=body,
        language=language,
        version=version,
        coding=BINARY_CODING,
    )


def _read_binary_ext(block: bytes) -> dict[str, str]:
    ext: dict[str, str] = {}
    at = 0
    while at < len(block):
        (length,) = struct.unpack_from(">h", block, at)
        key = block[at + 2 : at + 2 + length].decode()
        at += 2 + length
        (length,) = struct.unpack_from(">i", block, at)
        ext[key] = block[at + 4 : at + 4 + length].decode()
        at += 4 + length
    return ext


def _signed_short(code: int) -> int:
    """What Java's writeShort leaves of a code above 32767."""
    low = code & 0xFFFF
    return low - 0x10000 if low > 0x7FFF else low
