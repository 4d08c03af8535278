"""Compressed bodies and the client's own batches: the real server and TriMQ must agree, and our tools read them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from compat_tests.mqadmin.tools import OfficialTool, OurTool
from compat_tests.scenarios.batches import Batch, Case
from compat_tests.scenarios.stage import REAL, Stage
from compat_tests.scenarios.subject_drivers import JavaSubject
from compat_tests.servers import artifacts
from compat_tests.servers.ours import TrimqServer
from trimq.admin.blocking import BlockingAdminClient
from trimq.codec.records.addresses import pack_host
from trimq.codec.records.message_id import offset_message_id

CLIENT: Final = JavaSubject(artifacts.CLIENT_5, subject="bodies")
BODIES: Final = Batch("bodies")
COMPRESSED: Final = ("bodies_plain", "bodies_batch", "bodies_inner_batch")
AUTOMATIC: Final = (
    "bodies_auto_batch",
    "bodies_auto_inner_batch",
    "bodies_auto_batch_callbacks",
)
CASES: Final = [Case(CLIENT, BODIES, scenario) for scenario in COMPRESSED + AUTOMATIC]
# What the driver has put into the compressed ones.
TEXTS: Final = {
    (f"{kind}-{number} " * 1000).strip() for kind in ("LZ4", "ZSTD", "ZLIB") for number in range(2)
}
_TOLD: Final = "BODIES "


@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_outcome(stage: Stage, case: Case) -> None:
    stage.check(case)


@pytest.fixture
def topics(stage: Stage) -> list[tuple[TrimqServer, str]]:
    """Each server of ours, with its topics of compressed bodies."""
    stage.check(CASES[0])
    group = stage.group(BODIES.servers)
    found = []
    for side, topic in _told(stage):
        if side != REAL and any(f"_{name}_" in topic for name in COMPRESSED):
            server = group.ours[side]
            assert isinstance(server, TrimqServer)
            found.append((server, topic))
    assert found
    return found


def _told(stage: Stage) -> Iterator[tuple[str, str]]:
    for log in stage.logs(CASES[0]):
        side = log.parts[-3].rpartition("-")[2]
        for line in log.read_text(errors="replace").splitlines():
            if line.startswith(_TOLD):
                yield side, line.removeprefix(_TOLD)


def test_mqadmin_reads_them(topics: list[tuple[TrimqServer, str]], tmp_path: Path) -> None:
    official, ours = OfficialTool(tmp_path), OurTool(tmp_path)
    try:
        for server, topic in topics:
            with BlockingAdminClient(server.namesrv_addr) as admin:
                message = admin.pull(admin.place_of(topic, "broker-a", 0), 0).messages[0]
            # Of an inner batch it is that of the record.
            record = offset_message_id(pack_host(message.store_host), message.physical_offset)
            for words in (
                ["printMsg", "-t", topic, "-d", "true"],
                ["queryMsgById", "-t", topic, "-i", record],
                ["queryMsgByOffset", "-t", topic, "-b", "broker-a", "-i", "0", "-o", "0"],
            ):
                printed = ours.run(server.namesrv_addr, words)
                assert printed.code == 0, printed.err
                assert printed.out == official.run(server.namesrv_addr, words).out
                if words[0] == "printMsg":
                    assert missing_in(printed.out) == set(), topic
    finally:
        official.close()
        ours.close()


def test_inspect_reads_them(topics: list[tuple[TrimqServer, str]]) -> None:
    for server, topic in topics:
        command = [sys.executable, "-m", "trimq", "inspect", str(server.store / "commitlog")]
        command += ["--topic", topic, "--body", "text", "--limit", "0"]
        environment = {**os.environ, "PYTHONPATH": str(artifacts.ROOT), "PYTHONSAFEPATH": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        assert missing_in(done.stdout) == set(), topic


def test_spark_reads_them(topics: list[tuple[TrimqServer, str]]) -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    from compat_tests.spark.stages.stage import spark_session

    with spark_session() as session:
        for server, topic in topics:
            options = {"namesrv": server.namesrv_addr, "topic": topic}
            rows = session.read.format("rocketmq").options(**options).load().collect()
            assert {bytes(row.body).decode().strip() for row in rows} >= TEXTS, topic


def missing_in(printed: str) -> set[str]:
    return {text for text in TEXTS if text not in printed}
