r"""The texts of JSON as fastjson2 decodes them, whatever is between the quotes.

Each character is taken by the bits of its bytes, so the surrogates of JNI (CESU-8) make one character and `c0 80` a
NUL; an escape may be one of JavaScript's; the digits of `\u` and `\x` are taken as fastjson2's tables say, even when
they are none. (Up to 5.5.0, what is no UTF-8 became U+FFFD in a text without a backslash.)

A half of a surrogate pair becomes `?`: it cannot be stored, and Java writes that.
"""

import re
from typing import Final

from trimq.codec.errors import CodecError
from trimq.codec.regexes import every

# Whole characters that need no look: no backslash, well-formed, no surrogate.
_PLAIN: Final = (
    rb"[\x00-\x5b\x5d-\x7f]++|[\xc2-\xdf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}"
    rb"|\xe0[\xa0-\xbf][\x80-\xbf]|\xed[\x80-\x9f][\x80-\xbf]"
)
_PIECE: Final = re.compile(
    rb"(?P<plain>(?:"
    + _PLAIN
    + rb")"
    + every(_PLAIN)
    + rb")|\\u(?P<hex>[0-9a-fA-F]{4})|\\u(?P<u>.{4})|\\x(?P<x>..)|\\(?P<one>.)"
    + rb"|(?P<two>[\xc0-\xdf].)|(?P<three>[\xe0-\xef]..)|(?P<four>[\xf0-\xf7].{3})",
    re.DOTALL,
)
_HALF: Final = re.compile("[\ud800-\udfff]")
_BEGINNINGS: Final = bytes(range(0xC0, 0x100))

# What a letter behind a backslash stands for.
_ESCAPES: Final = {
    **{ord(digit): chr(int(digit)) for digit in "01234567"},
    **{ord(mark): mark for mark in "\"'/.\\#&[]@()_,~ "},
    **dict(zip(b"btnvfFr", "\b\t\n\v\f\f\r", strict=True)),
}
# Beyond `f` the table of fastjson2 ends.
_LAST_DIGIT: Final = ord("f")


def pieces_of(inside: bytes) -> int:
    """How many pieces of it have to be looked at one by one, at most."""
    escapes = inside.count(b"\\")
    try:
        inside.decode()
    except UnicodeDecodeError:
        return escapes + len(inside) - len(inside.translate(None, _BEGINNINGS))
    return escapes


def text_of(inside: bytes, at: int = 0) -> str:
    """What the bytes between two quotes say; CodecError says where, when they begin at byte `at`."""
    if b"\\" not in inside:
        try:
            return inside.decode()
        except UnicodeDecodeError:
            # By its bits.
            pass
    pieces: list[str] = []
    last = 0
    for match in _PIECE.finditer(inside):
        if match.start() != last:
            break
        last = match.end()
        pieces.append(_piece(match, at))
    if last != len(inside):
        raise _no_character(at + last)
    text = "".join(pieces)
    if _HALF.search(text) is None:
        return text
    # Two halves that meet are one character, whoever wrote them.
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _HALF.sub("?", whole)


def _piece(match: re.Match[bytes], at: int) -> str:
    kind, piece = match.lastgroup, match[match.lastgroup or 0]
    at += match.start()
    if kind == "plain":
        return piece.decode()
    if kind == "hex":
        return chr(int(piece, 16))
    if kind == "u":
        return chr(sum(_hex(byte) << 4 * (3 - place) for place, byte in enumerate(piece)))
    if kind == "x":
        return chr(16 * _table_digit(piece[0], at) + _table_digit(piece[1], at))
    if kind == "one":
        return _escaped(piece[0], at)
    if kind == "two":
        return chr((piece[0] & 0x1F) << 6 | piece[1] & 0x3F)
    if kind == "three":
        return chr((piece[0] & 0x0F) << 12 | (piece[1] & 0x3F) << 6 | piece[2] & 0x3F)
    try:
        return piece.decode()
    except UnicodeDecodeError:
        raise _no_character(at) from None


def _hex(byte: int) -> int:
    """What fastjson2 takes for a digit: letters by one bit."""
    return (byte & 0x0F) + (9 if byte & 0x40 else 0) & 0x0F


def _table_digit(byte: int, at: int) -> int:
    if byte > _LAST_DIGIT:
        raise CodecError(f"byte {at} begins the escape \\x without two hexadecimal digits")
    digit = chr(byte)
    return int(digit, 16) if digit in "0123456789abcdefABCDEF" else 0


def _escaped(byte: int, at: int) -> str:
    found = _ESCAPES.get(byte)
    if found is None:
        raise CodecError(f"byte {at} begins the escape \\{chr(byte)}, which there is not")
    return found


def _no_character(at: int) -> CodecError:
    return CodecError(f"the bytes from {at} on are no text in UTF-8")
