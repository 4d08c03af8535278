"""`trimq offsets report` on the real RocketMQ and on TriMQ: a group that lags, all numbers checked."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from codec.bodies.groups import SubscriptionGroupConfig
from codec.bodies.locks import MessageQueue
from compat_tests.processes import free_port
from compat_tests.real import Launcher
from compat_tests.spark_stage import QUEUES, Side, sides, spark_session
from trimq.cli import main

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'trimq[spark]'")
pytest.importorskip("plotly", reason="plotly is not installed: pip install 'trimq[spark]'")

ROOT = Path(__file__).parent.parent
KINDS = ("real", "trimq")
# Where the group stands of its 10 messages in each queue; nothing about queue 2.
COMMITTED = {0: 4, 1: 400, 3: 10}


@pytest.fixture(scope="module")
def servers(
    launch: Launcher, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Side]]:
    with sides(launch, tmp_path_factory.mktemp("offsets")) as both:
        for side in both.values():
            for topic in ("Lagging", "Nobodys"):
                side.create(topic)
            side.create("%DLQ%Readers", 1)
            side.send("Lagging", range(40))
            side.send("Nobodys", range(3))
            side.send("%DLQ%Readers", range(0, 8, QUEUES))
            with side.admin() as admin:
                group = SubscriptionGroupConfig(group_name="Readers")
                admin.put_group(side.server.broker_addr, group)
                for queue_id, offset in COMMITTED.items():
                    queue = MessageQueue(broker_name="broker-a", queue_id=queue_id, topic="Lagging")
                    admin.commit_offset(side.server.broker_addr, "Readers", queue, offset)
        yield both


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """The command takes a session that is there: starting one takes longer than all these reports."""
    with spark_session() as session:
        yield session


def report(*options: object) -> Result:
    return CliRunner().invoke(main, ["offsets", "report", *map(str, options)])


@pytest.fixture(scope="module")
def reports(
    spark: Any, servers: dict[str, Side], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """By server, a folder with everything that two rounds of --watch write, with news in between."""
    folders = {}
    for kind, side in servers.items():
        folder = folders[kind] = tmp_path_factory.mktemp(kind)
        options = ["--namesrv", side.namesrv, "--history", folder / "history", "--quiet"]
        first = report(*options, "--max-lag", 20, "--json", folder / "first.json")
        assert (first.exit_code, first.stdout) == (0, ""), first.stderr
        side.send("Lagging", range(40, 80))
        side.send("%DLQ%Readers", range(0, 4, QUEUES))
        time.sleep(0.5)
        files = [
            item for kind in ("html", "json", "prometheus") for item in (f"--{kind}", folder / kind)
        ]
        tables = ["--parquet", folder / "parquet", "--csv", folder / "csv"]
        watch = ["--watch", 0.5, "--rounds", 2, "--max-lag", 20, "--max-delay", 3600]
        second = report(*options, *files, *tables, *watch)
        assert second.exit_code == 1, second.stderr
        # Queue 0: 16, 1: what was beyond the end, 2: all 20, 3: 10.
        assert second.stderr.count("group Readers is 46 messages behind, more than 20\n") == 2
    return folders


@pytest.mark.parametrize("kind", KINDS)
def test_first_snapshot(reports: dict[str, Path], kind: str) -> None:
    value = json.loads((reports[kind] / "first.json").read_text())
    (group,) = (one for one in value["groups"] if one["consumerGroup"] == "Readers")
    assert (group["backlog"], group["deadLetters"], group["members"]) == (16, 2, 0)
    assert (group["consumeRate"], group["deadLetterGrowth"]) == (None, None)
    assert [one["backlog"] for one in value["queues"]] == [10, 6]
    (outside,) = value["out_of_range"]
    assert (outside["queueId"], outside["remark"], outside["committed"]) == (1, "above max", 400)
    assert [(one["topic"], one["messages"]) for one in value["unused"]] == [("Nobodys", 3)]
    assert value["without_consumer"] == ["Readers"]
    assert value["stuck"] == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_changed_since(reports: dict[str, Path], kind: str) -> None:
    folder = reports[kind]
    taken = sorted(int(path.name[8:-8]) for path in (folder / "history").iterdir())
    assert len(taken) == 3
    value = json.loads((folder / "json").read_text())
    assert (value["taken"], value["snapshots"]) == (taken[-1], 3)
    # Two queues had a backlog in each snapshot and no progress: since the first. A third one since it
    # got messages.
    since = {one["queueId"]: one["stuckSince"] for one in value["stuck"]}
    assert since == {0: taken[0], 2: taken[0], 3: taken[1]}
    (topic,) = (one for one in value["topics"] if one["topic"] == "Lagging")
    assert (topic["backlog"], topic["largestBacklog"], topic["stuckQueues"]) == (46, 20, 3)
    assert topic["skew"] == pytest.approx(20 * QUEUES / 46)
    assert (topic["consumeRate"], topic["drainSeconds"]) == (0, None)
    (group,) = (one for one in value["groups"] if one["consumerGroup"] == "Readers")
    assert (group["deadLetters"], group["deadLetterGrowth"]) == (3, 0)
    assert sum(value["delays"].values()) == QUEUES


@pytest.mark.parametrize("kind", KINDS)
def test_tables_for_other_programs(reports: dict[str, Path], kind: str) -> None:
    folder = reports[kind]
    rows = {row["queueId"]: row for row in pq.read_table(folder / "parquet" / "queues").to_pylist()}
    found = {
        number: (row["committed"], row["maxOffset"], row["backlog"]) for number, row in rows.items()
    }
    assert found == {0: (4, 20, 16), 1: (400, 20, 0), 2: (0, 20, 20), 3: (10, 20, 10)}
    assert all(row["delayExact"] for row in rows.values())
    assert rows[2]["delayMillis"] > rows[3]["delayMillis"] > 0
    (part,) = (folder / "csv" / "groups").glob("*.csv")
    with part.open() as file:
        assert {row["consumerGroup"]: row["backlog"] for row in csv.DictReader(file)} == {
            "Readers": "46"
        }
    lines = (folder / "prometheus").read_text().splitlines()
    cluster = rows[0]["cluster"]
    named = f'{{cluster="{cluster}",group="Readers",topic="Lagging"}}'
    assert f"trimq_offsets_backlog_messages{named} 46" in lines
    assert f"trimq_offsets_stuck_queues{named} 3" in lines
    assert all(line.startswith("#") or re.fullmatch(r"\w+(\{.*\})? \S+", line) for line in lines)


def test_rates_between_snapshots(spark: Any, servers: dict[str, Side], tmp_path: Path) -> None:
    side = servers["trimq"]
    options = ["--namesrv", side.namesrv, "--history", tmp_path, "--json", "-"]
    report(*options, "--topic", "Lagging")
    with side.admin() as admin:
        queue = MessageQueue(broker_name="broker-a", queue_id=0, topic="Lagging")
        admin.commit_offset(side.server.broker_addr, "Readers", queue, 12)
    try:
        value = json.loads(report(*options, "--topic", "Lagging").stdout)
    finally:
        with side.admin() as admin:
            admin.commit_offset(side.server.broker_addr, "Readers", queue, 4)
    before, after = sorted(tmp_path.iterdir())
    asked = [
        next(
            row["askedAt"]
            for row in pq.read_table(path).to_pylist()
            if row["committed"] is not None
        )
        for path in (before, after)
    ]
    seconds = (asked[1] - asked[0]).total_seconds()
    (topic,) = value["topics"]
    assert topic["consumeRate"] == pytest.approx(8 / seconds)
    assert topic["drainSeconds"] == pytest.approx(topic["backlog"] * seconds / 8)


def test_a_store_directory_says_the_same(spark: Any, servers: dict[str, Side]) -> None:
    side = servers["real"]
    deadline = time.monotonic() + 20
    while not (side.store / "config" / "consumerOffset.json").exists():
        assert time.monotonic() < deadline
        time.sleep(0.2)
    done = report("--store", side.store, "--json", "-", "--max-lag", 5)
    assert done.exit_code == 1, done.stderr
    # A queue without a committed offset has no row here.
    value = json.loads(done.stdout)
    assert [(one["queueId"], one["backlog"]) for one in value["queues"]] == [(0, 16), (3, 10)]


def test_spark_submit(reports: dict[str, Path]) -> None:
    submit = Path(sys.executable).parent / "spark-submit"
    command = [str(submit), "--master", "local[1]", "spark/offset_report.py"]
    history = reports["trimq"] / "history"
    done = subprocess.run(
        [*command, "--history", str(history), "--top", "5"],
        cwd=ROOT,
        env={**_environment(), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert re.search(r"Readers +Lagging +46 ", done.stdout)


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


def test_the_job_in_the_documentation(
    reports: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "docs" / "offset-report.md").read_text()
    (job,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    job = job.replace('"offsets"', repr(str(reports["real"] / "history")))
    exec(compile(job, "offset-report.md", "exec"), {})
    shown = capsys.readouterr().out
    # 10 in each queue, then 20; 414 committed.
    assert re.findall(r"Readers\| +(\d+)\| +(\d+)\|", shown) == [
        ("40", "414"),
        ("80", "414"),
        ("80", "414"),
    ]


def test_a_server_that_is_not_there() -> None:
    command = [sys.executable, "-m", "trimq", "offsets", "report", "--namesrv"]
    done = subprocess.run(
        [*command, f"127.0.0.1:{free_port()}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "no connection to 127.0.0.1" in done.stderr


class Loads(HTMLParser):
    """What a page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Any] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in ("src", "href", "data", "srcset")]


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_in_a_browser(reports: dict[str, Path], kind: str, tmp_path: Path) -> None:
    page = reports[kind] / "html"
    loads = Loads()
    loads.feed(page.read_text())
    assert loads.found == []
    browser = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
    if browser is None:
        pytest.skip("there is no chromium or google-chrome: apt-get install chromium")
    for width in (1200, 390):
        dom, log = in_browser(browser, page.read_text(), tmp_path, width)
        assert ":CONSOLE" not in log
        # Drawn: each has its axes' svg, and bars, cells and points are in it.
        assert len(re.findall(r'<div class="plot js-plotly-plot"', dom)) == 4
        assert len(re.findall(r'<g class="trace bars"', dom)) == 2
        assert len(re.findall(r'<g class="trace scatter', dom)) == 1
        assert len(re.findall(r'<g class="hm"', dom)) == 1
    # What the browser says when a page asks somebody.
    asking = page.read_text().replace("</h1>", '</h1><img src="http://127.0.0.1:9/picture.png">')
    assert ":CONSOLE" in in_browser(browser, asking, tmp_path, 1200)[1]


def in_browser(browser: str, text: str, folder: Path, width: int) -> tuple[str, str]:
    """What becomes of a page's elements, and the log. The browser reaches nobody."""
    copy = folder / "page.html"
    copy.write_text(text)
    done = subprocess.run(
        [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            *(f"--user-data-dir={folder / 'profile'}", f"--window-size={width},1600"),
            *("--enable-logging=stderr", "--disable-background-networking"),
            *(f"--proxy-server=127.0.0.1:{free_port()}", "--proxy-bypass-list=<-loopback>"),
            *("--virtual-time-budget=10000", "--dump-dom", copy.as_uri()),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout, done.stderr
