"""Formats that Spark finds by their names, in jobs that import nothing of TriMQ: sessions, SQL, spark-sql, archives."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from compat_tests.servers.artifacts import ROOT
from compat_tests.servers.jvm import Launcher
from compat_tests.spark.stages.stage import CONFIG, Side, sides
from trimq.commands.cli import main
from trimq.spark.versions import may_be_found

pyspark = pytest.importorskip(
    "pyspark", reason="pyspark is not installed: pip install '/path/to/trimq[spark]'"
)
pytestmark = pytest.mark.skipif(
    not may_be_found(pyspark.__version__), reason="Spark 4.0 finds none that can be registered"
)


HOME: Final = Path(pyspark.__file__).parent
JOB: Final = Path(__file__).parent / "stages" / "names_job.py"
KINDS: Final = ("real", "trimq")
MESSAGES: Final = 12
Done = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def servers(
    launch: Launcher, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Side]]:
    with sides(launch, tmp_path_factory.mktemp("names")) as both:
        for kind, side in both.items():
            side.create(f"Named-{kind}")
            side.send(f"Named-{kind}", range(MESSAGES))
            side.settle(f"Named-{kind}", MESSAGES)
        both["trimq"].create("Orders")
        both["trimq"].send("Orders", range(MESSAGES))
        yield both


def run(folder: Path, packages: Path, *words: object) -> Done:
    """A command of Spark's in an empty folder; `packages` is what is installed beside Spark."""
    # Without the site's .pth files, which bring a checkout that is installed editable.
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("PYSPARK")},
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": os.pathsep.join([str(HOME.parent), str(packages)]),
        "PYSPARK_PYTHON": str(python),
    }
    return subprocess.run(
        list(map(str, words)),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def submit(*words: object) -> list[object]:
    config = [f"--conf={key}={value}" for key, value in CONFIG.items() if ".memory" not in key]
    memory = ("--driver-memory", CONFIG["spark.driver.memory"])
    return [HOME / "bin" / "spark-submit", "--master", "local[2]", *memory, *config, *words]


@pytest.fixture(scope="module")
def runs(
    servers: dict[str, Side], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[Done]]]:
    """Two programs, which run beside each other."""
    folder = tmp_path_factory.mktemp("runs")
    archive = folder / "trimq.zip"
    assert CliRunner().invoke(main, ["spark", "package", str(archive)]).exit_code == 0
    installed = folder / "installed"
    installed.mkdir()
    for path in (ROOT / "trimq", *ROOT.glob("pyspark_*.py")):
        (installed / path.name).symlink_to(path)
    places = [
        text
        for kind, side in servers.items()
        for text in (side.namesrv, f"Named-{kind}", side.store)
    ]
    job = submit("--py-files", archive, JOB, folder / "tables", *places)
    query = spark_sql(servers["trimq"].namesrv)

    def start(name: str, packages: Path, words: list[object]) -> Future[Done]:
        place = folder / name
        place.mkdir()
        return threads.submit(run, place, packages, *words)

    with ThreadPoolExecutor(2) as threads:
        yield {"job": start("job", archive, job), "sql": start("sql", installed, query)}


def spark_sql(namesrv: str) -> list[object]:
    """The shell, with every block of SQL in the documentation."""
    text = (ROOT / "docs" / "spark.md").read_text()
    blocks = re.findall(r"^```sql\n-- sql: .*?\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    query = "".join(blocks).replace("127.0.0.1:9876", namesrv)
    command = submit("--conf=spark.sql.catalogImplementation=in-memory")[1:]
    return [HOME / "bin" / "spark-sql", *command, "-e", query]


@pytest.fixture(scope="module")
def found(runs: dict[str, Future[Done]]) -> dict[str, Any]:
    done = runs["job"].result()
    assert done.returncode == 0, done.stderr[-3000:]
    value = json.loads(done.stdout.splitlines()[-1])
    assert value["loaded"] == []
    return dict(zip(KINDS, value["servers"], strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_a_format_is_found_in_every_session(found: dict[str, Any], kind: str) -> None:
    """The job has TriMQ from an archive, which --py-files and PYTHONPATH name: for formats, the second counts."""
    assert found[kind]["format"] == MESSAGES
    assert found[kind]["format in a new session"] == MESSAGES
    assert found[kind]["offsets"] == MESSAGES
    assert found[kind]["stored"] == MESSAGES


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_takes_its_options_from_the_query(found: dict[str, Any], kind: str) -> None:
    value = found[kind]
    assert value["table, options in the query"] == MESSAGES
    assert value["table, reader's options"] == MESSAGES
    assert "passes none of the table's OPTIONS" in value["table, without options"]
    assert "FROM t WITH (namesrv '127.0.0.1:9876', topic 'T')" in value["table, without options"]
    assert "no option 'topc'; did you mean 'topic'" in value["wrong table"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_view_over_a_table_sees_what_is_new(found: dict[str, Any], kind: str) -> None:
    value = found[kind]
    assert value["table, one more"] == MESSAGES + 1
    assert value["view over the table"] == MESSAGES + 1
    assert value["the same in a new session"] == MESSAGES + 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_temporary_view_stays_at_what_it_has_found(found: dict[str, Any], kind: str) -> None:
    value = found[kind]
    assert value["temporary view"] == MESSAGES
    assert value["temporary view, one more"] == MESSAGES
    assert value["temporary view, made again"] == MESSAGES + 1


def test_the_documented_sql_in_the_shell_of_spark_sql(runs: dict[str, Future[Done]]) -> None:
    done = runs["sql"].result()
    assert done.returncode == 0, done.stderr[-3000:]
    *tags, count = done.stdout.splitlines()
    assert sorted(tags) == ["A\t4", "B\t4", "NULL\t4"]
    assert count == str(MESSAGES)
