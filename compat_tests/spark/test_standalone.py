"""On a Spark standalone cluster of a master and two workers: the offset reporter, and a topic that is read."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from compat_tests.servers.ours import TrimqServer
from compat_tests.spark.stages import foreign
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.locks import MessageQueue

pytest.importorskip(
    "pyspark", reason="pyspark is not installed: pip install '/path/to/trimq[spark]'"
)

from compat_tests.spark.stages.cluster import WORKERS, SparkCluster, spark_cluster
from compat_tests.spark.stages.stage import Side
from trimq.commands.cli import main
from trimq.spark.offsets.history.history import append
from trimq.spark.offsets.snapshot.cluster import ClusterSource, snapshot

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with spark_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def side(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Side]:
    server = TrimqServer(tmp_path_factory.mktemp("trimq"))
    server.start()
    try:
        made = Side(server, server.store)
        made.create("Orders")
        made.send("Orders", range(20))
        with made.admin() as admin:
            admin.put_group(server.broker_addr, SubscriptionGroupConfig(group_name="Readers"))
            queue = MessageQueue(broker_name="broker-a", queue_id=0, topic="Orders")
            admin.commit_offset(server.broker_addr, "Readers", queue, 2)
        yield made
    finally:
        server.stop()


@pytest.fixture(scope="module")
def documented() -> list[list[str]]:
    """The commands for a cluster in the documentation, as words."""
    text = (ROOT / "docs" / "offset-report.md").read_text()
    (block,) = re.findall(r"```sh\n(trimq spark package.*?)```", text, re.DOTALL)
    return [shlex.split(line) for line in block.replace("\\\n", "").splitlines()]


@pytest.fixture(scope="module")
def archive(documented: list[list[str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    (_, *words), _ = documented
    made = tmp_path_factory.mktemp("archive") / words.pop()
    done = CliRunner().invoke(main, [*words, str(made)])
    assert done.exit_code == 0, done.output
    return made


def test_the_report(
    cluster: SparkCluster, side: Side, archive: Path, documented: list[list[str]], tmp_path: Path
) -> None:
    words = documented[1]
    script = words.index("spark/offset_report.py")
    assert words[:script] == [
        *("spark-submit", "--master", "spark://HOST:7077", "--py-files", archive.name)
    ]
    given = {"127.0.0.1:9876": side.namesrv, "/shared/offsets": tmp_path / "history"}
    options = [given.get(word, word) for word in words[script + 1 :]]
    first = snapshot(ClusterSource(name_servers=side.namesrv))
    append(tmp_path / "history", first.table)
    results = ["--json", tmp_path / "json", "--max-lag", 4]
    done = cluster.submit([archive], ROOT / words[script], *options, *results)
    assert done.returncode == 1, done.stderr[-3000:]
    # spark-submit puts what a script says on standard error there, too.
    assert "group Readers is 18 messages behind, more than 4\n" in done.stdout
    value = json.loads((tmp_path / "json").read_text())
    assert value["snapshots"] == 2
    assert {one["queueId"]: one["backlog"] for one in value["stuck"]} == {0: 3, 1: 5, 2: 5, 3: 5}
    (app,) = re.findall(r"Registered app TriMQ offsets with ID (\S+)", cluster.log())
    ran = re.findall(rf"Launching executor {app}/\d+ on worker (\S+)", cluster.log())
    assert len(set(ran)) == WORKERS


def test_a_topic_beside_packages_of_the_same_names(
    cluster: SparkCluster, side: Side, archive: Path, tmp_path: Path
) -> None:
    """The job lies in a folder that has `store`, `admin` and so on, and its own archive brings them as well."""
    folder = foreign.write_folder(tmp_path / "job")
    job = shutil.copy(ROOT / "compat_tests" / "spark" / "stages" / "cluster_job.py", folder)
    others = foreign.write_archive(tmp_path / "others.zip")
    done = cluster.submit([others, archive], job, side.namesrv, "Orders")
    assert done.returncode == 0, done.stderr[-3000:]
    value = json.loads(done.stdout.splitlines()[-1])
    assert value["master"] == cluster.master
    assert {int(body.split()[1]) for body in value["bodies"]} == set(range(20))
    assert value["owner"] == foreign.OWNER
    folders, files, trio, owners = zip(*value["places"], strict=True)
    assert set(owners) == {foreign.OWNER}
    assert len(set(folders)) == WORKERS
    assert all(Path(file).parent.parent.name == archive.name for file in files)
    assert not any(trio)
