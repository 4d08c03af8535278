"""Remarks of the real server that are an exception's text."""

from __future__ import annotations

import re
from typing import Any, Final

Json = Any

# An exception that nobody foresaw: the real one answers its class, text and place, or only its text, which may be
# null. All of them speak of its own source.
JAVA_EXCEPTION: Final = re.compile(
    r"(java|com\.alibaba|org\.apache)\.[\w.$]+(Exception|Error)\b|Cannot (invoke|read|load|enter|assign) "
)


PLACEHOLDER: Final = "<text of an exception>"


def _is_exception(reply: dict[str, Json]) -> bool:
    remark = reply.get("remark")
    return (
        reply.get("code") in (1, 23)
        and "remark" in reply
        and (remark is None or remark == PLACEHOLDER or bool(JAVA_EXCEPTION.match(remark)))
    )


def without_java_exceptions(real: Json) -> Json:
    """The same from one run to the next: a JVM that has thrown an exception often leaves its text out."""
    if isinstance(real, dict):
        kept = {key: without_java_exceptions(value) for key, value in real.items()}
        return {**kept, "remark": PLACEHOLDER} if _is_exception(real) else kept
    if isinstance(real, list):
        return [without_java_exceptions(value) for value in real]
    return real


def forgive_java_exceptions(real: Json, ours: Json) -> tuple[Json, Json]:
    """Where the real remark is a Java exception's text, ours needs a remark, but one in its own words."""
    if isinstance(real, dict) and isinstance(ours, dict):
        if _is_exception(real) and ours.get("remark"):
            real, ours = ({**seen, "remark": PLACEHOLDER} for seen in (real, ours))
        pairs = {
            key: forgive_java_exceptions(real[key], ours[key]) for key in real.keys() & ours.keys()
        }
        return (
            {key: pairs[key][0] if key in pairs else value for key, value in real.items()},
            {key: pairs[key][1] if key in pairs else value for key, value in ours.items()},
        )
    if isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        both = [forgive_java_exceptions(*pair) for pair in zip(real, ours, strict=True)]
        return [pair[0] for pair in both], [pair[1] for pair in both]
    return real, ours
