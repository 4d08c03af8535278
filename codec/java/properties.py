"""Java's ``.properties`` text: config files, and the bodies of the config requests (25, 26, 318, 319).

``key=value``, ``key: value`` or ``key value``; ``#`` and ``!`` start comments; a backslash at the end
of a line continues it (java.util.Properties.load). Reading is linear in the text.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_BLANKS: Final = " \t\f"
_HEX: Final = re.compile("[0-9a-fA-F]{4}")
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED: Final = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}
_IN_KEYS: Final = {mark: f"\\{mark}" for mark in " =:#!"}
_UNSAFE: Final = re.compile(r"[^\x20-\x5b\x5d-\x7e]")
_UNSAFE_IN_KEYS: Final = re.compile(r"[^\x22\x24-\x39\x3b\x3c\x3e-\x5b\x5d-\x7e]")


def properties_encoding(data: bytes) -> str:
    """How a file is read: as UTF-8, else as Java reads it, in ISO-8859-1, which takes any bytes."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "iso-8859-1"
    return "utf-8"


def decode_properties(data: bytes) -> str:
    """A file's text, whatever its bytes are."""
    return data.decode(properties_encoding(data))


def read_properties(text: str, stripped: bool = True) -> dict[str, str]:
    """Keys and values in the order of the text; a later key wins. ValueError for a broken ``\\u``.

    Java keeps the blanks behind a value: they are there unless `stripped`.
    """
    found: dict[str, str] = {}
    for _, line in _logical_lines(text):
        if line is not None:
            key, value = _split(line)
            known = _unescape(value)
            found[_unescape(key)] = known.strip() if stripped else known
    return found


def write_properties(values: Mapping[str, str]) -> str:
    """One line for each, in the order given; reading them gives the same values again."""
    return "".join(f"{_escape_key(key)}={_escape(value)}\n" for key, value in values.items())


def change_properties(text: str, changes: Mapping[str, str]) -> str:
    """The text with these values: the line of an existing key changes, other keys are appended.

    Comments and all other lines stay as they are.
    """
    kept = []
    rest = dict(changes)
    for raw, line in _logical_lines(text):
        key = None if line is None else _unescape(_split(line)[0])
        if key is None or key not in changes:
            kept.append(raw)
        elif key in rest:
            kept.append(write_properties({key: rest.pop(key)}))
    if kept and not kept[-1].endswith(("\n", "\r")):
        kept.append("\n")
    return "".join(kept) + write_properties(rest)


def _logical_lines(text: str) -> Iterator[tuple[str, str | None]]:
    """Raw text with its line ends, and the line that it means; None for comments and blank lines."""
    raw: list[str] = []
    parts: list[str] = []
    for natural in _natural_lines(text):
        raw.append(natural)
        line = natural.rstrip("\r\n").lstrip(_BLANKS)
        if len(raw) == 1 and (not line or line[0] in "#!"):
            yield natural, None
            raw = []
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            parts.append(line[:-1])
            continue
        parts.append(line)
        yield "".join(raw), "".join(parts)
        raw, parts = [], []
    if raw:
        yield "".join(raw), "".join(parts)


def _natural_lines(text: str) -> Iterator[str]:
    for match in _LINE.finditer(text):
        if match[0]:
            yield match[0]


def _split(line: str) -> tuple[str, str]:
    at = 0
    while at < len(line) and line[at] not in "=: \t\f":
        at += 2 if line[at] == "\\" else 1
    key, rest = line[:at], line[at:].lstrip(_BLANKS)
    if rest and rest[0] in "=:":
        rest = rest[1:]
    return key, rest.lstrip(_BLANKS)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    at = 0
    while at < len(text):
        if text[at] != "\\" or at + 1 == len(text):
            out.append(text[at])
            at += 1
        elif text[at + 1] == "u":
            if not _HEX.fullmatch(text, at + 2, at + 6):
                raise ValueError(f"'{text[at : at + 6]}' is not a character: write \\uXXXX")
            out.append(chr(int(text[at + 2 : at + 6], 16)))
            at += 6
        else:
            out.append(_ESCAPES.get(text[at + 1], text[at + 1]))
            at += 2
    # \uD83D\uDE00 is one character.
    return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _escape(value: str) -> str:
    escaped = _UNSAFE.sub(_written, value)
    return f"\\{escaped}" if escaped.startswith(" ") else escaped


def _escape_key(key: str) -> str:
    return _UNSAFE_IN_KEYS.sub(_written, key)


def _written(match: re.Match[str]) -> str:
    """One character so that it is read as itself, whatever the file's encoding is taken for."""
    character = match[0]
    escaped = _ESCAPED.get(character) or _IN_KEYS.get(character)
    if escaped is not None:
        return escaped
    units = character.encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
