"""What is made of a report: texts, a page that loads nothing, sentences about what was passed."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from spark.offsets.command import report
from spark.offsets.files import report_json, write_text
from spark.offsets.page import page
from spark.offsets.report import Report
from spark.offsets.terminal import duration, show
from trimq.cli import main

pytest.importorskip("plotly")

QUEUE: dict[str, Any] = {
    "cluster": "c",
    "consumerGroup": "G",
    "topic": "</script><b>",
    "brokerName": "broker-a",
    "queueId": 0,
    "backlog": 7,
    "inFlight": 1,
    "delayMillis": 61_000,
    "lastReadAt": 1_700_000_000_000,
    "lastConsumedAt": None,
    "client": "10.0.0.1@1[x]",
    "remark": None,
    "minOffset": 0,
    "committed": 3,
    "maxOffset": 10,
    "stuckSince": 1_700_000_000_000,
}
PACE = {"consumeRate": 1.0, "produceRate": 2.0, "drainSeconds": None}
TOPIC = {**QUEUE, **PACE, "skew": 2.0, "stuckQueues": 1, "outOfRange": 0, "members": 0}
GROUP = {
    **TOPIC,
    "retryBacklog": 4,
    "deadLetters": 5,
    "deadLetterGrowth": 1,
    "subscriptionsDiffer": True,
}
CLUSTER = {**GROUP, "topics": 1, "groups": 1}


def made(**other: Any) -> Report:
    values: dict[str, Any] = {
        "taken": [1_700_000_000_000, 1_700_000_060_000],
        "clusters": [CLUSTER],
        "groups": [GROUP],
        "topics": [TOPIC],
        "queues": [QUEUE],
        "stuck": [QUEUE],
        "out_of_range": [],
        "unused": [{"topic": "U", "cluster": "c", "messages": 2, "produceRate": None}],
        "delays": {"1 to 10 min": 1},
        "cells": [QUEUE],
        "over_time": [{**QUEUE, "takenAt": 1_700_000_000_000}],
    }
    return Report(**{**values, **other})


class Tags(HTMLParser):
    """Every tag, its attributes, and what scripts hold."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.found and self.found[-1][0] == "script" and self.cdata_elem == "script":
            self.scripts.append(data)


def test_the_page_loads_nothing_and_names_do_no_harm() -> None:
    tags = Tags()
    tags.feed(page(made()))
    names = [name for name, _ in tags.found]
    assert not {"link", "img", "iframe", "object", "base", "b"} & set(names[8:]) - {"b"}
    for _, attributes in tags.found:
        assert not {"src", "href", "data", "action"} & attributes.keys()
    metas = [attributes for name, attributes in tags.found if name == "meta"]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in metas
    assert any("default-src 'none'" in (one.get("content") or "") for one in metas)
    assert names.count("script") == 3
    plots = json.loads("".join(tags.scripts[1:-1]))
    assert sorted(plots) == ["delays", "offenders", "over-time", "queues"]
    assert plots["offenders"]["data"][0]["y"] == ["G / </script><b>"]
    assert plots["over-time"]["data"][0]["y"] == [7]


def test_a_report_of_nothing_is_a_page_too() -> None:
    nothing = made(
        clusters=[],
        groups=[],
        topics=[],
        queues=[],
        stuck=[],
        unused=[],
        delays={},
        cells=[],
        over_time=[],
    )
    assert "<h1>Offsets at" in page(nothing)
    show(nothing, Console(file=StringIO()), 20)


def test_tables() -> None:
    out = StringIO()
    show(made(), Console(file=out, width=200), 20)
    text = out.getvalue()
    assert re.search(r"G +7 +1m01s +1\.0/s +2\.0/s +never +4 +5 +1 +1 +0\n", text)
    assert "10.0.0.1@1[x]" in text
    assert "Groups with no consumer: G (7 behind)" in text
    assert "Groups whose members subscribe differently: G" in text


def test_what_was_passed() -> None:
    assert list(made().passed(7, 61)) == []
    assert list(made().passed(6, 60)) == [
        "group G is 7 messages behind, more than 6",
        "group G is 61.0 s behind, more than 60 s",
    ]
    assert list(made(groups=[{**GROUP, "delayMillis": None}]).passed(None, 0)) == []


def test_json_and_files(tmp_path: Path) -> None:
    value = json.loads(report_json(made()))
    assert value["groups"][0]["backlog"] == 7
    assert value["without_consumer"] == ["G"]
    assert value["snapshots"] == 2
    write_text(str(tmp_path / "new" / "file"), ["a", "b"])
    assert (tmp_path / "new" / "file").read_text() == "ab"
    assert len(list((tmp_path / "new").iterdir())) == 1


@pytest.mark.parametrize(
    ("millis", "text"),
    [
        (None, "-"),
        (0, "0"),
        (900, "0.9s"),
        (245_000, "4m05s"),
        (7_260_000, "2h01m"),
        (3e8, "3d11h"),
    ],
)
def test_durations(millis: float | None, text: str) -> None:
    assert duration(millis) == text


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "say what to report on: --namesrv HOST:PORT, --store DIR or --history DIR"),
        (["--namesrv", "a:1", "--store", "x"], "give --namesrv or --store, not both"),
        (["--namesrv", "127.0.0.1"], "'127.0.0.1' is no HOST:PORT"),
        (["--namesrv", "127.0.0.1:1"], "no connection to 127.0.0.1:1"),
        (["--store", "/nothing-here"], "/nothing-here is no store"),
        (["--history", "/nothing-here"], "there is no snapshot in /nothing-here"),
        (["--max-lag", "many"], "'many' is not a valid integer"),
    ],
)
def test_usage_and_servers_that_are_not_there(options: list[str], sentence: str) -> None:
    done = CliRunner().invoke(main, ["offsets", "report", *options])
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.output


def test_commands_in_the_documentation() -> None:
    text = (Path(__file__).parents[2] / "docs" / "offset-report.md").read_text()
    lines = re.findall(r"^trimq offsets report (.*)$", text, re.MULTILINE)
    assert len(lines) == 5
    for line in lines:
        assert report.make_context("report", line.split()).params["top"] == 20
    options = {name for option in report.params for name in (*option.opts, *option.secondary_opts)}
    assert options - set(re.findall(r"`(--[a-z-]+)`", text)) == set()
