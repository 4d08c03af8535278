"""A Spark standalone cluster on the loopback: a master and two workers, and how jobs get there.

Tasks run in a Python of their own that has our dependencies, not TriMQ and not Trio: what it loads of
TriMQ came with the job.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from compat_tests.servers.processes import HOST, Child

WORKERS: Final = 2
_DEPLOY: Final = "org.apache.spark.deploy"
_MEMORY: Final = "512m"
_CONFIG: Final = {
    "spark.ui.enabled": "false",
    "spark.driver.host": HOST,
    "spark.driver.bindAddress": HOST,
    # Both workers, before the first task.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
}


@dataclass(frozen=True)
class SparkCluster:
    """`python` runs the tasks."""

    master: str
    python: Path
    logs: Path

    def submit(self, archives: Sequence[Path], *job: object) -> subprocess.CompletedProcess[str]:
        """Run a script with its arguments as a job, with what `trimq spark package` wrote, and others."""
        config = {**_CONFIG, "spark.pyspark.driver.python": sys.executable}
        config["spark.pyspark.python"] = str(self.python)
        return subprocess.run(
            [
                *(str(_home() / "bin" / "spark-submit"), "--master", self.master),
                *("--driver-memory", _MEMORY, "--executor-memory", _MEMORY),
                *("--executor-cores", "1", "--py-files", ",".join(map(str, archives))),
                *(f"--conf={key}={value}" for key, value in config.items()),
                *map(str, job),
            ],
            # No package of ours lies here.
            cwd=self.logs,
            env=_environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    def log(self) -> str:
        """What the master and the workers wrote."""
        return "".join(path.read_text() for path in sorted(self.logs.glob("*.log")))


def _home() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


def _environment() -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK")}
    local = {"SPARK_LOCAL_IP": HOST, "SPARK_PUBLIC_DNS": HOST, "SPARK_DAEMON_MEMORY": "256m"}
    return {**plain, **local, "SPARK_HOME": str(_home())}


def _bare_python(folder: Path) -> Path:
    """This Python without what .pth files add, such as an editable TriMQ, and with a Trio that fails."""
    blocked = folder / "blocked"
    blocked.mkdir()
    (blocked / "trio.py").write_text('raise ImportError("no task needs Trio")\n')
    python = folder / "python"
    python.write_text(
        "#!/bin/sh\n"
        f'export PYTHONPATH="{blocked}:{_home().parent}:$PYTHONPATH"\n'
        f'exec "{sys.executable}" -S "$@"\n'
    )
    python.chmod(0o755)
    return python


@contextmanager
def spark_cluster(folder: Path) -> Iterator[SparkCluster]:
    """Starts it, and ends what it started."""
    start = str(_home() / "bin" / "spark-class")
    common = ["--host", HOST, "--webui-port", "0"]
    with ExitStack() as all_:

        def launch(log: str, kind: str, *options: str) -> Child:
            command = [start, f"{_DEPLOY}.{kind}", *common, *options]
            child = Child(command, folder / log, _environment())
            all_.callback(child.stop)
            return child

        ready = launch("master.log", "master.Master", "--port", "0").wait_for(
            "Starting Spark master"
        )
        found = re.search(r"spark://\S+:\d+", ready)
        assert found, ready
        master = found[0]
        workers = [
            launch(
                *(f"worker-{number}.log", "worker.Worker", "--cores", "1", "--memory", "1g"),
                *("--work-dir", str(folder / f"work-{number}"), master),
            )
            for number in range(WORKERS)
        ]
        for worker in workers:
            worker.wait_for("Successfully registered with master")
        yield SparkCluster(master, _bare_python(folder), folder)
