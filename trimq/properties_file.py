"""Java's ``.properties`` text, as ``broker.conf`` and ``namesrv.conf`` are written.

``key=value``, ``key: value`` or ``key value``; ``#`` and ``!`` start comments; a backslash at the end
of a line continues it (java.util.Properties.load).
"""

import re
from collections.abc import Iterator

_HEX = re.compile("[0-9a-fA-F]{4}")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties_text(text: str) -> dict[str, str]:
    """Keys and values in the order of the file; a later key wins."""
    found: dict[str, str] = {}
    for line in _logical_lines(text):
        key, value = _split(line)
        found[_unescape(key)] = _unescape(value).strip()
    return found


def _logical_lines(text: str) -> Iterator[str]:
    pending = ""
    for raw in text.splitlines():
        line = raw.lstrip()
        if not pending and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            pending += line[:-1]
            continue
        yield pending + line
        pending = ""
    if pending:
        yield pending


def _split(line: str) -> tuple[str, str]:
    at = 0
    while at < len(line) and line[at] not in "=: \t":
        at += 2 if line[at] == "\\" else 1
    key, rest = line[:at], line[at:].lstrip(" \t")
    if rest and rest[0] in "=:":
        rest = rest[1:]
    return key, rest.lstrip(" \t")


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
                raise ValueError(f"'{text[at : at + 6]}' is no character: write \\uXXXX")
            out.append(chr(int(text[at + 2 : at + 6], 16)))
            at += 6
        else:
            out.append(_ESCAPES.get(text[at + 1], text[at + 1]))
            at += 2
    return "".join(out)
