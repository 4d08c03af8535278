"""Which parts of a group are played now, and why each of the others is not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tests.run import changed, choosing, played, report, tools
from tests.run.part import Group, Part
from tests.run.table import live_parts

LANDED: Final = "landed"
OTHER_TURN: Final = "its turn comes within four days, or with TRIMQ_TURN=all"


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


def as_built(group: Group) -> Group:
    """The group as it is when what it stands on has been built."""
    return replace(group, parts=[replace(part, why_not="") for part in group.parts])


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


def refuse_unknown(since: str) -> None:
    """SystemExit for a commit that git does not know, as that would play everything without a need.

    What landed last is another matter: a clone may hold less than all of the history.
    """
    if since not in ("", LANDED) and changed.is_unknown(since):
        raise SystemExit(
            f"SINCE={since}: there is no such commit here. Name one that `git log` shows, a branch or a tag;"
            f" {LANDED} stands for what landed last, and make proof without SINCE plays everything"
        )


def chosen(group: Group, since: str, turn: int | None) -> tuple[Group, list[Left], list[str]]:
    """What a change since that commit can touch, as `touched` says. `since` may be `landed`: what landed last."""
    commit = (played.landed() if since == LANDED else since) or ""
    return touched(group, changed.changed_files(commit), played.due(group.parts), turn)


def touched(
    group: Group, files: Iterable[str] | None, due: Collection[str], turn: int | None
) -> tuple[Group, list[Left], list[str]]:
    """What changed files can touch, the parts that are left, and a line for each of those that are played.

    A part that takes turns, and is chosen only for what touches all parts, waits for its turn; None: it does not.
    """
    choices = choosing.choose(group.parts, files, due)
    waiting = {
        one.part.name: OTHER_TURN
        for one in choices
        if one.widely and None not in (turn, one.part.turn) and one.part.turn != turn
    }
    left = [
        Left(one.part.name, waiting.get(one.part.name, one.why))
        for one in choices
        if not one.is_played or one.part.name in waiting
    ]
    names = {one.name for one in left}
    why = [f"    {one.part.name:<20}{one.why}" for one in choices if one.part.name not in names]
    parts = [part for part in group.parts if part.name not in names]
    return replace(group, parts=parts), left, why


def note(outcomes: Sequence[report.Outcome]) -> None:
    """Which live parts have passed, for `tests/run/played.json`: as of what landed last, which this stands on."""
    live = {part.name for part in live_parts()}
    passed = [one.name for one in outcomes if one.name in live and one.code == 0]
    landed = played.landed()
    if passed and landed is not None:
        played.note(passed, landed)
