"""Store directories of both brokers in Spark, while they run; and the jobs of docs/spark.md."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from codec.codes import RequestCode, ResponseCode
from codec.headers.send import ConsumerSendMsgBackRequestHeader
from compat_tests.artifacts import HERE
from compat_tests.real import Launcher
from compat_tests.spark_stage import COMMIT_LOG_FILE, CONFIG, Side, sides, spark_session
from remoting.blocking import BlockingClient
from trimq.admin import BlockingAdminClient, NewMessage

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'trimq[spark]'")

KINDS = ("real", "trimq")
MESSAGES = 240
PAGE = HERE.parent / "docs" / "spark.md"


@pytest.fixture(scope="module")
def servers(
    launch: Launcher, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Side]]:
    with sides(launch, tmp_path_factory.mktemp("spark-store")) as both:
        for side in both.values():
            side.create("Orders")
            side.create("Large", 1)
            side.send("Orders", range(MESSAGES // 2))
            with side.admin() as admin:
                for number in range(12):
                    body = b"%d" % number + bytes(COMMIT_LOG_FILE // 5)
                    admin.send(NewMessage(topic="Large", body=body), "broker-a", 0)
            side.send("Orders", range(MESSAGES // 2, MESSAGES))
            side.settle("Orders", MESSAGES)
            side.settle("Large", 12)
        yield both


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with spark_session() as session:
        yield session


def store(spark: Any, side: Side, **options: object) -> Any:
    texts = {key: str(value) for key, value in options.items()}
    return spark.read.format("rocketmq-store").options(**texts).load(str(side.store))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("split", [100_000, 1 << 26])
def test_files_hold_what_the_broker_gives(
    spark: Any, servers: dict[str, Side], kind: str, split: int
) -> None:
    side = servers[kind]
    for topic in ("Orders", "Large"):
        from_broker = (
            spark.read.format("rocketmq")
            .options(namesrv=side.namesrv, topic=topic)
            .load()
            .collect()
        )
        from_disk = store(spark, side, topic=topic, brokerName="broker-a", splitBytes=split)
        key = "queueId", "queueOffset"
        assert sorted(from_disk.collect(), key=lambda row: [row[k] for k in key]) == sorted(
            from_broker, key=lambda row: [row[k] for k in key]
        )


@pytest.mark.parametrize("kind", KINDS)
def test_conditions_reach_the_files(spark: Any, servers: dict[str, Side], kind: str) -> None:
    side = servers[kind]
    whole = store(spark, side)
    rows = whole.where("topic = 'Orders'").orderBy("storeTimestamp").collect()
    assert len(rows) == MESSAGES
    low = rows[200].storeTimestamp.astimezone(UTC)
    late = whole.where(f"topic = 'Orders' and storeTimestamp >= '{low.isoformat()}'")
    expected = [row for row in rows if row.storeTimestamp >= rows[200].storeTimestamp]
    assert late.count() == len(expected)
    given = store(spark, side, topic="Orders", startTimestamp=low.isoformat())
    assert given.count() == len(expected)
    assert whole.where("topic in ('Large', 'Nope')").count() == 12
    assert whole.where("topic = 'Nope'").count() == 0


@pytest.mark.parametrize("kind", KINDS)
def test_queues_and_index(spark: Any, servers: dict[str, Side], kind: str) -> None:
    side = servers[kind]
    messages = store(spark, side, topic="Orders", columns="queueId,queueOffset,commitLogOffset")
    entries = store(spark, side, table="consumequeue", topic="Orders")
    same = ["queueId", "queueOffset", "commitLogOffset"]
    assert sorted(entries.select(same).collect()) == sorted(messages.select(same).collect())
    places = {row.commitLogOffset for row in messages.collect()}
    indexed = {row.commitLogOffset for row in store(spark, side, table="index").collect()}
    # What was written last may not have reached the file: a running broker writes it behind.
    assert len(indexed & places) > MESSAGES // 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_brokers_store(spark: Any, servers: dict[str, Side], kind: str) -> None:
    side = servers[kind]
    before = store(spark, side, topic="Orders").count()
    side.server.kill9()
    side.settle("Orders", before)
    assert store(spark, side, topic="Orders").count() == before


def jobs() -> dict[str, str]:
    blocks = re.findall(r"^```python\n# job: (.*?)\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    return dict(blocks)


def test_the_page_has_jobs() -> None:
    assert set(jobs()) == {"first look", "replay", "dead letters"}


def run(job: str, side: Side, **replaced: str) -> None:
    """The job as it stands on the page, but for addresses and times, in this process's session."""
    text = jobs()[job].replace("127.0.0.1:9876", side.namesrv)
    for old, new in replaced.items():
        assert old in text or old.replace("_", "-") in text
        text = text.replace(old, new)
    exec(compile(text, job, "exec"), {})


def test_first_look_runs_in_a_process_of_its_own(servers: dict[str, Side], tmp_path: Path) -> None:
    text = jobs()["first look"].replace("127.0.0.1:9876", servers["trimq"].namesrv)
    (tmp_path / "job.py").write_text(text)
    options = " ".join(f"--conf {key}={value}" for key, value in CONFIG.items())
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("PYSPARK")},
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_SUBMIT_ARGS": f"{options} pyspark-shell",
        "PYTHONPATH": str(HERE.parent),
        # A job in a virtual environment must not depend on what `python3` is on the PATH.
        "PATH": "/usr/bin:/bin",
    }
    done = subprocess.run(
        [sys.executable, "job.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "|queueId|tags|count|" in done.stdout
    assert "|      0|   A|   20|" in done.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_a_time_window_is_replayed(spark: Any, servers: dict[str, Side], kind: str) -> None:
    side = servers[kind]
    rows = store(spark, side, topic="Orders").orderBy("storeTimestamp").collect()
    low, high = (rows[at].storeTimestamp for at in (30, 60))
    text = jobs()["replay"].replace("127.0.0.1:9876", side.namesrv)
    text = text.replace("2026-01-31T12:00:00Z", low.astimezone(UTC).isoformat())
    text = text.replace("2026-01-31T13:00:00Z", high.astimezone(UTC).isoformat())
    exec(compile(text, "replay", "exec"), {})
    expected = [row for row in rows if low <= row.storeTimestamp < high]
    side.settle("OrdersReplayed", len(expected))
    replayed = (
        spark.read.format("rocketmq").options(namesrv=side.namesrv, topic="OrdersReplayed").load()
    ).collect()
    same = ("body", "keys", "tags")
    assert sorted([row[name] for name in same] for row in replayed if row.tags) == sorted(
        [row[name] for name in same] for row in expected if row.tags
    )
    assert sorted(row.properties["number"] for row in replayed) == sorted(
        row.properties["number"] for row in expected
    )


@pytest.mark.parametrize("kind", KINDS)
def test_dead_letters_are_audited(
    spark: Any,
    servers: dict[str, Side],
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from codec.bodies.groups import SubscriptionGroupConfig

    side = servers[kind]
    rows = spark.read.format("rocketmq").options(namesrv=side.namesrv, topic="Orders").load()
    with BlockingAdminClient(side.namesrv) as admin:
        admin.put_group(side.server.broker_addr, SubscriptionGroupConfig(group_name="billing"))
    with BlockingClient(side.server.broker_addr) as client:
        for row in rows.limit(5).collect():
            header = ConsumerSendMsgBackRequestHeader(
                offset=row.commitLogOffset,
                group="billing",
                delay_level=-1,
                origin_msg_id=row.msgId,
                origin_topic="Orders",
                max_reconsume_times=16,
            )
            answer = client.request(RequestCode.CONSUMER_SEND_MSG_BACK, header)
            assert answer.code == ResponseCode.SUCCESS, answer.remark
    side.settle("%DLQ%billing", 5)
    monkeypatch.chdir(tmp_path)
    run("dead letters", side, **{'json("dead-letters")': f'json("{tmp_path}/dead-letters")'})
    assert re.search(r"\|billing\s*\|Orders\s*\|5 ", capsys.readouterr().out)
    (row,) = spark.read.json(str(tmp_path / "dead-letters")).collect()
    assert (row.group, row.origin, row.messages, len(row["some keys"])) == (
        "billing",
        "Orders",
        5,
        5,
    )
