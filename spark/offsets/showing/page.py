"""A report as one HTML page that loads nothing: it contains its plots, and the browser is told to
fetch nothing (Content-Security-Policy).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any, Final

from trimq.spark.offsets.history.results import Report, Row
from trimq.spark.offsets.showing.charts import Curve, Plot, bars, curves, heat_map
from trimq.spark.offsets.showing.page_parts import SCRIPT, STYLE
from trimq.spark.offsets.showing.terminal import drain, duration, moment, since, zone

_POLICY: Final = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
_OTHERS: Final = 20


def page(report: Report) -> str:
    """The whole page."""
    found = {
        "over-time": ("Backlog over time", _over_time(report, "backlog")),
        "delay-over-time": ("Delay over time", _over_time(report, "delayMillis")),
        "offenders": ("Furthest behind", _offenders(report)),
        "queues": ("Backlog of each queue", _heat_map(report)),
        "delays": ("Delays: how many queues of groups", _delays(report)),
    }
    plots = {name: (title, plot) for name, (title, plot) in found.items() if plot is not None}
    hints = {name: plot.hints for name, (_, plot) in plots.items() if plot.hints}
    # No tag can end inside it.
    data = json.dumps(hints, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    sections = "".join(
        f'<h2>{escape(title)}</h2><div class="plot" id="{name}">{plot.html}</div>'
        for name, (title, plot) in plots.items()
    )
    when = f"Offsets at {moment(report.taken[-1])} {zone(report.taken[-1])}"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(when)}</title>
<style>{STYLE}</style></head>
<body><h1>{escape(when)}</h1>
<p>{_sentence(report)}</p>
{_figures(report)}
{sections}
{_tables(report)}
<div id="tip"></div>
<script type="application/json" id="hints">{data}</script>
<script>{SCRIPT}</script>
</body></html>
"""


def _sentence(report: Report) -> str:
    count = len(report.taken)
    text = f"{count} snapshots since {moment(report.taken[0])}" if count > 1 else "1 snapshot"
    names = ", ".join(str(one["cluster"]) for one in report.clusters)
    return escape(f"{text}. Clusters: {names}. All times are {zone(report.taken[-1])}.")


def _figures(report: Report) -> str:
    behind = sum(one["backlog"] or 0 for one in report.clusters)
    delay = max((one["delayMillis"] or 0 for one in report.clusters), default=0)
    stuck = sum(one["stuckQueues"] or 0 for one in report.clusters)
    dead = sum(one["deadLetters"] or 0 for one in report.clusters)
    figures = {
        "messages behind": f"{behind:,}",
        "longest delay": duration(delay),
        "stuck queues": f"{stuck:,}",
        "dead letters": f"{dead:,}",
        "groups without consumer": f"{len(report.without_consumer):,}",
    }
    cells = "".join(f"<div><b>{value}</b>{escape(name)}</div>" for name, value in figures.items())
    return f'<div class="figures">{cells}</div>'


def _over_time(report: Report, column: str) -> Plot | None:
    series: dict[tuple[str, str], list[tuple[int, float | None]]] = {}
    for row in report.over_time:
        points = series.setdefault((row["cluster"], row["consumerGroup"]), [])
        points.append((row["takenAt"], row[column]))
    found = [Curve(group, points) for (_, group), points in series.items()]
    is_time = column == "delayMillis"
    return curves(found, moment, duration if is_time else _whole, is_time)


def _offenders(report: Report) -> Plot | None:
    rows = [row for row in report.topics[:_OTHERS] if row["backlog"]]
    return bars([(_name(row), row["backlog"], _waiting(row)) for row in rows])


def _heat_map(report: Report) -> Plot | None:
    rows: dict[str, dict[tuple[str, int], tuple[float, str]]] = {
        _name(row): {} for row in report.topics
    }
    for row in report.cells:
        place = (row["brokerName"], row["queueId"])
        rows.setdefault(_name(row), {})[place] = (row["backlog"], _waiting(row))
    return heat_map({name: cells for name, cells in rows.items() if cells}, _whole)


def _delays(report: Report) -> Plot | None:
    return bars([(name, count, _whole(count)) for name, count in report.delays.items()])


def _waiting(row: Row) -> str:
    delay = "" if row["delayMillis"] is None else f", {duration(row['delayMillis'])}"
    return f"{_whole(row['backlog'])} messages{delay}"


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _name(row: Row) -> str:
    return f"{row['consumerGroup']} / {row['topic']}"


def _tables(report: Report) -> str:
    groups = [
        {
            "group": row["consumerGroup"],
            "backlog": row["backlog"],
            "delay": duration(row["delayMillis"]),
            "consumed/s": _rate(row["consumeRate"]),
            "produced/s": _rate(row["produceRate"]),
            "drained in": drain(row),
            "retry": row["retryBacklog"],
            "dead": row["deadLetters"],
            "stuck queues": row["stuckQueues"],
            "members": row["members"],
        }
        for row in report.groups[:50]
    ]
    stuck = [
        {
            "queue": f"{_name(row)} {row['brokerName']}/{row['queueId']}",
            "backlog": row["backlog"],
            "since": since(row),
            "client": row["client"],
        }
        for row in report.stuck
    ]
    outside = [
        {
            "queue": f"{_name(row)} {row['brokerName']}/{row['queueId']}",
            "what": row["remark"],
            "min": row["minOffset"],
            "committed": row["committed"],
            "max": row["maxOffset"],
        }
        for row in report.out_of_range
    ]
    unused = [{"topic": row["topic"], "messages": row["messages"]} for row in report.unused]
    return (
        _table("Groups", groups)
        + _table("Stuck: backlog, no progress", stuck)
        + _table("Offsets that the queue does not have", outside)
        + _table("Topics nobody consumes", unused)
    )


def _rate(value: float | None) -> str | None:
    return None if value is None else f"{value:.1f}"


def _table(title: str, rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row.values()) + "</tr>"
        for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<h2>{escape(title)}</h2><div class="wide">{table}</div>'


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else escape(str(value))
