"""Reading, writing and offsets over TLS, with a certificate of our own."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from trimq.admin import BlockingAdminClient, ClientTls
from trimq.codec.bodies.topics import TopicConfig
from trimq.spark.errors import SparkSourceError, WrongOption
from trimq.spark.offsets.command import report
from trimq.spark.offsets.snapshot import cluster
from trimq.spark.offsets.snapshot.cluster import ClusterSource
from trimq.spark.options.parsing import read_options, write_options
from trimq.spark.reading.batch import RocketMQBatchReader
from trimq.spark.writing.batch import send_all
from trimq.testing import TestServer, running_server


@pytest.fixture(scope="module")
def server(tls_files: Any) -> Iterator[TestServer]:
    with running_server(settings=tls_files.strict) as started:
        yield started


@pytest.fixture
def tls(tls_files: Any) -> ClientTls:
    return ClientTls(
        authorities=tls_files.authority, certificate=tls_files.client, key=tls_files.client_key
    )


@pytest.fixture
def options(server: TestServer, tls_files: Any) -> dict[str, str]:
    return {
        "namesrv": server.namesrv_addr,
        "topic": "T",
        "tlsTrustCertPath": tls_files.authority,
        "tlsCertPath": tls_files.client,
        "tlsKeyPath": tls_files.client_key,
    }


def test_written_read_and_reported(
    server: TestServer, tls: ClientTls, options: dict[str, str]
) -> None:
    with BlockingAdminClient(server.namesrv_addr, tls=tls.context()) as admin:
        admin.put_topic(
            server.broker_addr, TopicConfig(topic_name="T", read_queue_nums=2, write_queue_nums=2)
        )
    rows = pa.RecordBatch.from_pydict({"body": [b"1", b"2", b"3"]})
    send_all(iter([rows]), write_options(options))
    reader = RocketMQBatchReader(read_options({**options, "commitGroup": "G"}), ["body"])
    # As an executor gets it.
    reader = pickle.loads(pickle.dumps(reader))
    bodies = [
        row["body"]
        for part in reader.partitions()
        for batch in reader.read(part)
        for row in batch.to_pylist()
    ]
    assert sorted(bodies) == [b"1", b"2", b"3"]
    taken = cluster.snapshot(ClusterSource(name_servers=server.namesrv_addr, tls=tls))
    assert not taken.problems
    assert "T" in taken.table.column("topic").to_pylist()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"tls": "false", "tlsCertPath": "x"}, "option 'tls' is 'false', but"),
        ({"tls": "maybe"}, "neither 'true' nor 'false'"),
        ({"tlsCertPath": "x"}, "belong together"),
        ({"tlsTrustCertPath": "x"}, "cannot read x: No such file"),
        ({"tlsCaPath": "x"}, "there is no option 'tlsCaPath'; did you mean 'tls"),
    ],
)
def test_impossible_options(more: dict[str, str], sentence: str) -> None:
    with pytest.raises(WrongOption, match=sentence):
        read_options({"namesrv": "127.0.0.1:9876", "topic": "T", **more})


def test_files_that_an_executor_does_not_have_are_named(options: dict[str, str]) -> None:
    connection = read_options(options).connection
    assert connection.tls is not None
    missing = pickle.loads(pickle.dumps(connection))
    object.__setattr__(missing, "tls", ClientTls(authorities="/nowhere/ca.pem"))
    with pytest.raises(SparkSourceError, match=r"cannot read /nowhere/ca\.pem"):
        missing.client("127.0.0.1:1")


def test_tls_alone_takes_any_certificate() -> None:
    found = read_options({"namesrv": "127.0.0.1:9876", "topic": "T", "tls": "true"}).connection.tls
    assert found == ClientTls()
    assert read_options({"namesrv": "127.0.0.1:9876", "topic": "T"}).connection.tls is None


def test_the_report_says_which_file_is_wrong() -> None:
    words = ["--namesrv", "127.0.0.1:9876", "--tls-ca", "nowhere.pem"]
    done = CliRunner().invoke(report, words)
    assert done.exit_code == 2
    assert "cannot read nowhere.pem: No such file" in done.output
