"""A report as one HTML page that loads nothing: plotly's script is in it, and the browser is told to ask
nobody (Content-Security-Policy).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any, Final

from trimq.spark.offsets.results import Report, Row
from trimq.spark.offsets.terminal import duration, moment

_POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)
_STYLE: Final = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 1200px; padding: 0 12px 40px;
  color: #1c2430; background: #fff; overflow-wrap: anywhere; }
h1 { font-size: 1.35rem; margin: 16px 0 4px; } h2 { font-size: 1.05rem; margin: 28px 0 4px; }
.figures { display: flex; flex-wrap: wrap; gap: 8px; margin: 12px 0; }
.figures div { background: #f1f4f8; border-radius: 8px; padding: 8px 14px; }
.figures b { display: block; font-size: 1.3rem; }
.plot { width: 100%; overflow: hidden; } .wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; white-space: nowrap; }
th, td { padding: 3px 10px; text-align: right; border-bottom: 1px solid #e3e8ee; }
th:first-child, td:first-child { text-align: left; }
"""
_DRAW: Final = """
const plots = JSON.parse(document.getElementById("plots").textContent);
const drawn = Promise.all(Object.entries(plots).map(async ([id, plot]) => {
  const place = document.getElementById(id);
  await Plotly.newPlot(place, plot.data, plot.layout, {displaylogo: false});
  new ResizeObserver(() => Plotly.Plots.resize(place)).observe(place);
}));
"""
_OTHERS: Final = 20
# Characters of a name beside a plot: on a phone a long one would leave no room for the plot.
_LABEL: Final = 24


def page(report: Report) -> str:
    """The whole page."""
    from plotly.offline import get_plotlyjs

    plots = {
        name: plot
        for name, plot in {
            "over-time": _over_time(report),
            "offenders": _offenders(report),
            "queues": _heat_map(report),
            "delays": _delays(report),
        }.items()
        if plot is not None
    }
    # No tag can end inside of it.
    data = json.dumps(plots).replace("<", "\\u003c")
    sections = "".join(
        f'<h2>{escape(_TITLES[name])}</h2><div class="plot" id="{name}"></div>' for name in plots
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>Offsets at {escape(moment(report.taken[-1]))}</title>
<style>{_STYLE}</style>
<script>{get_plotlyjs()}</script></head>
<body><h1>Offsets at {escape(moment(report.taken[-1]))}</h1>
<p>{_sentence(report)}</p>
{_figures(report)}
{sections}
{_tables(report)}
<script type="application/json" id="plots">{data}</script>
<script>{_DRAW}</script>
</body></html>
"""


_TITLES: Final = {
    "over-time": "Backlog over time",
    "offenders": "Furthest behind",
    "queues": "Backlog of each queue",
    "delays": "Delays",
}


def _sentence(report: Report) -> str:
    count = len(report.taken)
    text = f"{count} snapshots since {moment(report.taken[0])}" if count > 1 else "1 snapshot"
    names = ", ".join(str(one["cluster"]) for one in report.clusters)
    return escape(f"{text}. Clusters: {names}.")


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


def _layout(**more: Any) -> dict[str, Any]:
    base = {
        "margin": {"l": 50, "r": 10, "t": 30, "b": 40},
        "autosize": True,
        "height": 360,
        "legend": {"orientation": "h", "y": -0.2},
        "font": {"family": "system-ui, sans-serif"},
    }
    return {**base, **more}


def _over_time(report: Report) -> dict[str, Any] | None:
    series: dict[tuple[str, str], list[Row]] = {}
    for row in report.over_time:
        series.setdefault((row["cluster"], row["consumerGroup"]), []).append(row)
    data = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": group,
            "x": [moment(row["takenAt"]) for row in rows],
            "y": [row["backlog"] for row in rows],
            "text": [duration(row["delayMillis"]) for row in rows],
            "hovertemplate": "%{x}<br>%{y:,} messages behind<br>delay %{text}",
        }
        for (_, group), rows in series.items()
    ]
    axes = {
        "xaxis": {"type": "date"},
        "yaxis": {"rangemode": "tozero", "title": {"text": "messages"}},
    }
    return {"data": data, "layout": _layout(**axes)} if data else None


def _offenders(report: Report) -> dict[str, Any] | None:
    rows = [row for row in report.topics[:_OTHERS] if row["backlog"]][::-1]
    if not rows:
        return None
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": [row["backlog"] for row in rows],
        "y": [_name(row) for row in rows],
        "text": [duration(row["delayMillis"]) for row in rows],
        "hovertemplate": "%{y}<br>%{x:,} messages behind<br>delay %{text}<extra></extra>",
    }
    height = 110 + 24 * len(rows)
    axes = {"yaxis": _names_axis([_name(row) for row in rows]), "height": height}
    return {"data": [bars], "layout": _layout(**axes)}


def _heat_map(report: Report) -> dict[str, Any] | None:
    if not report.cells:
        return None
    names = list(dict.fromkeys(_name(row) for row in report.topics))
    places = sorted({(row["brokerName"], row["queueId"]) for row in report.cells})
    cells = {(_name(row), (row["brokerName"], row["queueId"])): row for row in report.cells}
    names = [name for name in names if any(key[0] == name for key in cells)][::-1]

    def grid(column: str) -> list[list[Any]]:
        nothing: Row = {column: None}
        return [[cells.get((name, place), nothing)[column] for place in places] for name in names]

    text = [[duration(delay) for delay in row] for row in grid("delayMillis")]
    data = {
        "type": "heatmap",
        "x": [f"{broker}/{number}" for broker, number in places],
        "y": names,
        "z": grid("backlog"),
        "text": text,
        "colorscale": "YlOrRd",
        # Plotly's goes from dark to light.
        "reversescale": True,
        "hovertemplate": "%{y}<br>queue %{x}<br>%{z:,} messages behind<br>delay %{text}<extra></extra>",
    }
    axes = {
        "yaxis": _names_axis(names),
        "xaxis": {"type": "category", "automargin": True},
        "height": 150 + 22 * len(names),
    }
    return {"data": [data], "layout": _layout(**axes)}


def _names_axis(names: Sequence[str]) -> dict[str, Any]:
    """Long names are cut; the numbers' text on hover has them whole."""
    cut = [name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}…" for name in names]
    array = {"tickmode": "array", "tickvals": list(names), "ticktext": cut}
    return {"automargin": True, "type": "category", **array}


def _delays(report: Report) -> dict[str, Any] | None:
    if not report.delays:
        return None
    bars = {
        "type": "bar",
        "x": list(report.delays),
        "y": list(report.delays.values()),
        "hovertemplate": "%{x}: %{y:,} queues of groups<extra></extra>",
    }
    axes = {
        "xaxis": {"type": "category", "automargin": True},
        "yaxis": {"title": {"text": "queues of groups"}},
    }
    return {"data": [bars], "layout": _layout(**axes)}


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
            "since": moment(row["stuckSince"]),
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
