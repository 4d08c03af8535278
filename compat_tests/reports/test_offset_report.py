"""`trimq offsets report` on the real RocketMQ and on TriMQ: a group that lags, all numbers checked."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from prometheus_client.parser import text_string_to_metric_families

from compat_tests.mqadmin.hand_members import HandMember, Wishes
from compat_tests.reports.browser import Browser, browser, find
from compat_tests.servers.jvm import Launcher
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.processes import free_port
from compat_tests.spark.stages.stage import QUEUES, Side, sides, spark_session
from tests.patience import until
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.locks import MessageQueue
from trimq.commands.cli import main
from trimq.spark.offsets.history.history import append, look
from trimq.spark.offsets.snapshot.filters import Filters
from trimq.spark.offsets.snapshot.table import joined, part

pytest.importorskip(
    "pyspark", reason="pyspark is not installed: pip install '/path/to/trimq[spark]'"
)

ROOT = Path(__file__).parents[2]
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
            # The real broker fills its queues in the background.
            for topic, count in {"Lagging": 40, "Nobodys": 3, "%DLQ%Readers": 2}.items():
                side.settle(topic, count)
            with side.admin() as admin:
                group = SubscriptionGroupConfig(group_name="Readers")
                admin.put_group(side.server.broker_addr, group)
                for queue_id, offset in COMMITTED.items():
                    queue = MessageQueue(broker_name="broker-a", queue_id=queue_id, topic="Lagging")
                    admin.commit_offset(side.server.broker_addr, "Readers", queue, offset)
        yield both


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """The jobs of the documentation take a session that is there."""
    with spark_session() as session:
        yield session


def report(*options: object) -> Result:
    return CliRunner().invoke(main, ["offsets", "report", *map(str, options)])


@pytest.fixture(scope="module")
def reports(servers: dict[str, Side], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
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
        side.settle("Lagging", 80)
        side.settle("%DLQ%Readers", 3)
        files = [
            item for kind in ("html", "json", "prometheus") for item in (f"--{kind}", folder / kind)
        ]
        files.append("--metrics-of-queues")
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
    taken = look(folder / "history").taken
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
    values = metrics((folder / "prometheus").read_text())
    reader = {"group": "Readers", "topic": "Lagging"}
    cluster = {"cluster": rows[0]["cluster"]}
    place = {"broker": "broker-a"} | cluster
    assert values["trimq_offsets_backlog_messages", labels(reader | cluster)] == 46
    assert values["trimq_offsets_stuck_queues", labels(reader | cluster)] == 3
    # What was beyond the end counts, as it does for the exporter: 80 - 414.
    online = {"countOfOnlineConsumers": "0", "msgModel": "1"}
    assert values["rocketmq_group_diff", labels(reader | online)] == -334
    assert values["rocketmq_consumer_offset", labels(reader | place)] == 414
    delay = values["rocketmq_group_get_latency_by_storetime", labels(reader | place)]
    assert delay == max(row["delayMillis"] for row in rows.values())
    assert values["rocketmq_consumer_tps", labels(reader | place)] == 0
    assert values["rocketmq_producer_offset", labels({"topic": "Lagging"} | place)] == 80
    assert values["rocketmq_producer_tps", labels({"topic": "Nobodys"} | place)] == 0
    assert values["rocketmq_topic_dlq_offset", labels({"group": "Readers"} | place)] == 3
    for number, row in rows.items():
        one = labels(reader | place | {"queue": str(number)})
        assert values["trimq_offsets_queue_backlog_messages", one] == row["backlog"]


def labels(named: dict[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset(named.items())


def metrics(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """What Prometheus reads: each value by its name and labels."""
    samples = [
        sample for family in text_string_to_metric_families(text) for sample in family.samples
    ]
    found = {(sample.name, labels(sample.labels)): sample.value for sample in samples}
    assert len(found) == len(samples)
    return found


def test_rates_between_snapshots(servers: dict[str, Side], tmp_path: Path) -> None:
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
    before, after = sorted(tmp_path.rglob("offsets-*.parquet"))
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


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_is_nobody_whomever_is_asked_about(
    servers: dict[str, Side], kind: str, tmp_path: Path
) -> None:
    """Lagging is read by a group that this report is not about; the history gets all rows."""
    options = ["--namesrv", servers[kind].namesrv, "--history", tmp_path, "--json", "-"]
    done = report(*options, "--group", "Others*", "--max-lag", 0)
    assert (done.exit_code, done.stderr) == (0, "no group in this report matches 'Others*'\n")
    value = json.loads(done.stdout)
    assert [one["topic"] for one in value["unused"]] == ["Nobodys"]
    assert [value[name] for name in ("groups", "topics", "queues")] == [[], [], []]
    rows = pq.read_table(next(tmp_path.rglob("*.parquet"))).to_pylist()
    readers = [row for row in rows if row["consumerGroup"] == "Readers"]
    assert {row["topic"] for row in readers} == {"Lagging"}
    # Nobody was asked about them.
    assert {row["members"] for row in readers} == {None}


def kept_by_hand(folder: Path) -> None:
    """Two snapshots, a minute apart, of three groups; `A` has a retry and a dead-letter topic."""
    for taken in (1_700_000_000_000, 1_700_000_060_000):
        ends = {"T1": 10, "T2": 20, "Free": 5, "%RETRY%A": 2, "%DLQ%A": 3, "%DLQ%B": 4}
        where = {"cluster": "c", "brokerName": "b", "queueId": 0}
        queues = part(
            taken,
            taken,
            {**where, "topic": list(ends), "minOffset": 0, "maxOffset": list(ends.values())},
        )
        stands = [("A", "T1"), ("A", "%RETRY%A"), ("AB", "T2"), ("B", "T2"), ("B", "T1")]
        groups = part(
            taken,
            taken,
            {
                **where,
                "topic": [topic for _, topic in stands],
                "consumerGroup": [group for group, _ in stands],
                "minOffset": 0,
                "maxOffset": [ends[topic] for _, topic in stands],
                "committed": 1,
                "delayMillis": 5000,
                "delayExact": True,
            },
        )
        append(folder, joined([queues, groups]))


CHOSEN: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[set[str], set[str]]] = {
    (("A",), ()): ({"A T1", "A %RETRY%A"}, {"T1", "T2", "Free", "%RETRY%A", "%DLQ%A"}),
    (("A*", "no"), ()): (
        {"A T1", "A %RETRY%A", "AB T2"},
        {"T1", "T2", "Free", "%RETRY%A", "%DLQ%A"},
    ),
    # Who reads the topic, and what is the group's own.
    ((), ("T1",)): (
        {"A T1", "A %RETRY%A", "B T1"},
        {"T1", "%RETRY%A", "%DLQ%A", "%DLQ%B"},
    ),
    ((), ("T2", "Fr?e")): ({"AB T2", "B T2"}, {"T2", "Free", "%DLQ%B"}),
    (("B",), ("T1",)): ({"B T1"}, {"T1", "%DLQ%B"}),
    ((), ("F*",)): (set(), {"Free"}),
    (("A",), ("T2",)): (set(), {"T2"}),
}


def test_rows_that_a_report_is_about(tmp_path: Path) -> None:
    kept_by_hand(tmp_path)
    history = look(tmp_path)
    rows = history.snapshot(history.taken[0])
    assert Filters().snapshot(rows).num_rows == rows.num_rows == 11
    for (groups, topics), (offsets, queues) in CHOSEN.items():
        found = Filters(groups, topics).snapshot(rows).to_pylist()
        named = [f"{row['consumerGroup']} {row['topic']}" for row in found if row["consumerGroup"]]
        assert sorted(named) == sorted(offsets), (groups, topics)
        own = [row["topic"] for row in found if not row["consumerGroup"]]
        assert sorted(own) == sorted(queues), (groups, topics)


def test_groups_and_topics_of_a_history(tmp_path: Path) -> None:
    kept_by_hand(tmp_path)
    options = ["--topic", "T?", "--group", "A*", "--max-lag", 10]
    done = report("--history", tmp_path, "--json", "-", *options)
    assert done.stderr == "group AB is 19 messages behind, more than 10\n"
    assert done.exit_code == 1
    value = json.loads(done.stdout)
    found = {one["consumerGroup"]: (one["backlog"], one["deadLetters"]) for one in value["groups"]}
    assert found == {"A": (10, 3), "AB": (19, 0)}
    assert {one["consumerGroup"] for one in value["stuck"]} == {"A", "AB"}
    assert value["unused"] == []


def test_a_store_directory_says_the_same(
    servers: dict[str, Side], reports: dict[str, Path]
) -> None:
    side = servers["real"]
    # Written every 5 s, 10 s after the start: a first file may be from before the commits.
    file = side.store / "config" / "consumerOffset.json"
    until(lambda: file.exists() and "@Readers" in file.read_text(), "offsets are written")
    done = report("--store", side.store, "--json", "-", "--max-lag", 5)
    assert done.exit_code == 1, done.stderr
    # A queue without a committed offset has no row here.
    value = json.loads(done.stdout)
    assert [(one["queueId"], one["backlog"]) for one in value["queues"]] == [(0, 16), (3, 10)]
    others = report("--store", side.store, "--json", "-", "--max-lag", 5, "--group", "Others")
    assert (others.exit_code, others.stderr) == (0, "no group in this report matches 'Others'\n")
    assert json.loads(others.stdout)["groups"] == []


@pytest.mark.parametrize("kind", KINDS)
def test_members_and_their_queues(
    reports: dict[str, Path], servers: dict[str, Side], kind: str, tmp_path: Path
) -> None:
    """Two members of a group that has read everything; they want different tags."""
    side = servers[kind]
    broker = side.server.broker_addr
    side.create("Owned")
    side.send("Owned", range(QUEUES))
    side.settle("Owned", QUEUES)
    consumed = 1_700_000_000_000
    wishes = {
        "c0": Wishes({"Owned": "A"}, [("Owned", 0), ("Owned", 1)], consumed=consumed),
        "c1": Wishes({"Owned": "B"}, [("Owned", 2)], version=2, consumed=consumed + 1000),
    }
    with ExitStack() as all_:
        for name, wish in wishes.items():
            member = HandMember(broker, "broker-a", "Owners", name)
            all_.callback(member.close)
            assert member.join(wish).code == 0
        with side.admin() as admin:
            for queue_id in range(QUEUES):
                queue = MessageQueue(broker_name="broker-a", queue_id=queue_id, topic="Owned")
                admin.commit_offset(broker, "Owners", queue, 1)
        options = ["--namesrv", side.namesrv, "--group", "Owners", "--topic", "Owned"]
        done = report(*options, "--quiet", "--json", tmp_path / "json", "--parquet", tmp_path / "p")
    assert (done.exit_code, done.stderr) == (0, "")
    rows = {row["queueId"]: row for row in pq.read_table(tmp_path / "p" / "queues").to_pylist()}
    found = {number: (row["client"], row["lastConsumedAt"]) for number, row in rows.items()}
    assert found == {
        0: ("c0", consumed),
        1: ("c0", consumed),
        2: ("c1", consumed + 1000),
        3: (None, None),
    }
    assert {row["members"] for row in rows.values()} == {2}
    value = json.loads((tmp_path / "json").read_text())
    assert (value["subscriptions_differ"], value["without_consumer"]) == (["Owners"], [])


def test_a_cluster_that_is_gone_for_a_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = TrimqServer(tmp_path / "server")
    server.start()
    between = iter([server.stop, server.start])
    metrics_at = f"127.0.0.1:{free_port()}"
    scraped = []

    def pause(_: float) -> None:
        with urllib.request.urlopen(f"http://{metrics_at}/metrics", timeout=10) as answer:
            scraped.append(metrics(answer.read().decode()))
        next(between)()

    monkeypatch.setattr("trimq.spark.offsets.rounds.sleep", pause)
    try:
        side = Side(server, server.store)
        side.create("Watched")
        options = ["--namesrv", side.namesrv, "--history", tmp_path / "history", "--quiet"]
        listen = ["--listen", metrics_at]
        done = report(*options, "--json", tmp_path / "json", "--watch", 60, "--rounds", 3, *listen)
    finally:
        server.stop()
    assert done.exit_code == 0
    # The round in which nobody answered has changed nothing.
    first, second = scraped
    assert first == second
    watched = {"cluster": "DefaultCluster", "broker": "broker-a", "topic": "Watched"}
    assert first["rocketmq_producer_offset", labels(watched)] == 0
    told, sentence = done.stderr.splitlines()
    assert told == f"metrics are at http://{metrics_at}/metrics"
    assert sentence.startswith("no snapshot in this round: ")
    assert side.namesrv in sentence
    value = json.loads((tmp_path / "json").read_text())
    assert value["snapshots"] == len(look(tmp_path / "history").taken) == 2


def test_a_session_of_its_own_keeps_quiet(
    servers: dict[str, Side], reports: dict[str, Path]
) -> None:
    """Executors ask the brokers."""
    command = [sys.executable, "-m", "trimq", "offsets", "report", "--master", "local[1]"]
    done = subprocess.run(
        [*command, "--namesrv", servers["trimq"].namesrv, "--max-lag", "20", "--group", "Readers"],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == "group Readers is 46 messages behind, more than 20\n"
    assert done.returncode == 1
    assert re.search(r"Readers +Lagging +46 ", done.stdout)


def test_the_job_in_the_documentation(
    spark: Any, reports: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "docs" / "offset-report.md").read_text()
    (job,) = re.findall(r"```python\n(# job: lag over time\n.*?)```", text, re.DOTALL)
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


# How many pixels of each plot are not the background, of a screenshot.
PAINTED = """
(async () => {
  const picture = new Image();
  picture.src = "data:image/png;base64,%s";
  await picture.decode();
  const canvas = document.createElement("canvas");
  canvas.width = picture.width; canvas.height = picture.height;
  const drawing = canvas.getContext("2d");
  drawing.drawImage(picture, 0, 0);
  return %s.map(([x, y, width, height]) => {
    const data = drawing.getImageData(x, y, width, height).data;
    let count = 0;
    for (let at = 0; at < data.length; at += 4)
      if (data[at] + data[at + 1] + data[at + 2] < 720) count += 1;
    return count;
  });
})()
"""
READY = "new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))"
# What is drawn into each place.
DRAWN = """
[...document.querySelectorAll(".plot")].map(place =>
  [place.id, place.querySelectorAll(".line, .dot, .bars i, .heat td[class]").length])
"""
# What is told where the pointer is: at the end of the curves, on the first cell of the map.
TOLD = """
["#over-time .field", "#delay-over-time .field", "#queues td[class]"].map(where => {
  const place = document.querySelector(where), box = place.getBoundingClientRect();
  for (const kind of ["pointerover", "pointermove"])
    place.dispatchEvent(new PointerEvent(kind, {clientX: box.right, clientY: box.y, bubbles: true}));
  return document.getElementById("tip").textContent;
})
"""
PLACES = """
[...document.querySelectorAll(".plot")].map(place => {
  const box = place.getBoundingClientRect();
  return [box.x, box.y + scrollY, box.width, box.height].map(Math.round);
})
"""
WIDTHS = "[innerWidth, document.documentElement.scrollWidth, document.body.scrollWidth]"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    path = find()
    if path is None:
        pytest.skip("there is no chromium or google-chrome: apt-get install chromium")
    with browser(path, tmp_path_factory.mktemp("browser")) as running:
        yield running


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("kind", KINDS)
def test_the_page_in_a_browser(
    reports: dict[str, Path], chromium: Browser, kind: str, width: int, tmp_path: Path
) -> None:
    copy = tmp_path / "page.html"
    copy.write_text((reports[kind] / "html").read_text())
    page = chromium.page()
    page.open(copy.as_uri(), width)
    page.value(READY)
    drawn = dict(page.value(DRAWN))
    assert drawn.keys() == {"over-time", "delay-over-time", "offenders", "queues", "delays"}
    assert all(drawn.values()), drawn
    # A body that is wider than the screen makes a phone's window wider, too.
    window, *widths = page.value(WIDTHS)
    assert window == width
    assert max(widths) <= width
    places = page.value(PLACES)
    assert all(x >= 0 and x + wide <= width for x, _, wide, _ in places)
    seen = page.seen()
    assert seen.complaints == []
    assert seen.asked == [copy.as_uri()]
    # The page itself may load no picture, not even this one.
    beside = chromium.page()
    beside.open("about:blank", width)
    painted = beside.value(PAINTED % (page.screenshot(), json.dumps(places)))
    # Of curves of a few snapshots within a second or two there is little.
    assert all(count > 150 for count in painted), painted
    backlog, delay, cell = page.value(TOLD)
    assert re.fullmatch(r"[-\d]+ [:\d]+\nReaders: 46", backlog)
    assert re.fullmatch(r"[-\d]+ [:\d]+\nReaders: [.\dmhs]+", delay)
    assert re.fullmatch(r"Readers / Lagging\nqueue broker-a/0\n16 messages, [.\dmhs]+", cell)


def test_a_page_that_asks_somebody_is_noticed(
    reports: dict[str, Path], chromium: Browser, tmp_path: Path
) -> None:
    text = (reports["trimq"] / "html").read_text()
    page = tmp_path / "page.html"
    page.write_text(text.replace("</h1>", '</h1><img src="http://127.0.0.1:9/picture.png">'))
    (complaint,) = chromium.page().open(page.as_uri(), 1200).complaints
    assert "Content Security Policy" in complaint
    page.write_text(text.replace("</h1>", '</h1><div style="width: 600px">wide</div>'))
    wide = chromium.page()
    wide.open(page.as_uri(), 390)
    assert wide.value(WIDTHS)[1] > 390
