"""One pass over FastJSON's dialect: strict JSON of the same value, or a refusal.

Bare integer keys (`{0:"a"}`) and keys that are objects (`{{"queueId":0}:5}`) become texts;
everything else stays unchanged, mistakes too: msgspec reads the result and has the last word. What
must not reach msgspec is refused here first: text that is too long, has too many values, or nests
too deeply.

The pass is linear whatever the text: every pattern is possessive, so none is retried, and what a
step reads in vain is read at most once more. A step of Python is taken per bracket that has
brackets inside, per bare key and per object key, not per character.
"""

import re
from typing import Final

from trimq.codec.errors import CodecError
from trimq.codec.regexes import every

DEPTH: Final = 32

_WS: Final = rb"[ \t\r\n]*+"
_STRING: Final = rb'"' + every(rb'[^"\\\x00-\x1f]++|\\.') + rb'"'
_INT_KEY: Final = rb"-?\d++" + _WS + rb":"
# What needs no attention: texts, words, blanks, colons, and commas not followed by a bare key.
_DULL: Final = rb'[^",{}\[\]]++|' + _STRING + rb"|,(?!" + _WS + _INT_KEY + rb")"
# An array or object that has no bracket inside and is not the key of something.
_FLAT_ARRAY: Final = rb"\[" + every(rb'[^"{}\[\]]++|' + _STRING) + rb"\]"
_FLAT_OBJECT: Final = rb"\{(?!" + _WS + _INT_KEY + rb")" + every(_DULL) + rb"\}(?!" + _WS + rb":)"

_SHALLOW_RUN: Final = re.compile(every(_DULL), re.DOTALL)
_RUN: Final = re.compile(every(_DULL + rb"|" + _FLAT_ARRAY + rb"|" + _FLAT_OBJECT), re.DOTALL)
_BARE_KEY: Final = re.compile(_WS + rb"(-?\d++)(?=" + _WS + rb":)")
_KEY_NEXT: Final = re.compile(_WS + rb"\{")
# Whole maps of numbers, as the offsets of a group are: {0:15,1:7}
_NUMBER: Final = rb"[-+.\deE]++"
_NUMBER_ENTRY: Final = _WS + rb"-?\d++" + _WS + rb":" + _WS + _NUMBER + _WS
_NUMBER_MAP: Final = re.compile(rb"\{" + _NUMBER_ENTRY + every(rb"," + _NUMBER_ENTRY) + rb"\}")
_NUMBER_MAP_KEY: Final = re.compile(rb"([{,])" + _WS + rb"(-?\d++)" + _WS + rb":")
_KEY_OBJECT: Final = re.compile(
    rb"\{" + every(rb'[^"{}\[\]]++|' + _STRING) + rb"\}(?=" + _WS + rb":)", re.DOTALL
)
# The same when it is already in its final form: no blank, no bare key.
_TIDY_KEY_OBJECT: Final = re.compile(
    rb"\{(?!-?\d)"
    + every(rb'[^",{}\[\] \t\r\n]++|' + _STRING + rb"|,(?!-?\d++:)")
    + rb"\}(?="
    + _WS
    + rb":)",
    re.DOTALL,
)
_NOT_BLANK: Final = re.compile(_STRING + rb'|[^" \t\r\n]++', re.DOTALL)

_OBJECT: Final = ord("{")
_ARRAY: Final = ord("[")
_END_OBJECT: Final = ord("}")
_END_ARRAY: Final = ord("]")
_COMMA: Final = ord(",")
_QUOTE: Final = ord('"')
_BLANKS: Final = b" \t\r\n"
_NO_BRACKETS: Final = bytes(one for one in range(256) if one not in b"{}[]")


class BeyondLimits(CodecError):
    """A text that is too long, has too many pieces or nests too deeply, whether it is JSON or not."""


class JsonLimits:
    """How long a text may be (bytes), how many values it may have, and steps to scan it.

    Values are overestimated: every comma and opening bracket counts, those inside texts too.
    """

    __slots__ = ("size", "steps", "values")

    def __init__(self, size: int, values: int, steps: int) -> None:
        self.size: Final = size
        self.values: Final = values
        self.steps: Final = steps

    def check(self, text: bytes) -> int:
        """CodecError when the text is beyond these limits; how many brackets it opens at most."""
        if len(text) > self.size:
            raise BeyondLimits(
                f"a JSON text of {len(text)} bytes is beyond the {self.size} allowed"
            )
        opened = text.count(b"{") + text.count(b"[")
        values = opened + text.count(b",")
        if values > self.values:
            raise BeyondLimits(
                f"a JSON text of {values} values is beyond the {self.values} allowed"
            )
        return opened


# A client's heartbeats, locks and questions; a configuration, a data version.
SMALL: Final = JsonLimits(1 << 20, 1 << 17, 1 << 15)
# What servers and administrators tell each other: 100,000 topics with all they have. The longest such
# text takes some tenths of a second.
LARGE: Final = JsonLimits(1 << 26, 1 << 21, 1 << 19)
# Our own files, which nobody else writes.
OWN_FILES: Final = JsonLimits(1 << 40, 1 << 40, 1 << 40)


def nests_little(text: bytes) -> bool:
    """Whether its brackets close each other, `DEPTH` levels deep at most: ten times sooner than a scan tells.

    Brackets inside texts count like others: then this may be False though the text nests little, and, for texts that
    are made for it, the other way round; msgspec stops at a depth of its own.
    """
    brackets = text.translate(None, _NO_BRACKETS)
    for _ in range(DEPTH):
        inner = brackets.replace(b"{}", b"").replace(b"[]", b"")
        if len(inner) in (0, len(brackets)):
            return not inner
        brackets = inner
    return False


class DialectScanner:
    """One pass over one text. `steps` is how many iterations of the loop it took."""

    def __init__(self, text: bytes, most_steps: int = 1 << 40) -> None:
        self.steps = 0
        self._most_steps = most_steps
        self._text = text
        self._out: list[bytes] = []
        # Up to `_copied` the text is in `_out`; `_run` is where the last skipped stretch began.
        self._copied = 0
        self._run = 0
        self._open = bytearray()

    def strict(self) -> bytes:
        """The text itself if nothing had to change. At most twice as long as it, and 2 bytes."""
        text, at = self._text, 0
        while True:
            self.steps += 1
            self._run = at
            at = self._end_of_run(at)
            if at == len(text):
                break
            if self.steps > self._most_steps:
                raise BeyondLimits(
                    f"this JSON has too many brackets and keys to be read: byte {at}"
                )
            at = self._step(at)
        if not self._out:
            return text
        self._out.append(text[self._copied :])
        return b"".join(self._out)

    def _end_of_run(self, at: int) -> int:
        run = _RUN if len(self._open) < DEPTH else _SHALLOW_RUN
        match = run.match(self._text, at)
        return at if match is None else match.end()

    def _step(self, at: int) -> int:
        """Deal with what ended a run; returns where to continue."""
        mark = self._text[at]
        if mark == _OBJECT:
            if self._at_key(at):
                return self._object_key(at)
            numbers = _NUMBER_MAP.match(self._text, at)
            if numbers is not None and len(self._open) < DEPTH:
                self._replace(at, numbers.end(), _NUMBER_MAP_KEY.sub(rb'\1"\2":', numbers[0]))
                return numbers.end()
            self._enter(mark, at)
            return self._key_behind(at + 1)
        if mark == _ARRAY:
            self._enter(mark, at)
            return at + 1
        if mark == _COMMA:
            return self._key_behind(at + 1)
        if mark == _QUOTE:
            raise CodecError(f"this is not JSON: the text that begins at byte {at} has no end")
        self._leave(mark, at)
        return at + 1

    def _enter(self, mark: int, at: int) -> None:
        if len(self._open) == DEPTH:
            raise BeyondLimits(f"this JSON nests deeper than {DEPTH} levels at byte {at}")
        self._open.append(mark)

    def _leave(self, mark: int, at: int) -> None:
        begun = _OBJECT if mark == _END_OBJECT else _ARRAY
        if not self._open or self._open.pop() != begun:
            raise CodecError(f"this is not JSON: nothing is open that byte {at} could close")

    def _key_behind(self, at: int) -> int:
        """After a bracket or comma: quote the integer that is a key there."""
        if self._open[-1:] != b"{":
            # In an array: not a key, and msgspec reports that at the colon.
            return at
        key = _BARE_KEY.match(self._text, at)
        if key is None:
            return at
        self._replace(key.start(1), key.end(), b'"%b"' % key[1])
        return key.end()

    def _at_key(self, at: int) -> bool:
        """Whether the bracket there is where an object's key belongs."""
        if self._open[-1:] != b"{":
            return False
        # Runs do not overlap, so looking back over one costs no more than reading it did.
        before = self._text[self._run : at].rstrip(_BLANKS)
        return (before[-1] if before else self._text[self._run - 1]) in (_COMMA, _OBJECT)

    def _object_key(self, at: int) -> int:
        """Turn a flat object into a text that holds it without blanks."""
        key = _TIDY_KEY_OBJECT.match(self._text, at)
        inside = b"" if key is None else key[0]
        if key is None:
            key = _KEY_OBJECT.match(self._text, at)
            if key is None:
                raise CodecError(f"the key at byte {at} is not a flat object with a value")
            scanner = DialectScanner(key[0])
            inside = b"".join(_NOT_BLANK.findall(scanner.strict()))
            self.steps += scanner.steps
        quoted = inside.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
        self._replace(at, key.end(), b'"%b"' % quoted)
        return key.end()

    def _replace(self, start: int, end: int, by: bytes) -> None:
        self._out.append(self._text[self._copied : start])
        self._out.append(by)
        self._copied = end
