"""A report as tables; those wider than the terminal are cut, never wrapped."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import IO, Any, Final

from rich.console import Console, JustifyMethod
from rich.table import Table

from trimq.codec.java import moments
from trimq.spark.offsets.history.results import Report, Row

Cell = Callable[[Row], str]
_NONE: Final = "-"


# Wider than any table: pipes and files have no edge.
_ENDLESS: Final = 100_000


def console(file: IO[str] | None = None) -> Console:
    """As wide as the terminal; without one, as wide as the tables, or as COLUMNS says."""
    made = Console(file=file)
    if made.is_terminal or os.environ.get("COLUMNS", "").isdecimal():
        return made
    return Console(file=file, width=_ENDLESS)


def show(report: Report, console: Console, top: int) -> None:
    """Print what an operator looks at first."""
    when = f"{moment(report.taken[-1])} {zone(report.taken[-1])}"
    since = f", history of {len(report.taken)} since {moment(report.taken[0])}"
    console.print(
        f"Offsets at {when}{since if len(report.taken) > 1 else ''}",
        highlight=False,
    )
    _print(console, "Clusters", report.clusters, _CLUSTERS)
    _print(console, "Groups", report.groups[:top], _GROUPS)
    _print(console, "Topics furthest behind", _behind(report.topics), _TOPICS)
    _print(console, "Queues furthest behind", report.queues, _QUEUES)
    _print(console, "Stuck: backlog, no progress", report.stuck, _STUCK)
    _print(console, "Offsets that the queue does not have", report.out_of_range, _OUTSIDE)
    _print(console, "Topics nobody consumes", report.unused, _UNUSED)
    names = [f"{one['consumerGroup']} ({one['backlog']} behind)" for one in report.without_consumer]
    _list(console, "Groups with no consumer", names[:top], len(names))
    names = [str(one["consumerGroup"]) for one in report.differing]
    _list(console, "Groups whose members subscribe differently", names[:top], len(names))


def moment(millis: int | None) -> str:
    """Local time."""
    return _NONE if millis is None else moments.local_seconds(millis)


def zone(millis: int) -> str:
    """What local time is then: `UTC+01:00`."""
    text = datetime.fromtimestamp(millis / 1000).astimezone().strftime("%z")
    return f"UTC{text[:3]}:{text[3:5]}"


def duration(millis: float | None) -> str:
    return _NONE if millis is None else moments.duration(millis)


def _text(name: str) -> Cell:
    return lambda row: _NONE if row[name] is None else str(row[name])


def _rate(name: str) -> Cell:
    return lambda row: _NONE if row[name] is None else f"{row[name]:.1f}/s"


def _time(name: str) -> Cell:
    return lambda row: moment(row[name])


def _delay(row: Row) -> str:
    return duration(row["delayMillis"])


def drain(row: Row) -> str:
    """How long until nothing is left at this pace."""
    if row["drainSeconds"] is not None:
        return duration(row["drainSeconds"] * 1000)
    return _NONE if row["consumeRate"] is None else "never"


def since(row: Row) -> str:
    """In which snapshot a queue got stuck; it may have been before the first one."""
    began = moment(row["stuckSince"])
    return f"at least {began}" if row["stuckAtLeast"] else began


def _skew(row: Row) -> str:
    return _NONE if row["skew"] is None else f"{row['skew']:.1f}"


def _queue(row: Row) -> str:
    return f"{row['brokerName']}/{row['queueId']}"


_RATES: Final = {"consumed": _rate("consumeRate"), "produced": _rate("produceRate")}
_CLUSTERS: Final[dict[str, Cell]] = {
    "cluster": _text("cluster"),
    "topics": _text("topics"),
    "groups": _text("groups"),
    "backlog": _text("backlog"),
    "delay": _delay,
    **_RATES,
    "retry": _text("retryBacklog"),
    "dead": _text("deadLetters"),
    "stuck": _text("stuckQueues"),
}
_GROUPS: Final[dict[str, Cell]] = {
    "group": _text("consumerGroup"),
    "backlog": _text("backlog"),
    "delay": _delay,
    **_RATES,
    "drained in": drain,
    "retry": _text("retryBacklog"),
    "dead": _text("deadLetters"),
    "+dead": _text("deadLetterGrowth"),
    "stuck": _text("stuckQueues"),
    "members": _text("members"),
}
_TOPICS: Final[dict[str, Cell]] = {
    "group": _text("consumerGroup"),
    "topic": _text("topic"),
    "backlog": _text("backlog"),
    "delay": _delay,
    **_RATES,
    "drained in": drain,
    "skew": _skew,
    "stuck": _text("stuckQueues"),
}
_PLACE: Final[dict[str, Cell]] = {
    "group": _text("consumerGroup"),
    "topic": _text("topic"),
    "queue": _queue,
}
_QUEUES: Final[dict[str, Cell]] = {
    **_PLACE,
    "backlog": _text("backlog"),
    "in flight": _text("inFlight"),
    "delay": _delay,
    "last read": _time("lastReadAt"),
    "client": _text("client"),
}
_STUCK: Final[dict[str, Cell]] = {
    **_PLACE,
    "backlog": _text("backlog"),
    "since": since,
    "last consumed": _time("lastConsumedAt"),
    "client": _text("client"),
}
_OUTSIDE: Final[dict[str, Cell]] = {
    **_PLACE,
    "what": _text("remark"),
    "min": _text("minOffset"),
    "committed": _text("committed"),
    "max": _text("maxOffset"),
}
_UNUSED: Final[dict[str, Cell]] = {
    "topic": _text("topic"),
    "cluster": _text("cluster"),
    "messages": _text("messages"),
    "produced": _rate("produceRate"),
}
# Least letters left of a shortened name; blanks between two columns.
_NAME: Final = 12
_GAP: Final = 2
# Names: aligned left, and cut if there is no room.
_LEFT: Final = ("group", "topic", "cluster", "queue", "client", "what")


def _behind(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["backlog"]]


def _print(console: Console, title: str, rows: Sequence[Row], columns: dict[str, Cell]) -> None:
    if not rows:
        return
    texts = {name: [cell(row) for row in rows] for name, cell in columns.items()}
    widths = {name: max(map(len, (name, *found))) for name, found in texts.items()}
    shown = _fitted(widths, console.width)
    left_out = [name for name in columns if name not in shown]
    if left_out:
        title = f"{title} (too narrow for: {', '.join(left_out)})"
    table = Table(box=None, pad_edge=False)
    for name, wide in shown.items():
        side: JustifyMethod = "left" if name in _LEFT else "right"
        table.add_column(name, justify=side, width=wide, no_wrap=True, overflow="ellipsis")
    for row in zip(*(texts[name] for name in shown), strict=True):
        table.add_row(*map(_plain, row))
    console.print()
    console.print(title, style="italic", highlight=False, markup=False)
    console.print(table)


def _fitted(widths: Mapping[str, int], width: int) -> dict[str, int]:
    """How wide columns are: numbers are never cut, for a part would be another number.

    Names are, the longest first, to a few letters; the last columns are left out if that is not enough.
    """
    shown = dict(widths)
    least = {name: min(wide, _NAME) if name in _LEFT else wide for name, wide in widths.items()}
    while len(shown) > 1 and sum(least[name] + _GAP for name in shown) - _GAP > width:
        shown.popitem()
    too_much = sum(wide + _GAP for wide in shown.values()) - _GAP - width
    for _ in range(too_much):
        longest = max(shown, key=lambda name: shown[name] - least[name])
        shown[longest] = max(1, shown[longest] - 1)
    return shown


def _list(console: Console, title: str, names: Sequence[str], count: int) -> None:
    if names:
        more = f" and {count - len(names)} more" if count > len(names) else ""
        console.print()
        console.print(f"{title}: {', '.join(names)}{more}", highlight=False, markup=False)


def _plain(text: str) -> Any:
    from rich.text import Text

    return Text(text)
