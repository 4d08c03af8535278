"""A write, a read and a stream on two brokers of one cluster, and with TLS and access keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from compat_tests.scenarios.stage import make_tls
from compat_tests.servers.jvm import IDLE, Launcher
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.real import RealBroker, RealNameServer, RealServer
from compat_tests.servers.server import Options
from compat_tests.spark.stages.stage import at_leisure, spark_session
from tests.patience import until
from trimq.admin import BlockingAdminClient
from trimq.admin.errors import NotFound
from trimq.codec.bodies.topics import TopicConfig
from trimq.spark.versions import has_streams

pyspark = pytest.importorskip(
    "pyspark", reason="pyspark is not installed: pip install '/path/to/trimq[spark]'"
)

KINDS = ("real", "trimq")
ROWS = 200
HEAP = ["-Xms256m", "-Xmx256m", "-XX:MaxDirectMemorySize=256m", *IDLE]
SECOND = Options({"brokerName": "broker-b"})
KEYS = {"accessKey": "rocketmq", "secretKey": "12345678"}
_PROVIDERS = "org.apache.rocketmq.auth.authentication.provider"
# TriMQ has no access control yet, and passes signatures over.
ASKS_FOR_KEYS = {
    "authenticationEnabled": "true",
    "authenticationProvider": f"{_PROVIDERS}.DefaultAuthenticationProvider",
    "authenticationMetadataProvider": f"{_PROVIDERS}.LocalAuthenticationMetadataProvider",
    "initAuthenticationUser": '{"username":"rocketmq","password":"12345678"}',
    "innerClientAuthenticationCredentials": '{"accessKey":"rocketmq","secretKey":"12345678"}',
}


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with spark_session("local[4,4]") as session:
        yield session


def write(spark: Any, numbers: range, **options: str) -> None:
    # Makes the session this thread's own: else Spark (4.3.0) does not know the format when it writes.
    spark.createDataFrame([], "body string")
    spark.range(numbers.start, numbers.stop, 1, 2).selectExpr(
        "concat('body ', id) as body"
    ).write.format("rocketmq").options(topic="Both", batchSize="10", **options).mode(
        "append"
    ).save()


def read(spark: Any, **options: str) -> list[Any]:
    rows: list[Any] = (
        spark.read.format("rocketmq").options(topic="Both", **options).load().collect()
    )
    return rows


def streamed(spark: Any, folder: Path, **options: str) -> list[Any]:
    """What a query sees that ends by itself."""
    seen: dict[int, list[Any]] = {}

    def take(frame: Any, batch: int) -> None:
        seen[batch] = frame.collect()

    def run() -> None:
        query = (
            spark.readStream.format("rocketmq")
            .options(topic="Both", startingOffsets="earliest", maxOffsetsPerTrigger="70", **options)
            .load()
            .writeStream.foreachBatch(take)
            .option("checkpointLocation", str(folder))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(240)

    at_leisure(run)
    return [row for rows in seen.values() for row in rows]


def check(spark: Any, folder: Path, brokers: set[str], **options: str) -> None:
    """A read and a stream find each row that was written, once."""
    expected = sorted(f"body {number}" for number in range(ROWS))
    found = [at_leisure(lambda: read(spark, **options))]
    if has_streams(pyspark.__version__):
        found.append(streamed(spark, folder, **options))
    for rows in found:
        assert sorted({bytes(row.body).decode() for row in rows}) == expected
        places = [(row.brokerName, row.queueId, row.queueOffset) for row in rows]
        assert len(set(places)) == len(places)
        assert {row.brokerName for row in rows} == brokers


@contextmanager
def real_pair(launch: Launcher, home: Path) -> Iterator[tuple[str, list[str], RealBroker]]:
    with ExitStack() as stack:
        namesrv = RealNameServer(launch, home / "namesrv")
        stack.callback(namesrv.kill)
        namesrv.start()
        pair = [
            RealBroker(launch, home / name, namesrv.addr, options, HEAP)
            for name, options in (("a", Options()), ("b", SECOND))
        ]
        for broker in pair:
            stack.callback(broker.kill)
            broker.start()
        yield namesrv.addr, [broker.addr for broker in pair], pair[1]


@contextmanager
def trimq_pair(home: Path) -> Iterator[tuple[str, list[str], TrimqServer]]:
    with ExitStack() as stack:
        first = TrimqServer(home / "a")
        stack.callback(first.kill)
        first.start()
        second = TrimqServer(home / "b", SECOND, namesrv=first.namesrv_addr)
        stack.callback(second.kill)
        second.start()
        yield first.namesrv_addr, [first.broker_addr, second.broker_addr], second


def _create(namesrv: str, brokers: list[str]) -> None:
    with BlockingAdminClient(namesrv) as admin:
        for addr in brokers:
            config = TopicConfig(topic_name="Both", read_queue_nums=2, write_queue_nums=2, perm=6)
            admin.put_topic(addr, topic=config)

        def there() -> bool:
            try:
                return len(admin.topic_route("Both").queue_datas) == len(brokers)
            except NotFound:
                return False

        until(there)


@pytest.mark.parametrize("kind", KINDS)
def test_one_of_two_brokers_is_killed_and_comes_back(
    spark: Any, launch: Launcher, tmp_path: Path, kind: str
) -> None:
    pair: Callable[..., Any] = real_pair if kind == "real" else trimq_pair
    arguments = (launch, tmp_path) if kind == "real" else (tmp_path,)
    with pair(*arguments) as (namesrv, brokers, second), ThreadPoolExecutor(2) as pool:
        _create(namesrv, brokers)
        options = {"namesrv": namesrv, "outageTimeoutMs": "120000"}
        write(spark, range(ROWS // 2), **options)
        # A broker that is away before a read is planned is waited for when its queues are named.
        named = {"Both": {name: {"0": 0, "1": 0} for name in ("broker-a", "broker-b")}}
        reading = pool.submit(read, spark, startingOffsets=json.dumps(named), **options)
        writing = pool.submit(write, spark, range(ROWS // 2, ROWS), **options)
        second.kill()
        second.start()
        writing.result()
        assert len(reading.result()) >= ROWS // 2
        check(spark, tmp_path / "checkpoint", {"broker-a", "broker-b"}, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_tls_and_access_keys(spark: Any, launch: Launcher, tmp_path: Path, kind: str) -> None:
    tls = make_tls(tmp_path / "tls")
    server: RealServer | TrimqServer
    if kind == "real":
        server = RealServer(launch, tmp_path / "server", Options(ASKS_FOR_KEYS, tls), HEAP)
    else:
        server = TrimqServer(tmp_path / "server", Options(tls=tls))
    server.start()
    try:
        options = {
            "namesrv": server.namesrv_addr,
            "tlsTrustCertPath": str(tls.authority),
            "tlsCertPath": str(tls.client),
            "tlsKeyPath": str(tls.client_key),
            "outageTimeoutMs": "60000",
        }
        if kind == "real":
            wrong = options | KEYS | {"secretKey": "87654321"}
            with pytest.raises(Exception, match="2 rows could not be sent and 0 were stored"):
                write(spark, range(2), **wrong)
        write(spark, range(ROWS), **options, **KEYS)
        check(spark, tmp_path / "checkpoint", {"broker-a"}, **options, **KEYS)
    finally:
        server.kill()
