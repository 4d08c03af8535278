"""The JSON header of a frame, read and written by msgspec (RemotingCommand as JSON).

Stays uncompiled: mypyc drops a Struct's renamed fields. Keys are alphabetical, nulls are left
out, as RocketMQ writes them.
"""

import re
import struct
from typing import Annotated, Any, Final

import msgspec

from trimq.codec.codes import LanguageCode
from trimq.codec.errors import CodecError
from trimq.codec.java.fastjson import loads
from trimq.codec.java.json_scan import SMALL
from trimq.codec.java.values import fit
from trimq.codec.regexes import every

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]


class JsonHead(msgspec.Struct, omit_defaults=True, gc=False):
    """Absent keys take the value RemotingCommand starts with."""

    code: Int32 = 0
    extFields: dict[str, str] | None = None
    flag: Int32 = 0
    language: str = "JAVA"
    opaque: Int32 = 0
    remark: str | None = None
    version: Int32 = 0


_DECODER: Final = msgspec.json.Decoder(JsonHead)
_LANGUAGES: Final = {language.name: int(language) for language in LanguageCode}
_NAMES: Final = {int(language): language.name for language in LanguageCode}
_WORDS: Final = struct.Struct(">II")
# How many ext fields a header may have.
FIELDS_LIMIT: Final = 512
# The other keys of a header, and a few more.
_OTHER_KEYS: Final = 16
_NUMBER_BEHIND: Final = re.compile(rb"[ \t\r\n]*+:[ \t\r\n]*+[\"']?\+?(-?\d{1,10})(?!\d)")
# A text that does not end goes to the end: it is not looked for again from its next quote.
_KEY: Final = re.compile(
    rb'"' + every(rb'[^"\\]++|\\.') + rb'(?:"[ \t\r\n]*+(:)?|\\?\Z)', re.DOTALL
)


def read_json_head(data: bytes) -> JsonHead:
    try:
        return _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _read_lenient(data)


# Code, opaque, flag, remark, ext fields, language, version.
HeadValues = tuple[int, int, int, str | None, dict[str, str] | None, str, int]


def head_values(data: bytes) -> HeadValues:
    """What a header says; CodecError when it cannot be read."""
    head = read_json_head(data)
    return (
        *(head.code, head.opaque, head.flag),
        *(head.remark, head.extFields, head.language, head.version),
    )


def plain_head(frame: bytes, end: int, /) -> HeadValues | None:
    """The same of a frame without its length word, whose header ends there; `_heads.c` is its twin.

    None, from the twin: it is not an ordinary one.
    """
    return head_values(frame[4:end])


def plain_reply(
    code: int,
    flag: int,
    opaque: int,
    version: int,
    fields: dict[str, str] | None,
    body_length: int,
    /,
) -> bytes | None:
    """The length words and the JSON header of a frame without a remark; `_replies.c` is its twin.

    Without fields, None, the header does not speak of them.
    None: it does not fit a frame; or, from the twin, a field is not ASCII or has characters that JSON escapes.
    """
    ext = b"" if fields is None else b'"extFields":%b,' % msgspec.json.encode(fields)
    header = (
        b'{"code":%d,%b"flag":%d,"language":"JAVA","opaque":%d,'
        b'"serializeTypeCurrentRPC":"JSON","version":%d}' % (code, ext, flag, opaque, version)
    )
    length = len(header)
    if length > 0xFFFFFF or not 0 <= body_length < 1 << 31:
        return None
    return _WORDS.pack(4 + length + body_length, length) + header


def language_number(name: str) -> int:
    """The number of a language name; an unknown name counts as OTHER."""
    return _LANGUAGES.get(name, LanguageCode.OTHER)


def language_name(number: int) -> str:
    return _NAMES.get(number, "OTHER")


def count_fields(header: bytes) -> int:
    """How many keys a JSON header has apart from its own, roughly; counting ends beyond the limit."""
    if header.count(b'"') <= 2 * FIELDS_LIMIT:
        return 0
    count = -_OTHER_KEYS
    for key in _KEY.finditer(header):
        count += key[1] is not None
        if count > FIELDS_LIMIT:
            break
    return count


def find_number(header: bytes, name: str) -> int | None:
    """The number of that name in a JSON header that is not decoded; None when none is found."""
    key = name.encode()
    at = max(header.rfind(b'"%b"' % key), header.rfind(b"'%b'" % key))
    found = _NUMBER_BEHIND.match(header[at + len(key) + 2 :][:64])
    if at < 0 or found is None:
        return None
    number = int(found[1])
    return number if -(2**31) <= number < 2**31 else None


def _read_lenient(data: bytes) -> JsonHead:
    """FastJSON reads more than JSON, and turns numbers and booleans into text where text is wanted, and back."""
    try:
        head: Any = loads(data, SMALL)
        if isinstance(head, dict) and type(head.get("language")) is int:
            head["language"] = language_name(head["language"])
        return msgspec.convert(fit(head, JsonHead), JsonHead, strict=False)
    except (msgspec.ValidationError, CodecError) as error:
        raise CodecError(f"the JSON header of a frame is wrong: {error}") from None
