"""Large tables as JSON, encoded a few members at a time so that the loop runs between them."""

from collections.abc import Mapping

import trio

from trimq.codec.java import fastjson

_MEMBERS_PER_STEP = 50


async def encode_members(table: Mapping[str, object]) -> bytes:
    """A JSON object; the table may change in the meantime; the answer is as of the time of the question."""
    parts: list[bytes] = []
    members = list(table.items())
    for start in range(0, len(members), _MEMBERS_PER_STEP):
        some = dict(members[start : start + _MEMBERS_PER_STEP])
        parts.append(fastjson.dumps(some)[1:-1])
        await trio.lowlevel.checkpoint()
    return b"{" + b",".join(parts) + b"}"
