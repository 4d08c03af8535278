"""How long parts take side by side, by what each took when that was measured (tests/run/table.py)."""

from __future__ import annotations

from dataclasses import dataclass

from tests.run.part import Group, Part


@dataclass(frozen=True)
class Forecast:
    """`seconds` until the last part has ended; `unknown` are those that count as nothing, as nobody has measured them.

    Parts were measured beside others. Where few are played, each has more of the machine and takes less.
    """

    seconds: int
    unknown: tuple[str, ...]


def forecast(group: Group) -> Forecast:
    """As if each part took what it took before."""
    waiting, running, now = list(group.parts), list[tuple[int, Part]](), 0
    while waiting or running:
        while part := group.next(waiting, [one for _, one in running]):
            waiting.remove(part)
            running.append((now + part.seconds, part))
        first = min(running, key=lambda one: one[0])
        running.remove(first)
        now = first[0]
    return Forecast(now, tuple(part.name for part in group.parts if not part.seconds))


def text(group: Group) -> str:
    found = forecast(group)
    unknown = f", and what {', '.join(found.unknown)} take" if found.unknown else ""
    return f"\nabout {-(-found.seconds // 60)} minutes on two cores{unknown}"
