"""Brokers that are killed or freeze under reads, streams and writes: rows = what was planned, and none is lost."""

from __future__ import annotations

import itertools
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from compat_tests.servers.jvm import Launcher
from compat_tests.spark.stages.stage import at_leisure, is_haste, spark_session
from compat_tests.spark.stages.stand import Stand, stands
from tests.patience import until
from trimq.spark.versions import has_streams

pyspark = pytest.importorskip(
    "pyspark", reason="pyspark is not installed: pip install '/path/to/trimq[spark]'"
)
streams = pytest.mark.skipif(
    not has_streams(pyspark.__version__), reason="this Spark has no streams for us"
)

# Rows of a write.
ROWS = 400
# Seconds that a killed broker stays away, at most; how long one is waited for, in milliseconds.
AWAY = 3.0
PATIENCE = "180000"


@pytest.fixture(scope="module")
def servers(
    launch: Launcher, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Stand]]:
    folder = tmp_path_factory.mktemp("spark-kills")
    with stands(launch, folder, autoCreateTopicEnable="false") as both:
        yield both


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    # Tasks that wait for a broker keep their place.
    with spark_session("local[12,4]") as session:
        yield session


def write(spark: Any, stand: Stand, topic: str, numbers: range, **options: str) -> None:
    # Makes the session this thread's own: else Spark (4.3.0) does not know the format when it writes.
    spark.createDataFrame([], "body string")
    spark.range(numbers.start, numbers.stop, 1, 2).selectExpr(
        "concat('body ', id) as body", "concat('k', id) as keys"
    ).write.format("rocketmq").options(
        **{"namesrv": stand.namesrv, "topic": topic, "batchSize": "20", "outageTimeoutMs": PATIENCE}
        | options
    ).mode("append").save()


def read(spark: Any, stand: Stand, topic: str, **options: str) -> list[Any]:
    rows: list[Any] = (
        spark.read.format("rocketmq")
        .options(
            namesrv=stand.namesrv,
            topic=topic,
            columns="queueId,queueOffset,body",
            outageTimeoutMs=PATIENCE,
            **options,
        )
        .load()
        .collect()
    )
    return rows


def numbers(rows: list[Any]) -> Counter[int]:
    return Counter(int(bytes(row.body).split()[1]) for row in rows)


def check_no_hole(rows: list[Any]) -> None:
    """Each queue from its beginning on, each message once."""
    offsets: dict[int, list[int]] = {}
    for row in rows:
        offsets.setdefault(row.queueId, []).append(row.queueOffset)
    for found in offsets.values():
        assert sorted(found) == list(range(len(found)))


def beside(*jobs: Callable[[], object]) -> None:
    """All at once; the errors of all, because one that fails may take the others along."""
    with ThreadPoolExecutor(len(jobs)) as pool:
        running = [pool.submit(job) for job in jobs]
    errors = [error for one in running if (error := one.exception()) is not None]
    if errors:
        raise BaseExceptionGroup("on one server or both", errors)


def on_both(servers: dict[str, Stand], job: Callable[[Stand], object]) -> None:
    beside(*(lambda stand=stand: job(stand) for stand in servers.values()))


def test_a_write_waits_for_a_broker_that_is_away(spark: Any, servers: dict[str, Stand]) -> None:
    def job(stand: Stand) -> None:
        stand.side.create("Away")
        with ThreadPoolExecutor(1) as pool:
            with stand.away():
                with pytest.raises(
                    Exception, match=r"no broker is registered with .*, all are aw"
                ) as e:
                    write(spark, stand, "Away", range(10), outageTimeoutMs="1000")
                # Whole seconds, rounded: on a busy machine it may be a second more.
                assert re.search(r"waited [1-9] s \(option outageTimeoutMs\)", str(e.value))
                assert "does not exist" not in str(e.value)
                writing = pool.submit(write, spark, stand, "Away", range(ROWS))
                time.sleep(2)
                assert not writing.done()
            writing.result()
        # Nothing was under way, so nothing is there twice.
        assert stand.settled("Away") == ROWS
        assert numbers(read(spark, stand, "Away")) == Counter(range(ROWS))

    on_both(servers, job)


def test_a_frozen_broker_gets_nothing_twice(spark: Any, servers: dict[str, Stand]) -> None:
    def job(stand: Stand) -> None:
        stand.side.create("Frozen")
        write(spark, stand, "Frozen", range(20))
        with ThreadPoolExecutor(2) as pool:
            with stand.frozen():
                writing = pool.submit(
                    write, spark, stand, "Frozen", range(20, 20 + ROWS), timeoutMs="1000"
                )
                reading = pool.submit(read, spark, stand, "Frozen", timeoutMs="1000")
                time.sleep(6)
                assert not writing.done()
                assert not reading.done()
            writing.result()
            assert set(range(20)) <= set(numbers(reading.result()))
        assert stand.settled("Frozen") == 20 + ROWS
        rows = read(spark, stand, "Frozen")
        check_no_hole(rows)
        assert numbers(rows) == Counter(range(20 + ROWS))

    on_both(servers, job)


class Jobs:
    """Writes, reads and streams of one topic that go on while its broker is killed."""

    def __init__(self, spark: Any, stand: Stand, folder: Path) -> None:
        self._spark = spark
        self._stand = stand
        self._folder = folder
        self._end = threading.Event()
        self._written = 0
        # Rows by batch: one that is done again after a restart takes the place of the first.
        self._streamed: dict[str, dict[int, list[Any]]] = {"true": {}, "false": {}}
        self.done = Counter[str]()
        self.topic = "Killed"

    def start(self, pool: ThreadPoolExecutor) -> list[Future[None]]:
        self._stand.side.create(self.topic)
        at_leisure(lambda: write(self._spark, self._stand, self.topic, range(ROWS)))
        self._written = ROWS
        self._queries = {fail: self._stream(fail) for fail in self._streamed}
        return [pool.submit(self._write), pool.submit(self._read)]

    def end(self) -> None:
        self._end.set()

    def _write(self) -> None:
        while not self._end.is_set():
            rows = range(self._written, self._written + ROWS)
            at_leisure(lambda rows=rows: write(self._spark, self._stand, self.topic, rows))
            self._written = rows.stop
            self.done["writes"] += 1

    def _read(self) -> None:
        for fail in itertools.cycle(self._streamed):
            if self._end.is_set():
                return
            stored = self._written
            rows = at_leisure(
                lambda fail=fail: read(self._spark, self._stand, self.topic, failOnDataLoss=fail)
            )
            check_no_hole(rows)
            # All that was there before the read was planned.
            assert set(range(stored)) <= set(numbers(rows))
            self.done[f"reads, failOnDataLoss={fail}"] += 1

    def _stream(self, fail: str) -> Any:
        from trimq.spark import RocketMQDataSource

        # Queries that share a registration share a map of Spark's that is not made for it.
        self._spark.dataSource.register(RocketMQDataSource)
        seen = self._streamed[fail]

        def take(frame: Any, batch: int) -> None:
            seen[batch] = frame.collect()
            if seen[batch]:
                self.done[f"batches, failOnDataLoss={fail}"] += 1

        return (
            self._spark.readStream.format("rocketmq")
            .options(
                namesrv=self._stand.namesrv,
                topic=self.topic,
                columns="queueId,queueOffset,body",
                startingOffsets="earliest",
                maxOffsetsPerTrigger="300",
                outageTimeoutMs=PATIENCE,
                failOnDataLoss=fail,
            )
            .load()
            .writeStream.foreachBatch(take)
            .option("checkpointLocation", str(self._folder / f"{self._stand.kind}-{fail}"))
            .trigger(processingTime="1 second")
            .start()
        )

    def check(self) -> None:
        """What was written is there, and both streams have all of it, once."""
        stored = self._stand.settled(self.topic)
        rows = at_leisure(lambda: read(self._spark, self._stand, self.topic))
        check_no_hole(rows)
        assert len(rows) == stored
        found = numbers(rows)
        assert found.keys() == set(range(self._written))
        self.done["rows"], self.done["twice"] = len(found), len(rows) - len(found)
        for fail, seen in self._streamed.items():
            # How far it is behind grows with the kills, and it reads 300 rows a second: it has to get on.
            while (had := len(_all(seen))) < stored:
                until(
                    lambda seen=seen, had=had: self._go_on() and len(_all(seen)) > had,
                    lambda had=had: f"{had} of {stored} rows; {self.state(Counter())}",
                    240,
                )
            self._queries[fail].stop()
            check_no_hole(_all(seen))
            assert numbers(_all(seen)) == found

    def _go_on(self) -> bool:
        """Start a query again that Spark was too hasty for; the error of any other that has ended."""
        for fail, query in list(self._queries.items()):
            error = query.exception()
            if error is not None:
                if not is_haste(error):
                    raise error
                self._queries[fail] = self._stream(fail)
        return True

    def state(self, before: Counter[str]) -> str:
        """What has got on since, and what the queries say of themselves."""
        queries = {fail: str(query.status) for fail, query in self._queries.items()}
        return f"{self._stand.kind}: {dict(self.done)}, before: {dict(before)}, queries: {queries}"

    def moved(self, before: Counter[str], running: list[Future[None]]) -> bool:
        """Whether each of the five kinds of jobs has got on since."""
        for one in running:
            if one.done():
                one.result()
        self._go_on()
        return len(self.done) == 5 and all(self.done[kind] > before[kind] for kind in self.done)


def _all(batches: dict[int, list[Any]]) -> list[Any]:
    return [row for rows in list(batches.values()) for row in rows]


def killed(spark: Any, stand: Stand, folder: Path, source: random.Random, kills: int) -> None:
    """Kill the broker so often, each time when every kind of job has got on since."""
    jobs = Jobs(spark, stand, folder)
    with ThreadPoolExecutor(2) as pool:
        running = jobs.start(pool)
        try:
            for _ in range(kills):
                before = jobs.done.copy()
                time.sleep(source.uniform(0, 2))
                stand.kill()
                time.sleep(source.uniform(0, AWAY))
                stand.start()
                until(
                    lambda before=before: jobs.moved(before, running),
                    lambda before=before: str(jobs.state(before)),
                    240,
                )
        except BaseException:
            # Nothing waits for a broker that does not come back.
            jobs.end()
            spark.sparkContext.cancelAllJobs()
            raise
        jobs.end()
        for one in running:
            one.result()
    jobs.check()
    print(stand.kind, dict(jobs.done))


@streams
def test_brokers_killed_at_random(
    spark: Any, servers: dict[str, Stand], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    seed = random.randrange(1 << 30)
    kills = request.config.getoption("--broker-kills")
    print("seed", seed, "kills", kills)

    def job(stand: Stand) -> None:
        killed(spark, stand, tmp_path, random.Random(f"{seed} {stand.kind}"), kills)

    on_both(servers, job)
