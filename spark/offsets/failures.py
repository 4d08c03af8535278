"""What went wrong, as one sentence for a person and exit code 2; Spark uses a page of Java for it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

from trimq.spark.errors import SparkSourceError, sentences

# A task's own failure, inside what Spark says about its job.
_TASK: Final = re.compile(r"most recent failure: Lost task .*? \([^()]* executor [^()]*\): ")
# Class names at the start, Spark's name for the condition, its code at the end.
_CLASS: Final = re.compile(r"^(?:[a-z][\w$]*\.)+[A-Z][\w$]*: ")
_CONDITION: Final = re.compile(r"^\[[A-Z0-9_.]+\] ")
_STATE: Final = re.compile(r"\s*SQLSTATE: \w+\s*$")
_JVM_GONE: Final = "its JVM is gone: --spark-log warn shows what it says"
_NO_MEMORY: Final = "OutOfMemoryError"


class Failed(click.ClickException):
    """The report cannot be made; the text is one sentence."""

    exit_code = 2


@contextmanager
def failures() -> Iterator[None]:
    """Expected failures as Failed."""
    try:
        with sentences():
            yield
    except SparkSourceError as error:
        raise Failed(str(error)) from None
    except _of_spark() as error:
        raise Failed(f"Spark failed: {of_spark(error)}") from None
    except OSError as error:
        raise Failed(f"{error.filename or 'a file'}: {error.strerror or error}") from None


def _of_spark() -> tuple[type[Exception], ...]:
    """What Spark raises, if it is installed at all."""
    if "pyspark" not in sys.modules:
        return ()
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError


def of_spark(error: Exception) -> str:
    """The sentence in what Spark or the bridge to its JVM raised."""
    from py4j.protocol import Py4JJavaError, Py4JNetworkError

    if isinstance(error, Py4JNetworkError):
        return _JVM_GONE
    text = error.java_exception.toString() if isinstance(error, Py4JJavaError) else str(error)
    if _NO_MEMORY in text:
        return (
            "there is not enough memory: set SPARK_DRIVER_MEMORY (now and by default at most 4g),"
            " or keep fewer snapshots in the history"
        )
    task = _TASK.search(text)
    line = text[task.end() if task else 0 :].lstrip().split("\n", 1)[0]
    for part in (_CLASS, _CONDITION, _STATE):
        line = part.sub("", line)
    return line or type(error).__name__
