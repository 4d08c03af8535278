"""Where TriMQ answers otherwise on purpose, and why. Everything else must be equal."""

from __future__ import annotations

from typing import Final

_SINGLE_QUOTES = (
    "fastjson2 reads texts in single quotes; they are no JSON and no client writes them"
)

DELIBERATE: Final[dict[str, str]] = {
    "heartbeat: keys in single quotes": _SINGLE_QUOTES,
    "broker: header in single quotes": _SINGLE_QUOTES,
    "min offset: of messages (binary header)": (
        "TriMQ answers in the request's coding, and a binary header cannot tell the empty remark "
        "of this reply from none"
    ),
}
