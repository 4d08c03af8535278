"""Store directories of both brokers in Spark, while they run; and the jobs of docs/spark.md."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from struct import Struct
from typing import Any

import pytest

from compat_tests.servers.artifacts import ROOT
from compat_tests.servers.jvm import Launcher
from compat_tests.spark.stages.stage import (
    COMMIT_LOG_FILE,
    CONFIG,
    QUEUES,
    Side,
    sides,
    spark_session,
)
from tests.patience import until
from tests.requests import send_header_v2
from trimq.admin import BlockingAdminClient, NewMessage
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.send import (
    ConsumerSendMsgBackRequestHeader,
)
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.remoting.clients.blocking import BlockingClient

pytest.importorskip(
    "pyspark", reason="pyspark is not installed: pip install '/path/to/trimq[spark]'"
)

KINDS = ("real", "trimq")
MESSAGES = 240
# Place, size and code of the tag of a record.
ENTRY = Struct(">qiq")
PAGE = ROOT / "docs" / "spark.md"


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
            send_batches(side, "Batches", 10)
            side.settle("Orders", MESSAGES)
            side.settle("Large", 12)
            side.settle("Batches", 30)
        yield both


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with spark_session() as session:
        yield session


def send_batches(side: Side, topic: str, count: int) -> None:
    """Records of three messages each, which a topic with queue.type=BatchCQ keeps in one piece."""
    with side.admin() as admin:
        config = TopicConfig(
            topic_name=topic,
            read_queue_nums=1,
            write_queue_nums=1,
            attributes={"+queue.type": "BatchCQ"},
        )
        admin.put_topic(side.server.broker_addr, topic=config)
    with BlockingClient(side.server.broker_addr) as client:
        for number in range(count):
            header = send_header_v2(
                topic,
                default_topic_queue_nums=1,
                born_timestamp=number,
                properties=f"UNIQ_KEY\x01B{number}\x02KEYS\x01b{number}\x02",
                reconsume_times=0,
                unit_mode=False,
                batch=True,
            )
            body = join_batch([BatchItem(0, b"%d of %d" % (at, number), b"") for at in range(3)])
            answer = client.request(RequestCode.SEND_BATCH_MESSAGE, header, body)
            assert answer.code == ResponseCode.SUCCESS, answer.remark


def store(spark: Any, side: Side, **options: object) -> Any:
    texts = {key: str(value) for key, value in options.items()}
    return store_at(spark, side.store, **texts)


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


def as_closed(side: Side, folder: Path) -> Path:
    """The files of a broker that has nothing to do, as they would be after it was closed in order."""
    for name in ("commitlog", "consumequeue", "batchconsumequeue", "config", "checkpoint"):
        subprocess.run(["cp", "-r", "--sparse=always", side.store / name, folder], check=True)
    return folder


def parts(root: Path, **options: str) -> set[str]:
    """The kinds of shares in which a store would be read."""
    from trimq.spark.store.options import store_options
    from trimq.spark.store.plan import plan

    return {type(one).__name__ for one in plan(store_options({"path": str(root), **options}))}


def same_either_way(spark: Any, root: Path, topic: str, **more: str) -> list[Any]:
    """The topic's rows, through its queues and straight through the log."""
    found = [
        sorted(store_at(spark, root, topic=topic, useConsumeQueue=way, **more).collect())
        for way in ("true", "false")
    ]
    assert found[0] == found[1]
    return found[0]


COLUMNS = {"columns": "commitLogOffset,topic,queueId,queueOffset,body,keys,tags,storeTimestamp"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_topic_is_read_through_its_queues(
    spark: Any, servers: dict[str, Side], kind: str, tmp_path: Path
) -> None:
    side = servers[kind]
    side.send("Orders", range(MESSAGES, MESSAGES + 4))
    side.settle("Orders", MESSAGES + 4)
    # Under a running broker too, whatever its checkpoint says.
    assert len(same_either_way(spark, side.store, "Orders", **COLUMNS)) == MESSAGES + 4
    # A broker that is closed in order has written them all.
    until(lambda: entries(side.store, "Orders") == MESSAGES + 4)
    root = as_closed(side, tmp_path)
    for topic, count in (("Orders", MESSAGES + 4), ("Large", 12), ("Batches", 30)):
        assert parts(root, topic=topic, useConsumeQueue="true") == {"QueuePart"}
        assert len(same_either_way(spark, root, topic, **COLUMNS)) == count
    # Without being told: few large ones through the queue, many small ones through the log.
    assert parts(root, topic="Large") == {"QueuePart"}
    assert parts(root, topic="Orders") == {"LogPart"}
    assert parts(root, topic="Batches") == {"QueuePart"}
    # Queues that name more than there is.
    files = sorted((root / "commitlog").iterdir())
    files[0].unlink()
    left = same_either_way(spark, root, "Orders", **COLUMNS)
    assert 0 < len(left) < MESSAGES + 4
    # And less: a broker that was killed when it had written this much of its checkpoint.
    middle = left[len(left) // 2].commitLogOffset
    data = bytearray((root / "checkpoint").read_bytes())
    data[40:48] = middle.to_bytes(8, "big")
    (root / "checkpoint").write_bytes(data)
    (root / "abort").touch()
    cut_queues(root, "Orders", middle)
    assert parts(root, topic="Orders", useConsumeQueue="true") == {"QueuePart", "LogPart"}
    assert same_either_way(spark, root, "Orders", **COLUMNS) == left


def entries(root: Path, topic: str) -> int:
    """How many the files of its consume queues have."""
    files = (root / "consumequeue" / topic).glob("*/*")
    return sum(size > 0 for path in files for _, size, _ in ENTRY.iter_unpack(path.read_bytes()))


def cut_queues(root: Path, topic: str, place: int) -> None:
    """Take the entries of records behind the place, the last one that was named."""
    for path in (root / "consumequeue" / topic).glob("*/*"):
        data = bytearray(path.read_bytes())
        for at in range(0, len(data), 20):
            if int.from_bytes(data[at : at + 8], "big") > place:
                data[at : at + 20] = bytes(20)
        path.write_bytes(data)


def test_several_stores_and_logs_in_several_folders(
    spark: Any, servers: dict[str, Side], tmp_path: Path
) -> None:
    roots = {}
    for kind, side in servers.items():
        roots[kind] = tmp_path / f"store-{kind}"
        roots[kind].mkdir()
        as_closed(side, roots[kind])
    alone = {kind: store_at(spark, root).count() for kind, root in roots.items()}
    reader = spark.read.format("rocketmq-store").option("brokerName", "real,trimq")
    listed = reader.load([str(roots[kind]) for kind in KINDS])
    assert dict(listed.groupBy("brokerName").count().collect()) == alone
    assert dict(reader.load(f"{tmp_path}/store-*").groupBy("brokerName").count().collect()) == alone
    for root in roots.values():
        before = same_either_way(spark, root, "Large", **COLUMNS)
        other = root / "disk2"
        other.mkdir()
        for path in sorted((root / "commitlog").iterdir())[::2]:
            shutil.move(path, other)
        folders = {"storePathCommitLog": f"{root}/commitlog,{other}", **COLUMNS}
        assert same_either_way(spark, root, "Large", **folders) == before


def test_another_file_system(spark: Any, servers: dict[str, Side], tmp_path: Path) -> None:
    pytest.importorskip("fsspec", reason="fsspec is not installed: pip install fsspec")
    for side in servers.values():
        root = tmp_path / "store"
        root.mkdir()
        as_closed(side, root)
        # An archive stands for the systems that need a server: its files are reached in the same way.
        archive = shutil.make_archive(f"{tmp_path}/packed", "zip", tmp_path, "store")
        far = {"storageOptions": json.dumps({"fo": archive})}
        rows = store_at(spark, root, topic="Orders", **COLUMNS).collect()
        found = store_at(spark, "zip://store", topic="Orders", **far, **COLUMNS)
        assert sorted(found.collect()) == sorted(rows)
        shutil.rmtree(root)


@pytest.mark.parametrize("kind", KINDS)
def test_files_that_are_written_meanwhile(spark: Any, servers: dict[str, Side], kind: str) -> None:
    """Every read has all that was sent before it began, and nothing in part."""
    side = servers[kind]
    side.create("Busy", 1)
    side.send("Busy", range(20), queues=1, size=50_000)
    counts = []
    done = threading.Event()

    def write() -> None:
        try:
            for number in range(20, 200):
                side.send("Busy", range(number, number + 1), queues=1, size=50_000)
        finally:
            done.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while not done.is_set() or len(counts) < 3:
            rows = store(spark, side, topic="Busy", columns="queueOffset,body").collect()
            counts.append(len(rows))
            for number, row in enumerate(sorted(rows)):
                body = b"body %d " % number + b"x" * 50_000
                assert (row.queueOffset, bytes(row.body)) == (number, body)
    finally:
        writer.join()
    assert counts == sorted(counts)
    assert counts[0] >= 20
    assert store(spark, side, topic="Busy", columns="topic").count() == 200


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_brokers_store(
    spark: Any, servers: dict[str, Side], kind: str, tmp_path: Path
) -> None:
    side = servers[kind]
    before = numbers(spark, side.store)
    torn = tmp_path / "store"
    side.server.kill()
    try:
        assert numbers(spark, side.store) == before
        shutil.copytree(side.store, torn)
    finally:
        side.server.start()
    side.settle("Orders", len(before))
    assert numbers(spark, side.store) == before
    # As if less had been flushed, and the last message of all only in part.
    (torn / "checkpoint").unlink()
    rows = store_at(spark, torn, columns="topic,properties,commitLogOffset").collect()
    last = max((row for row in rows if row.topic == "Orders"), key=lambda row: row.commitLogOffset)
    base = last.commitLogOffset - last.commitLogOffset % COMMIT_LOG_FILE
    with (torn / "commitlog" / f"{base:020d}").open("r+b") as file:
        file.seek(last.commitLogOffset - base + 100)
        file.write(bytes(COMMIT_LOG_FILE - file.tell()))
    assert (torn / "abort").exists()
    left = [number for number in before if number != int(last.properties["number"])]
    assert numbers(spark, torn) == left


def store_at(spark: Any, folder: Path | str, **options: str) -> Any:
    return spark.read.format("rocketmq-store").options(**options).load(str(folder))


def numbers(spark: Any, folder: Path) -> list[int]:
    """Of the messages of `Orders`."""
    rows = store_at(spark, folder, topic="Orders", columns="properties").collect()
    return sorted(int(row.properties["number"]) for row in rows)


def jobs() -> dict[str, str]:
    blocks = re.findall(r"^```python\n# job: (.*?)\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    return dict(blocks)


def test_the_page_has_jobs() -> None:
    assert set(jobs()) == {"first look", "lag dashboard", "replay", "dead letters"}


def run(job: str, side: Side, replaced: dict[str, str] | None = None) -> None:
    """The job as it stands on the page, but for addresses and times, in this process's session."""
    text = jobs()[job]
    for old, new in {"127.0.0.1:9876": side.namesrv, **(replaced or {})}.items():
        assert old in text
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
        "PYTHONPATH": str(ROOT),
        # A job in a virtual environment must not depend on what `python3` is on the PATH.
        "PATH": "/usr/bin:/bin",
    }
    done = subprocess.run(
        [sys.executable, "job.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "|queueId|tags|count|" in done.stdout
    # Other tests may have sent more of them meanwhile.
    assert re.search(r"\|      0\|   A\|   2\d\|", done.stdout), done.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_lag_is_shown(
    spark: Any,
    servers: dict[str, Side],
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    side = servers[kind]
    with side.admin() as admin:
        group = SubscriptionGroupConfig(group_name="readers")
        admin.put_group(side.server.broker_addr, group)
        for queue_id in range(QUEUES):
            queue = MessageQueue(broker_name="broker-a", queue_id=queue_id, topic="Orders")
            admin.commit_offset(side.server.broker_addr, "readers", queue, 50 + queue_id)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    # Spark's working folder is that of its JVM.
    run("lag dashboard", side, {'parquet("offsets")': f'parquet("{tmp_path}/offsets")'})
    with side.admin() as admin:
        ends = sum(one.max_offset for one in admin.topic_stats("Orders").offsets.values())
    behind = ends - sum(50 + queue_id for queue_id in range(QUEUES))
    assert behind >= 34
    assert re.search(rf"\|readers *\|Orders *\|{behind} *\|[1-9]", capfd.readouterr().out)
    page = (tmp_path / "lag.html").read_text()
    assert "readers" in page
    assert "Orders" in page


@pytest.mark.parametrize("kind", KINDS)
def test_a_time_window_is_replayed(spark: Any, servers: dict[str, Side], kind: str) -> None:
    side = servers[kind]
    rows = store(spark, side, topic="Orders").orderBy("storeTimestamp").collect()
    low, high = (rows[at].storeTimestamp for at in (30, 60))
    times = {
        "2026-01-31T12:00:00Z": low.astimezone(UTC).isoformat(),
        "2026-01-31T13:00:00Z": high.astimezone(UTC).isoformat(),
    }
    run("replay", side, times)
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
    # Spark's working folder is that of its JVM.
    run("dead letters", side, {'json("dead-letters")': f'json("{tmp_path}/dead-letters")'})
    assert re.search(r"\|billing\s*\|Orders\s*\|5 ", capsys.readouterr().out)
    (row,) = spark.read.json(str(tmp_path / "dead-letters")).collect()
    assert (row.group, row.origin, row.messages, len(row["some keys"])) == (
        "billing",
        "Orders",
        5,
        5,
    )
