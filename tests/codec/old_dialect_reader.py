"""The reader of FastJSON's dialect that TriMQ had first: the oracle for the one it has now.

Right, and recorded from 5.5.0, on texts that are short and sane; quadratic and worse on others.
"""

import re
from typing import Any, Final

import msgspec

from trimq.codec.errors import CodecError

_encode: Final = msgspec.json.encode
_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<mark>[{}\[\],:])|(?P<word>[^\s"{}\[\],:]+))""",
    re.DOTALL,
)
_BARE_KEY: Final = re.compile(r'("(?:[^"\\]|\\.)*")|([{,]\s*)(-?\d+)(?=\s*:)', re.DOTALL)
_STRING_OR_OBJECT_KEY: Final = re.compile(r'"(?:[^"\\]|\\.)*"|(}\s*:)', re.DOTALL)


def loads(data: bytes | str) -> Any:
    """Read JSON or the dialect; map keys come as strings."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return msgspec.json.decode(_repair(data))
    except (msgspec.DecodeError, RecursionError) as error:
        raise CodecError(f"this is not JSON: {error}") from None


def _repair(data: bytes | str) -> str:
    """The same value as strict JSON."""
    try:
        text = data if isinstance(data, str) else bytes(data).decode()
    except UnicodeDecodeError as error:
        raise CodecError(f"this JSON is not UTF-8: {error}") from None
    has_object_keys = any(match.group(1) for match in _STRING_OR_OBJECT_KEY.finditer(text))
    return _quote_keys(text) if has_object_keys else _BARE_KEY.sub(_quoted, text)


def _quoted(match: re.Match[str]) -> str:
    return match.group(1) or f'{match.group(2)}"{match.group(3)}"'


def _quote_keys(text: str) -> str:
    """Turn every bare or object key into a string that holds its text."""
    parts: list[str] = []
    opened: list[int] = []
    last = ""
    start = 0
    for match in _TOKEN.finditer(text):
        token = match.group().strip()
        if token == "{":
            opened.append(len(parts))
        elif token == "}" and opened:
            start = opened.pop()
        elif token == ":":
            if last == "}":
                parts[start:] = [_encode("".join(parts[start:])).decode()]
            elif last and last[0] not in '"{}[],:':
                parts[-1] = f'"{last}"'
        parts.append(token)
        last = token
    return "".join(parts)
