"""The JSON header of a frame, read and written by msgspec (RemotingCommand as JSON).

Stays uncompiled: mypyc drops a Struct's renamed fields. Keys are alphabetical, nulls are left
out, as RocketMQ writes them.
"""

from typing import Annotated, Any, Final, cast

import msgspec

from trimq.codec.codes import LanguageCode
from trimq.codec.errors import CodecError

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
_encode_text: Final = msgspec.json.encode


def read_json_head(data: bytes) -> JsonHead:
    try:
        return _DECODER.decode(data)
    except msgspec.ValidationError:
        return _read_lenient(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CodecError(f"the JSON header of a frame is broken: {error}") from None


def language_number(name: str) -> int:
    """The number of a language name; a name of the future counts as OTHER."""
    return _LANGUAGES.get(name, LanguageCode.OTHER)


def language_name(number: int) -> str:
    return _NAMES.get(number, "OTHER")


def _read_lenient(data: bytes) -> JsonHead:
    """FastJSON turns numbers and booleans into text where text is wanted, and back."""
    try:
        head = msgspec.json.decode(data)
        if isinstance(head, dict):
            head = {key: value for key, value in head.items() if value is not None}
            if isinstance(head.get("language"), int):
                head["language"] = language_name(head["language"])
        if isinstance(head, dict) and isinstance(head.get("extFields"), dict):
            fields = cast("dict[str, Any]", head["extFields"])
            head["extFields"] = {
                key: _as_text(value) for key, value in fields.items() if value is not None
            }
        return msgspec.convert(head, JsonHead, strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise CodecError(f"the JSON header of a frame is wrong: {error}") from None


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else _encode_text(value).decode()
