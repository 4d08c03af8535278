"""Single fields of a header: read out of the ext fields of a request as decode_header does, or added to an answer's.

`header` names it in errors. CodecError when a field is absent or no number; the lenient ones give None then.

Hot: compiled by mypyc when a compiler is there.
"""

from trimq.codec.errors import CodecError
from trimq.codec.java.numbers import parse_int, parse_long


def text_of(ext: dict[str, str], key: str, header: str) -> str:
    text = ext.get(key)
    if text is None:
        raise CodecError(f"{header} needs the field {key!r}")
    return text


def integer_of(ext: dict[str, str], key: str, header: str) -> int:
    text = ext.get(key)
    # Nearly every number is short and has no sign; the rules are in parse_int. A third of int()'s time, compiled.
    if text is not None and 0 < len(text) < 10:
        number = 0
        for at in range(len(text)):
            digit = ord(text[at]) - 48
            if not 0 <= digit <= 9:
                break
            number = number * 10 + digit
        else:
            return number
    parsed = parse_int(text_of(ext, key, header))
    if parsed is None:
        raise CodecError(f"{header}: {key!r} is not of type Integer: {ext[key][:40]!r}")
    return parsed


def long_of(ext: dict[str, str], key: str, header: str) -> int:
    text = ext.get(key)
    if text is not None and len(text) < 19 and text.isdecimal():
        return int(text)
    number = parse_long(text_of(ext, key, header))
    if number is None:
        raise CodecError(f"{header}: {key!r} is not of type Long: {ext[key][:40]!r}")
    return number


def optional_integer(ext: dict[str, str], key: str, header: str) -> int | None:
    return integer_of(ext, key, header) if key in ext else None


def optional_long(ext: dict[str, str], key: str, header: str) -> int | None:
    return long_of(ext, key, header) if key in ext else None


def lenient_integer(ext: dict[str, str], key: str) -> int | None:
    text = ext.get(key)
    return None if text is None else parse_int(text)


def lenient_long(ext: dict[str, str], key: str) -> int | None:
    text = ext.get(key)
    if text is None:
        return None
    return int(text) if len(text) < 19 and text.isdecimal() else parse_long(text)


def boolean_of(ext: dict[str, str], key: str) -> bool | None:
    text = ext.get(key)
    if text is None:
        return None
    return text == "true" or text.lower() == "true"


def add_text(ext: dict[str, str], key: str, text: str | None) -> None:
    """Into the ext fields of an answer, if there is one."""
    if text is not None:
        ext[key] = text


def add_number(ext: dict[str, str], key: str, number: int | None) -> None:
    if number is not None:
        ext[key] = str(number)
