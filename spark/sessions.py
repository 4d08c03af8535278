"""A session that our data sources work in, and what is wrong with the machine if there cannot be one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trimq.spark.errors import SparkSourceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST_JAVA: Final = 17
_INSTALL: Final = "install a JDK (apt-get install openjdk-17-jre-headless) or set JAVA_HOME"
_INTERPRETERS: Final = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
# Lets the sources see conditions of `where`, from Spark 4.1 on.
_PUSHDOWN: Final = "spark.sql.python.filterPushdown.enabled"


def use_this_python() -> None:
    """Have Spark's workers run the driver's interpreter, unless the environment says otherwise.

    Spark takes `python3` from PATH, which is not that of a virtual environment.
    """
    from pyspark import SparkContext

    chosen = os.environ.get("PYSPARK_PYTHON")
    for name in _INTERPRETERS:
        os.environ.setdefault(name, chosen or sys.executable)
    running = SparkContext._active_spark_context
    if chosen is None and running is not None and str(running.master).startswith("local"):
        running.pythonExec = sys.executable


def check_java() -> None:
    """SparkSourceError if there is no JVM to start, or it is too old for Spark 4."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if home and not Path(home, "bin", "java").exists():
        raise SparkSourceError(f"JAVA_HOME is {home}, but there is no bin/java in it")
    if java is None:
        raise SparkSourceError(
            f"Spark needs Java {LEAST_JAVA} or newer and there is no 'java' on the PATH: {_INSTALL}"
        )
    found = _java_version(java)
    if found is not None and found < LEAST_JAVA:
        raise SparkSourceError(
            f"Spark needs Java {LEAST_JAVA} or newer and {java} is Java {found}: {_INSTALL}"
        )


def _java_version(java: str) -> int | None:
    """17 for `openjdk version "17.0.15"`, 8 for `java version "1.8.0_292"`; None: it does not say."""
    done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    said = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(said[1]) if said else None


def session(
    master: str | None = None, config: Mapping[str, str] | None = None, app: str = "TriMQ"
) -> SparkSession:
    """A session with our formats registered, this interpreter in its workers and short errors.

    `master` and `config` are as in Spark; spark-submit's values are used if they are not given.
    """
    check_java()
    use_this_python()
    from pyspark.sql import SparkSession

    from trimq.spark.offsets.source import RocketMQOffsetsDataSource
    from trimq.spark.source import RocketMQDataSource
    from trimq.spark.store.source import RocketMQStoreDataSource

    builder = SparkSession.builder.appName(app).config(_PUSHDOWN, "true")
    if master is not None:
        builder = builder.master(master)
    for key, value in (config or {}).items():
        builder = builder.config(key, value)
    made = builder.getOrCreate()
    made.dataSource.register(RocketMQDataSource)
    made.dataSource.register(RocketMQStoreDataSource)
    made.dataSource.register(RocketMQOffsetsDataSource)
    return made
