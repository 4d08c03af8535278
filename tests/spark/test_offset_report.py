"""What is made of a report: texts, a page that loads nothing, sentences about what was passed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException
from rich.console import Console

from trimq.commands.cli import main
from trimq.remoting.errors import TransportError
from trimq.spark.errors import SparkSourceError
from trimq.spark.offsets import rounds
from trimq.spark.offsets.command import report
from trimq.spark.offsets.failures import Failed, failures, of_spark
from trimq.spark.offsets.history.analysis import POINTS
from trimq.spark.offsets.history.history import append, look
from trimq.spark.offsets.history.results import MAP_CELLS, MAP_ROWS, SERIES, Report
from trimq.spark.offsets.rounds import Reporter, Schedule, Wanted
from trimq.spark.offsets.showing.files import report_json, write_text
from trimq.spark.offsets.showing.page import page
from trimq.spark.offsets.showing.terminal import _GROUPS, console, duration, moment, show
from trimq.spark.offsets.snapshot.cluster import Snapshot
from trimq.spark.offsets.snapshot.table import part
from trimq.testing import running_server

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
    "stuckAtLeast": False,
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
    assert not {"link", "img", "iframe", "object", "base"} & set(names)
    for _, attributes in tags.found:
        assert not {"src", "href", "data", "action"} & attributes.keys()
    metas = [attributes for name, attributes in tags.found if name == "meta"]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in metas
    assert any("default-src 'none'" in (one.get("content") or "") for one in metas)
    assert names.count("script") == 2
    plots = [attributes["id"] for _, attributes in tags.found if attributes.get("class") == "plot"]
    assert plots == ["over-time", "delay-over-time", "offenders", "queues", "delays"]
    hints = json.loads(tags.scripts[0])
    assert hints["over-time"]["rows"] == [["G", hints["over-time"]["rows"][0][1], ["7"]]]
    assert hints["delay-over-time"]["rows"][0][2] == ["1m01s"]
    assert hints["queues"]["said"] == [["7 messages, 1m01s"]]
    titles = [attributes["title"] for _, attributes in tags.found if "title" in attributes]
    assert titles.count("G / </script><b>") == 2


def test_the_page_says_whose_time_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        text = page(made())
        out = StringIO()
        show(made(), Console(file=out, width=200), 20)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert "<h1>Offsets at 2023-11-15 03:44:20 UTC+05:30</h1>" in text
    assert "All times are UTC+05:30." in text
    assert "Offsets at 2023-11-15 03:44:20 UTC+05:30, history of 2" in out.getvalue()


@pytest.mark.parametrize("least", [True, False])
def test_since_when_a_queue_is_stuck(least: bool) -> None:
    stuck = [{**QUEUE, "stuckAtLeast": least}]
    out = StringIO()
    show(made(stuck=stuck), Console(file=out, width=200), 20)
    began = f"{'at least ' if least else ''}{moment(QUEUE['stuckSince'])}"
    assert f"7  {began}  " in out.getvalue()
    assert f"<td>{began}</td>" in page(made(stuck=stuck))


def test_when_nothing_is_left_is_in_the_pages_table() -> None:
    groups = [{**GROUP, "drainSeconds": 7260.0}, GROUP, {**GROUP, "consumeRate": None}]
    text = page(made(groups=groups))
    assert "<th>drained in</th>" in text
    assert re.findall(r"<td>(2h01m|never|-)</td><td>4</td>", text) == ["2h01m", "never", "-"]


def test_the_page_of_a_large_cluster_is_small() -> None:
    """Everything as much as a report holds at most, and names as long as brokers allow groups'."""
    groups = [{**GROUP, "consumerGroup": f"{number:0>120}"} for number in range(5000)]
    names = [one["consumerGroup"] for one in groups]
    over_time = [
        {**QUEUE, "consumerGroup": name, "takenAt": 60_000 * at, "backlog": 10**9 + at * at}
        for name in names[:SERIES]
        for at in range(POINTS)
    ]
    topics = [{**TOPIC, "consumerGroup": name, "topic": "t" * 120} for name in names[:MAP_ROWS]]
    cells = [
        {**topic, "queueId": number % 50, "brokerName": f"broker-{number // 50}", "backlog": number}
        for topic in topics
        for number in range(MAP_CELLS // MAP_ROWS)
    ]
    rows = {"stuck": [QUEUE] * 100, "unused": made().unused * 100, "queues": [QUEUE] * 100}
    text = page(made(groups=groups, over_time=over_time, topics=topics, cells=cells, **rows))
    assert text.count("<td class=") == MAP_CELLS
    assert len(text.encode()) < 1_500_000


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


@pytest.mark.parametrize(("columns", "cut"), [(None, False), ("", False), ("80", True)])
def test_nothing_is_cut_in_a_pipe(
    columns: str | None, cut: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    out = StringIO()
    name = "a-group-with-a-name-of-some-length-" * 4
    show(made(queues=[{**QUEUE, "consumerGroup": name}]), console(out), 20)
    assert (name in out.getvalue()) is not cut
    assert ("…" in out.getvalue()) is cut
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) < (81 if cut else 400)


@pytest.mark.parametrize("width", [30, 60, 80, 100, 140])
def test_numbers_are_whole_or_missing(width: int) -> None:
    """Where a terminal is narrow, names are cut and the last columns left out, and that is said."""
    long = {**GROUP, "consumerGroup": "g" * 90, "backlog": 123_456_789}
    out = StringIO()
    report = made(groups=[long], topics=[], queues=[], stuck=[], clusters=[], unused=[])
    show(report, Console(file=out, width=width), 20)
    lines = out.getvalue().splitlines()
    title = next(at for at, line in enumerate(lines) if line.startswith("Groups"))
    head, row = next(
        (one, other) for one, other in pairwise(lines[title:]) if one.startswith("group  ")
    )
    assert "g…" in row
    assert "123456789" in row
    assert max(len(head), len(row)) <= width
    assert "…" not in row.partition("…")[2]
    told = " ".join(" ".join(lines[title : lines.index(head)]).split())
    found = re.findall(r"too narrow for: (.*)\)", told)
    left_out = found[0].split(", ") if found else []
    assert bool(left_out) is (width < 100)
    shown = re.split(r" {2,}", head.strip())
    assert [*shown, *left_out] == list(_GROUPS)
    assert len(shown) == len(row.split())


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
        (["--namesrv", "a:1", "--commitlog", "x"], "the log of --store is"),
        (["--store", "x", "--commitlog", "/a, /b"], "nothing but a comma between them"),
        (["--namesrv", "127.0.0.1"], "'127.0.0.1' is not HOST:PORT"),
        (["--namesrv", "127.0.0.1:1"], "no connection to 127.0.0.1:1"),
        (["--store", "/nothing-here"], "/nothing-here is not a store"),
        (["--history", "/nothing-here"], "there is no snapshot in /nothing-here"),
        (["--history", "x", "--keep", "1d"], "--keep shortens --history when a snapshot is added"),
        (["--namesrv", "127.0.0.1:1", "--rounds", "2"], "--rounds ends --watch"),
        (["--max-lag", "many"], "'many' is not a valid integer"),
        (
            ["--history", "x", "--keep", "30"],
            "--keep: '30' is not a span of time: write 45m, 12h, 30d",
        ),
    ],
)
def test_wrong_usage_and_missing_servers(options: list[str], sentence: str) -> None:
    done = CliRunner().invoke(main, ["offsets", "report", *options])
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.output


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A folder with one snapshot."""
    folder = tmp_path / "history"
    append(folder, part(1000, 1000, {"topic": ["T"], "cluster": "c", "queueId": 0}))
    return folder


def refused(*options: object) -> str:
    """The one sentence of a report that is not made."""
    done = CliRunner().invoke(main, ["offsets", "report", *map(str, options)])
    assert done.exit_code == 2, done.output
    (sentence,) = done.stderr.splitlines()
    return sentence


def test_files_that_are_not_snapshots(history: Path) -> None:
    other = history / "offsets-900.parquet"
    other.write_bytes(b"PAR1 and so on")
    assert f"{other} is damaged: remove it; the report goes on without" in refused(
        "--history", history
    )
    pq.write_table(pa.table({"topic": ["T"]}), other)
    assert f"{other} does not have the columns of a snapshot" in refused("--history", history)
    for path in history.rglob("*.parquet"):
        path.unlink()
    assert f"there is no snapshot in {history}" in refused("--history", history)


@pytest.mark.parametrize("taken", [1000, 900])
def test_damage_after_the_columns(history: Path, taken: int) -> None:
    append(history, part(900, 900, {"topic": ["T"], "cluster": "c", "queueId": 0}))
    (damaged,) = history.rglob(f"offsets-{taken}.parquet")
    data = bytearray(damaged.read_bytes())
    # Behind the first magic; what a file has is at its end.
    data[4:200] = bytes(196)
    damaged.write_bytes(data)
    assert f"{damaged} is damaged: remove it" in refused("--history", history)


@pytest.fixture(scope="module")
def namesrv() -> Iterator[str]:
    with running_server() as server:
        yield server.namesrv_addr


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (
            "Error: LinkageError occurred while loading main class\n"
            " java.lang.UnsupportedClassVersionError: org/apache/spark/launcher/Main",
            "it needs Java 17 or newer, and this one is older",
        ),
        ("Could not reserve enough space", "Spark did not start: Could not reserve enough space"),
    ],
)
def test_a_java_that_does_not_do(namesrv: str, tmp_path: Path, said: str, sentence: str) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\nprintf '%s\\n' '{said}' >&2\nexit 1\n")
    java.chmod(0o755)
    options = ["--namesrv", namesrv, "--master", "local[1]"]
    command = [sys.executable, "-m", "trimq", "offsets", "report", *options]
    environment = {**os.environ, "JAVA_HOME": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert sentence in line


def test_without_java(
    history: Path, namesrv: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    options = ("--namesrv", namesrv, "--master", "local[1]")
    assert "there is no 'java' on the PATH: install a JDK" in refused(*options)
    # It takes one to spread questions, and none for what the history says.
    done = CliRunner().invoke(main, ["offsets", "report", "--history", str(history)])
    assert (done.exit_code, done.stderr) == (0, "")


def test_with_another_spark(namesrv: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.__version__", "3.5.9")
    options = ("--namesrv", namesrv, "--master", "local[1]")
    assert "the report works with Spark 4; this is 3.5.9" in refused(*options)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03",
            "Path does not exist: file:/x.",
        ),
        (
            "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0"
            " failed 1 times, most recent failure: Lost task 0.0 in stage 1.0 (TID 1) (10.0.0.1"
            " executor driver): org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered"
            " error while reading file file:///x. SQLSTATE: KD001\n\tat org.apache.spark.sql.errors",
            "Encountered error while reading file file:///x.",
        ),
        (
            "java.lang.OutOfMemoryError: Java heap space\n\tat java.base",
            "there is not enough memory",
        ),
        ("", "PySparkException"),
    ],
)
def test_what_spark_says_in_a_sentence(text: str, sentence: str) -> None:
    said = of_spark(PySparkException(text))
    assert said.startswith(sentence)
    assert "\n" not in said


def test_a_jvm_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Failed, match="Spark failed: its JVM is gone"), failures():
        raise Py4JNetworkError("Answer from Java side is empty")


@dataclass
class Source:
    """Gives what it is told, one after the other."""

    answers: list[Snapshot | Exception]

    def __call__(self) -> Snapshot:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


WANTED = Wanted(
    html=None,
    json=None,
    prometheus=None,
    parquet=None,
    csv=None,
    quiet=True,
    top=1,
    max_lag=None,
    max_delay=None,
)


def taken_at(millis: int) -> pa.Table:
    return part(millis, millis, {"topic": ["T"], "cluster": "c"})


@pytest.mark.parametrize(
    "gone", [TransportError("no connection"), SparkSourceError("no broker answers")]
)
def test_rounds_without_brokers(
    gone: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Whatever the source says in a round, those that follow are held; once is once."""
    computed: list[int] = []
    monkeypatch.setattr(rounds, "sleep", lambda _: None)
    monkeypatch.setattr(
        Reporter, "_compute", lambda _, found: computed.append(len(found.taken)) or 0
    )
    source = Source([gone, Snapshot(taken_at(5000)), gone])
    reporter = Reporter(source, tmp_path, WANTED, Schedule(1000, 3))
    assert reporter.run() == 2
    assert computed == [1]
    assert capsys.readouterr().err == f"no snapshot in this round: {gone}\n" * 2
    with pytest.raises(SparkSourceError, match=str(gone)):
        Reporter(Source([gone]), tmp_path, WANTED, Schedule(None, None)).run()


def test_a_round_that_takes_too_long_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    clock = iter([0.0, 7.5, 10.0, 12.0, 20.0])
    slept: list[float] = []
    monkeypatch.setattr(rounds, "monotonic", lambda: next(clock))
    monkeypatch.setattr(rounds, "sleep", slept.append)
    source = Source([Snapshot(taken_at(millis)) for millis in (1000, 2000, 3000)])
    assert Reporter(source, tmp_path, WANTED, Schedule(5, 3)).run() == 0
    assert slept == [0, 3]
    (sentence,) = capsys.readouterr().err.splitlines()
    assert sentence.startswith("this round took 7.5 s, longer than the 5 s of --watch")


def test_what_is_old_goes_with_the_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "sleep", lambda _: None)
    source = Source([Snapshot(taken_at(millis)) for millis in (1000, 2000, 60_000)])
    assert Reporter(source, tmp_path, WANTED, Schedule(1000, 3), keep=58_500).run() == 0
    assert look(tmp_path).taken == [2000, 60_000]


def test_a_missing_broker_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(Reporter, "_compute", lambda *_: 1)
    source = Source([Snapshot(taken_at(5000), ["broker b is left out"], ["n"] * 7)])
    assert Reporter(source, tmp_path, WANTED, Schedule(None, None)).run() == 2
    assert capsys.readouterr().err.splitlines() == [
        *["not known: n"] * 5,
        "not known: 2 details more",
        "not asked: broker b is left out",
    ]


def test_commands_in_the_documentation() -> None:
    text = (Path(__file__).parents[2] / "docs" / "offset-report.md").read_text()
    lines = re.findall(r"^trimq offsets report (.*)$", text, re.MULTILINE)
    assert len(lines) == 6
    for line in lines:
        assert report.make_context("report", line.split()).params["top"] == 20
    options = {name for option in report.params for name in (*option.opts, *option.secondary_opts)}
    assert options - set(re.findall(r"`(--[a-z-]+)`", text)) == set()
