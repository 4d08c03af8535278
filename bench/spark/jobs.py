"""What is timed: each job reads every message of the topic once, bodies included."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from compat_tests.servers import artifacts

_HEAP: Final = ["-Xms512m", "-Xmx1g"]
_CHUNK: Final = 4 << 20


def java_pull(namesrv: str, topic: str, count: int, kind: str, home: Path) -> float:
    """Messages a second of an official consumer (`lite` or `plain`) in one process."""
    path = artifacts.classpath(artifacts.jars(artifacts.SERVER))
    folders = [f"-Duser.home={home}", f"-Djava.io.tmpdir={home}"]
    program = str(Path(__file__).parents[1] / "java" / "Pull.java")
    command = ["java", *_HEAP, *folders, "-cp", path, program, namesrv, topic, str(count), kind]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("{"))
    return count / float(json.loads(line)["seconds"])


def timed(job: Callable[[], object], count: int) -> float:
    """Messages a second."""
    began = time.monotonic()
    job()
    return count / (time.monotonic() - began)


def batch_read(spark: Any, namesrv: str, topic: str, **more: str) -> Callable[[], object]:
    """Every column goes to the JVM, where a sink takes each row and keeps none."""

    def job() -> None:
        frame = spark.read.format("rocketmq").options(namesrv=namesrv, topic=topic, **more).load()
        frame.write.format("noop").mode("overwrite").save()

    return job


def stream_read(spark: Any, namesrv: str, topic: str, folder: Path) -> Callable[[], object]:
    def job() -> None:
        frame = (
            spark.readStream.format("rocketmq")
            .options(namesrv=namesrv, topic=topic, startingOffsets="earliest")
            .load()
        )
        running = (
            frame.writeStream.format("noop")
            .option("checkpointLocation", str(folder))
            .trigger(availableNow=True)
            .start()
        )
        running.awaitTermination()

    return job


def store_read(spark: Any, store: Path, topic: str, **more: str) -> Callable[[], object]:
    def job() -> None:
        frame = spark.read.format("rocketmq-store").options(topic=topic, **more).load(str(store))
        frame.write.format("noop").mode("overwrite").save()

    return job


def plain_read(store: Path) -> Callable[[], object]:
    """Every byte of the commit log's files that is not in a hole."""

    def job() -> int:
        read = 0
        for path in sorted((store / "commitlog").iterdir()):
            with path.open("rb", buffering=0) as file:
                end = path.stat().st_blocks * 512
                while read < end and (data := file.read(_CHUNK)):
                    read += len(data)
        return read

    return job
