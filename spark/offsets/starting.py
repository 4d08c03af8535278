"""Spark for a report: the existing session, spark-submit's, or one of our own that keeps quiet."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Final

from trimq.spark.errors import SparkSourceError
from trimq.spark.offsets.failures import of_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEVELS: Final = ("error", "warn", "info")
# Set where spark-submit has started a JVM that runs us.
SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
_APP: Final = "TriMQ offsets"
_PARTS: Final = "spark.sql.shuffle.partitions"
# No web page; as many parts in a shuffle as reports of this size need.
_CONFIG: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    _PARTS: "8",
}
# Of the heap: Spark's 1 GiB is too little for ten million rows.
_GIB: Final = 1 << 30
_HEAP: Final = (1, 4)
_OLD_JAVA: Final = "UnsupportedClassVersionError"
_NO_JVM: Final = "JAVA_GATEWAY_EXITED"
_NOISE: Final = re.compile(r"\s|WARNING: |Using Spark's default log4j")
_LINES: Final = 3


@contextmanager
def running(master: str | None, log: str | None) -> Iterator[SparkSession]:
    """A session, which ends with the block if it was started here.

    `log`: the level from which on Spark writes to standard error, by default nothing. SparkSourceError and
    PySpark's errors when it does not start.
    """
    theirs = _running()
    if theirs is not None:
        yield theirs
        return
    made = _start(master, log)
    try:
        yield made
    finally:
        made.stop()


def _running() -> SparkSession | None:
    """The caller's session in this process; it stays the caller's."""
    import sys

    if "pyspark" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _start(master: str | None, log: str | None) -> SparkSession:
    from trimq.spark.sessions import session

    level = (log or "off").upper()
    # spark-submit has set its master and all else in the JVM that runs us.
    if SUBMITTED in os.environ:
        made = session(master, app=_APP)
        made.sparkContext.setLogLevel(level)
        if made.sparkContext.getConf().get(_PARTS) is None:
            # Spark's 200 would mean 200 tasks for each of the report's small questions.
            made.conf.set(_PARTS, str(max(8, 2 * made.sparkContext.defaultParallelism)))
        return made
    chosen = master or "local[*]"
    config = {**_CONFIG, "spark.log.level": level}
    if "SPARK_DRIVER_MEMORY" not in os.environ:
        config["spark.driver.memory"] = f"{_heap()}g"
    if chosen.startswith("local"):
        # Only this machine has to reach this driver.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    if log is not None:
        return session(chosen, config, _APP)
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    with TemporaryFile() as kept:
        try:
            with _stderr_to(kept):
                return session(chosen, config, _APP)
        except (PySparkException, Py4JError) as error:
            raise SparkSourceError(f"Spark did not start: {_reason(kept, error)}") from None


def _heap() -> int:
    """A quarter of the machine's memory, in GiB, within bounds."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    low, high = _HEAP
    return max(low, min(high, memory // 4 // _GIB))


@contextmanager
def _stderr_to(file: IO[bytes]) -> Iterator[None]:
    """Give processes that start in the block this file as standard error: a JVM writes there before it has
    read which of its lines are wanted.
    """
    saved = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def _reason(kept: IO[bytes], error: Exception) -> str:
    """Why it did not start: what the JVM wrote if there is none, else what it says."""
    kept.seek(0)
    said = kept.read().decode(errors="replace")
    if _OLD_JAVA in said:
        return (
            "it needs Java 17 or newer, and this one is older: set JAVA_HOME to a newer one"
            " (apt-get install openjdk-17-jre-headless)"
        )
    if _NO_JVM not in str(error):
        return of_spark(error)
    lines = (line for line in said.splitlines() if line and not _NOISE.match(line))
    return "; ".join(itertools.islice(lines, _LINES)) or of_spark(error)
