r"""JSON that fastjson2 reads although it is none, brought into strict JSON (the 2.0.63 of RocketMQ 5.5.1).

Clients write such texts: Node and Python print a character cut in two as one surrogate (`"\ud83d"`), hand-made
writers leave control characters as they are, JNI gives each surrogate three bytes. Also read here: texts in
single quotes, escapes of JavaScript (`\x41`, `\v`, `\0`), bytes that are not UTF-8, numbers like `+1`, `01`, `5.`
and `1L`, commas too many at an end or too few, `Set["a"]`, comments.

What comes out is JSON, or our dialect: bare integers and objects may still be keys, for `json_scan`;
msgspec has the last word. A refusal says what is wrong at which byte.

One pass: no byte is looked at more than a few times, and `most_steps` bounds what Python does piece by piece.
"""

import re
from collections.abc import Callable
from typing import Final

import msgspec

from trimq.codec.errors import CodecError
from trimq.codec.java.json_scan import DEPTH, BeyondLimits
from trimq.codec.java.lenient_texts import pieces_of, text_of
from trimq.codec.regexes import every

# Blanks of fastjson2, and comments wherever one of them may be.
_COMMENT: Final = rb"/\*" + every(rb"[^*]++|\*(?!/)") + rb"\*/|//[^\n]*+"
_GAP: Final = re.compile(every(rb"[\x00\x08\t\n\f\r ]++|" + _COMMENT))
# What msgspec reads as it is: texts, numbers and words, each member with its comma.
_WS: Final = rb"[ \t\r\n]*+"
_PLAIN_TEXT: Final = rb'"[^"\\\x00-\x1f\x80-\xff]*+"'
_NUMBER: Final = rb"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,17})?(?![\w.+-])"
_PLAIN_VALUE: Final = rb"(?:" + _PLAIN_TEXT + rb"|" + _NUMBER + rb"|true\b|false\b|null\b)"
_PLAIN_ITEM: Final = _WS + _PLAIN_VALUE + _WS + rb","
_PLAIN_ITEMS: Final = re.compile(every(_PLAIN_ITEM))
_PLAIN_MEMBERS: Final = re.compile(every(_WS + _PLAIN_TEXT + _WS + rb":" + _PLAIN_ITEM))

# How fastjson2 looks for the end of a text: what an escape or the first byte of a character promises is passed
# over unseen. So an accent of ISO-8859-1 may swallow the closing quote.
_INSIDE: Final = (
    rb"\\u.{4}|\\x..|\\[^ux]|[\xc0-\xdf].|[\xe0-\xef]..|[\xf0-\xf7]...|[^\\\x80-\xff%b]++"
)
_TEXTS: Final = {quote: re.compile(every(_INSIDE % quote), re.DOTALL) for quote in (b'"', b"'")}
_LOOSE_NUMBER: Final = re.compile(
    rb"\+?(-?)(\d++)(\.\d*+)?([eE][+-]?\d{1,4})?([LBSFD]?)(?![\w.+-])"
)
_WORD: Final = re.compile(rb"(?:true|false|null)\b")
_SET: Final = re.compile(rb"Set(?=\[)")
_BARE_KEY: Final = re.compile(rb"-?\d++")

# Pieces of a text are cheaper than others.
_PIECES_A_STEP: Final = 4

_encode: Final = msgspec.json.encode


class LenientReader:
    """One pass over one text. `steps` is how many pieces were looked at one by one."""

    def __init__(self, text: bytes, most_steps: int = 1 << 40) -> None:
        self.steps = 0
        self._most_steps = most_steps
        self._text = text
        self._at = 0
        self._out: list[bytes] = []

    def strict(self) -> bytes:
        """The same value in strict JSON, but for bare integers and objects as keys."""
        self._value(0)
        # fastjson2 reads one comma behind the value, too.
        self._takes(b",")
        if self._next():
            raise self._wrong("something follows the value")
        return b"".join(self._out)

    def _value(self, depth: int) -> None:
        mark = self._next()
        self._step()
        if mark in (b'"', b"'"):
            self._string(mark)
        elif mark == b"{":
            self._brackets(depth, b"{", b"}", _PLAIN_MEMBERS, self._member)
        elif mark == b"[" or _SET.match(self._text, self._at):
            if mark != b"[":
                self._at += len(b"Set")
            self._brackets(depth, b"[", b"]", _PLAIN_ITEMS, self._value)
        elif mark:
            self._scalar()
        else:
            raise self._wrong("the text ends where a value belongs")

    def _brackets(
        self,
        depth: int,
        begin: bytes,
        end: bytes,
        plain: re.Pattern[bytes],
        one: Callable[[int], None],
    ) -> None:
        """An object or an array. A comma may be missing, or stand behind the last of them."""
        if depth == DEPTH:
            raise BeyondLimits(f"this JSON nests deeper than {DEPTH} levels at byte {self._at}")
        self._at += 1
        self._out.append(begin)
        following = False
        while True:
            following = self._plain(plain, following)
            if self._takes(end):
                break
            if following:
                self._out.append(b",")
            one(depth + 1)
            following = True
            self._takes(b",")
        self._out.append(end)

    def _plain(self, plain: re.Pattern[bytes], following: bool) -> bool:
        """Take what needs no look; whether something stands in these brackets by now."""
        match = plain.match(self._text, self._at)
        if match is None or match.end() == self._at:
            return following
        self._at = match.end()
        if following:
            self._out.append(b",")
        # Without its last comma: nothing may come behind it.
        self._out.append(match[0][:-1])
        return True

    def _member(self, depth: int) -> None:
        self._key(depth)
        if not self._takes(b":"):
            raise self._wrong("a key has no colon behind it")
        self._out.append(b":")
        self._value(depth)

    def _key(self, depth: int) -> None:
        mark = self._next()
        self._step()
        if mark in (b'"', b"'"):
            self._string(mark)
            return
        if mark == b"{":
            # For a bean as a key: `json_scan` makes a text of it.
            self._value(depth)
            return
        bare = _BARE_KEY.match(self._text, self._at)
        if bare is None:
            raise self._wrong("a key is neither a text nor a number")
        self._at = bare.end()
        self._out.append(bare[0])

    def _string(self, quote: bytes) -> None:
        begin = self._at + 1
        match = _TEXTS[quote].match(self._text, begin)
        end = begin if match is None else match.end()
        if self._text[end : end + 1] != quote:
            raise self._wrong_text(begin - 1, end)
        inside = self._text[begin:end]
        self.steps += pieces_of(inside) // _PIECES_A_STEP
        self._step()
        self._at = end + 1
        self._out.append(_encode(text_of(inside, begin)))

    def _scalar(self) -> None:
        number = _LOOSE_NUMBER.match(self._text, self._at)
        if number is not None:
            self._at = number.end()
            self._out.append(_strict_number(number))
            return
        word = _WORD.match(self._text, self._at)
        if word is None:
            raise self._wrong("here is no value")
        self._at = word.end()
        self._out.append(word[0])

    def _next(self) -> bytes:
        """The byte behind blanks and comments; nothing at the end."""
        gap = _GAP.match(self._text, self._at)
        if gap is not None:
            self._at = gap.end()
        return self._text[self._at : self._at + 1]

    def _takes(self, mark: bytes) -> bool:
        if self._next() != mark:
            return False
        self._at += 1
        return True

    def _step(self) -> None:
        self.steps += 1
        if self.steps > self._most_steps:
            raise BeyondLimits(f"this is too much that is unlike JSON to be read: byte {self._at}")

    def _wrong(self, what: str) -> CodecError:
        return CodecError(f"this is not JSON: {what}, at byte {self._at}")

    def _wrong_text(self, begin: int, end: int) -> CodecError:
        rest = self._text[end : end + 1]
        what = (
            f"no text in UTF-8: byte {end} is {rest.hex()}" if rest >= b"\x80" else "without an end"
        )
        return CodecError(f"this is not JSON: the text that begins at byte {begin} is {what}")


def _strict_number(number: re.Match[bytes]) -> bytes:
    sign, whole, fraction, exponent, kind = number.groups(b"")
    whole = whole.lstrip(b"0") or b"0"
    if fraction == b"." or (not fraction and not exponent and kind in (b"F", b"D")):
        fraction = b".0" if kind in (b"F", b"D") or exponent else b""
    return bytes(sign + whole + fraction + exponent)
