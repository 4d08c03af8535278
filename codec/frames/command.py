"""One remoting command: a request or a response, and its frame (RemotingCommand).

A frame is its length, then one word with the header's coding (high byte) and length (low 24
bits), the header, the body. JSON headers are read by `json_head`, binary ones here
(RocketMQSerializable): code, language, version, opaque, flag, remark, ext fields.

Hot: compiled by mypyc when a compiler is there.
"""

import struct
from typing import Final

import msgspec

from trimq.codec.errors import CodecError, HeaderTooLarge, HeaderUnreadable
from trimq.codec.frames.heads import plain_head, plain_reply
from trimq.codec.frames.json_head import (
    FIELDS_LIMIT,
    count_fields,
    find_number,
    head_values,
    language_name,
    language_number,
)

JSON: Final = 0
ROCKETMQ: Final = 1

# MQVersion V5_5_1, and the language that TriMQ claims: clients know the broker as a Java one.
VERSION: Final = 515
LANGUAGE: Final = 0

RESPONSE_BIT: Final = 1
ONEWAY_BIT: Final = 2

_FIXED: Final = struct.Struct(">hBhiii")
_FIXED_SIZE: Final = 17
_WORDS: Final = struct.Struct(">II")
_INT: Final = struct.Struct(">i")
_KEY_LENGTH: Final = struct.Struct(">h")
_MAX_HEADER: Final = 0xFFFFFF
# Limits of an incoming header. The fields of a small one need not be counted first.
_HEADER_LIMIT: Final = 1 << 20
_SMALL_HEADER: Final = 1 << 14
_encode_json: Final = msgspec.json.encode


class RemotingCommand:
    """What one frame says. `coding` is the header coding that it came in or will be sent in.

    `shows_no_fields`: a JSON header says `extFields` although there are none.
    """

    __slots__ = (
        "body",
        "code",
        "coding",
        "ext_fields",
        "flag",
        "language",
        "opaque",
        "remark",
        "shows_no_fields",
        "version",
    )

    def __init__(  # noqa: PLR0913, PLR0917 - the fields of a frame
        self,
        code: int,
        opaque: int,
        flag: int = 0,
        remark: str | None = None,
        ext_fields: dict[str, str] | None = None,
        body: bytes = b"",
        coding: int = JSON,
        language: int = LANGUAGE,
        version: int = VERSION,
    ) -> None:
        self.code: int = code
        self.opaque: int = opaque
        self.flag: int = flag
        self.remark: str | None = remark
        self.ext_fields: dict[str, str] = {} if ext_fields is None else ext_fields
        self.body: bytes = body
        self.coding: int = coding
        self.language: int = language
        self.version: int = version
        self.shows_no_fields: bool = False

    @property
    def is_response(self) -> bool:
        return self.flag & RESPONSE_BIT != 0

    @property
    def is_oneway(self) -> bool:
        return self.flag & ONEWAY_BIT != 0


def decode_command(frame: bytes) -> RemotingCommand:
    """Read a frame without its length word.

    HeaderTooLarge: the header is longer than 1 MiB or has more than 512 ext fields. HeaderUnreadable: it says nothing
    that could be understood. Any other CodecError: this is no frame.
    """
    if len(frame) < 4:
        raise CodecError(f"a frame of {len(frame)} bytes has no room for its header length")
    coding = frame[0]
    end = 4 + (frame[1] << 16 | frame[2] << 8 | frame[3])
    if end > len(frame):
        raise CodecError(f"header length {end - 4} is beyond a frame of {len(frame)} bytes")
    if end > _SMALL_HEADER:
        _check_large(frame, end)
    if coding == JSON:
        return _decode_json(frame, end)
    if coding == ROCKETMQ:
        try:
            return _decode_binary(frame, end)
        except HeaderTooLarge:
            raise
        except CodecError as error:
            raise _unreadable(frame, end, str(error)) from None
    raise CodecError(f"header coding {coding} is neither JSON (0) nor ROCKETMQ (1)")


def encode_head(command: RemotingCommand, body_length: int) -> bytes:
    """Everything in the frame before its body, so that the body can be sent without a copy."""
    coding = command.coding
    if coding == JSON and command.remark is None and command.language == LANGUAGE:
        fields = command.ext_fields
        head = plain_reply(
            command.code,
            command.flag,
            command.opaque,
            command.version,
            fields if fields or command.shows_no_fields else None,
            body_length,
        )
        if head is not None:
            return head
    header = _encode_json_header(command) if coding == JSON else _encode_binary(command)
    length = len(header)
    if length > _MAX_HEADER:
        raise CodecError(f"a header of {length} bytes does not fit a frame")
    return _WORDS.pack(4 + length + body_length, coding << 24 | length) + header


def encode_command(command: RemotingCommand) -> bytes:
    """The whole frame, length word included."""
    return encode_head(command, len(command.body)) + command.body


def _check_large(frame: bytes, end: int) -> None:
    """Refuse a header by its length, a JSON one by the number of its fields too, undecoded."""
    if end - 4 > _HEADER_LIMIT:
        said = f"a header of {end - 4} bytes is beyond the {_HEADER_LIMIT} allowed"
        raise _too_large(frame, end, said)
    if frame[0] == JSON and count_fields(frame[4:end]) > FIELDS_LIMIT:
        raise _too_many_fields(frame, end)


def _too_many_fields(frame: bytes, end: int) -> HeaderTooLarge:
    return _too_large(frame, end, f"a header has more than the {FIELDS_LIMIT} fields allowed")


def _too_large(frame: bytes, end: int, said: str) -> HeaderTooLarge:
    opaque, flag = _find_sender(frame, end)
    return HeaderTooLarge(said, opaque, flag, frame[0])


def _unreadable(frame: bytes, end: int, said: str) -> HeaderUnreadable:
    opaque, flag = _find_sender(frame, end)
    return HeaderUnreadable(said, opaque, flag, frame[0])


def _find_sender(frame: bytes, end: int) -> tuple[int | None, int]:
    """The opaque, if there is one, and the flag of a header that is not decoded."""
    if frame[0] == ROCKETMQ:
        if end < 4 + _FIXED_SIZE:
            return None, 0
        fixed: tuple[int, int, int, int, int, int] = _FIXED.unpack_from(frame, 4)
        return fixed[3], fixed[4]
    header = frame[4:end]
    flag = find_number(header, "flag")
    return find_number(header, "opaque"), 0 if flag is None else flag


def _decode_json(frame: bytes, end: int) -> RemotingCommand:
    try:
        found = plain_head(frame, end)
        if found is None:
            found = head_values(frame[4:end])
    except CodecError as error:
        raise _unreadable(frame, end, str(error)) from None
    code, opaque, flag, remark, fields, language, version = found
    if fields is not None and len(fields) > FIELDS_LIMIT:
        raise _too_many_fields(frame, end)
    return RemotingCommand(
        code,
        opaque,
        flag,
        remark,
        fields,
        frame[end:],
        JSON,
        0 if language == "JAVA" else language_number(language),
        version,
    )


def _encode_json_header(command: RemotingCommand) -> bytes:
    fields = command.ext_fields
    shown = command.shows_no_fields or fields
    ext = b'"extFields":%b,' % _encode_json(fields) if shown else b""
    remark = command.remark
    said = b"" if remark is None else b'"remark":%b,' % _encode_json(remark)
    language = "JAVA" if command.language == 0 else language_name(command.language)
    return (
        b'{"code":%d,%b"flag":%d,"language":"%b","opaque":%d,%b'
        b'"serializeTypeCurrentRPC":"JSON","version":%d}'
        % (
            command.code,
            ext,
            command.flag,
            language.encode(),
            command.opaque,
            said,
            command.version,
        )
    )


def _decode_binary(frame: bytes, end: int) -> RemotingCommand:
    at = 4 + _FIXED_SIZE
    if at + 4 > end:
        raise CodecError(f"a ROCKETMQ header of {end - 4} bytes is too short")
    code, language, version, opaque, flag, remark_length = _FIXED.unpack_from(frame, 4)
    remark: str | None = None
    if remark_length:
        if remark_length < 0 or remark_length > end - at - 4:
            raise CodecError(f"remark length {remark_length} is beyond the header")
        remark = frame[at : at + remark_length].decode("utf-8", "replace")
        at += remark_length
    ext_length: int = _INT.unpack_from(frame, at)[0]
    at += 4
    if ext_length > end - at:
        raise CodecError(f"ext-field block length {ext_length} is beyond the header")
    fields = _read_ext_fields(frame, at, at + ext_length)
    if len(fields) > FIELDS_LIMIT:
        raise _too_many_fields(frame, end)
    return RemotingCommand(
        code, opaque, flag, remark, fields, frame[end:], ROCKETMQ, language, version
    )


def _read_ext_fields(frame: bytes, at: int, end: int) -> dict[str, str]:
    """`short length, key, int length, value` repeated; an empty value counts as absent.

    Bytes that are not UTF-8 are replaced, as Java does.
    """
    fields: dict[str, str] = {}
    while at < end and len(fields) <= FIELDS_LIMIT:
        if at + 6 > end:
            raise CodecError(f"the ext-field block breaks off at byte {at}")
        length = frame[at] << 8 | frame[at + 1]
        key_at = at + 2
        at = key_at + length
        # Java reads the length as signed; no key is that long, so both refuse it.
        if length > 0x7FFF or at + 4 > end:
            raise CodecError(f"ext-field key length {length} at byte {key_at - 2} is too long")
        key = frame[key_at:at].decode("utf-8", "replace")
        length = frame[at] << 24 | frame[at + 1] << 16 | frame[at + 2] << 8 | frame[at + 3]
        at += 4
        if length > end - at:
            raise CodecError(f"ext-field {key!r} has a length of {length}, beyond its block")
        if length:
            fields[key] = frame[at : at + length].decode("utf-8", "replace")
            at += length
    return fields


def _encode_binary(command: RemotingCommand) -> bytes:
    code = command.code
    if not -0x8000 <= code <= 0x7FFF:
        raise CodecError(f"code {code} needs a JSON header: the ROCKETMQ one holds 16 bits")
    parts: list[bytes] = []
    for key, value in command.ext_fields.items():
        name = key.encode()
        content = value.encode()
        parts.append(_KEY_LENGTH.pack(len(name)))
        parts.append(name)
        parts.append(_INT.pack(len(content)))
        parts.append(content)
    ext = b"".join(parts)
    remark = b"" if command.remark is None else command.remark.encode()
    return b"".join(
        (
            _FIXED.pack(
                code,
                command.language & 0xFF,
                command.version,
                command.opaque,
                command.flag,
                len(remark),
            ),
            remark,
            _INT.pack(len(ext)),
            ext,
        )
    )
