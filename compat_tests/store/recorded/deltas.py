"""Records say of each question, and of each message of an answer, what the one before it did not: half of it."""

from __future__ import annotations

from typing import Any, Final

# The names that the one before had.
GONE: Final = "-"

Json = Any


def shortened(value: Json) -> Json:
    """The members of lists by what differs from the member before."""
    if isinstance(value, dict):
        return {name: shortened(member) for name, member in value.items()}
    if not isinstance(value, list):
        return value
    befores = [None, *value]
    return [_difference(before, one) for before, one in zip(befores, value, strict=False)]


def _difference(before: Json, now: Json) -> Json:
    if not isinstance(before, dict) or not isinstance(now, dict):
        return shortened(now)
    found = {
        name: _difference(before.get(name), value)
        for name, value in now.items()
        if name not in before or before[name] != value
    }
    gone = [name for name in before if name not in now]
    return {**found, GONE: gone} if gone else found


def restored(value: Json) -> Json:
    """What `shortened` was given."""
    if isinstance(value, dict):
        return {name: restored(member) for name, member in value.items()}
    if not isinstance(value, list):
        return value
    found: list[Json] = []
    for one in value:
        found.append(_applied(found[-1] if found else None, one))
    return found


def _applied(before: Json, difference: Json) -> Json:
    if not isinstance(before, dict) or not isinstance(difference, dict):
        return restored(difference)
    gone = difference.get(GONE, [])
    kept = {name: value for name, value in before.items() if name not in gone}
    changed = {
        name: _applied(before.get(name), value)
        for name, value in difference.items()
        if name != GONE
    }
    return kept | changed
