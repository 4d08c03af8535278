"""Which parts of a group are played now, and why each of the others is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.run import tools
from tests.run.part import Group, Part


@dataclass(frozen=True)
class Left:
    """A part that is not played: why, and what to do about it."""

    name: str
    why: str


def playable(group: Group) -> tuple[Group, list[Left]]:
    """The group with the parts whose tools are here, and those that are left."""
    whys = {part.name: _why_not(part) for part in group.parts}
    parts = [part for part in group.parts if not whys[part.name]]
    return replace(group, parts=parts), [Left(name, why) for name, why in whys.items() if why]


def _why_not(part: Part) -> str:
    lacking = tools.missing(part.tools)
    if lacking:
        return "; ".join(f"no {tool.name} here: {tool.get}" for tool in lacking)
    return part.why_not


def text(left: Sequence[Left]) -> str:
    """What was not played, why, and what gets it."""
    if not left:
        return "\nnot played: nothing, every tool is here"
    lines = ["", "not played:"]
    return "\n".join([*lines, *(f"    {one.name:<20}{one.why}" for one in left)])
