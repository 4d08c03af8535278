"""What a job can fail with: one sentence for a person, with as little around it as Spark allows."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from trimq.admin.errors import AdminError
from trimq.codec.errors import CodecError
from trimq.remoting.errors import TransportError
from trimq.store.inspecting.items import Unreadable

# Spark's workers print no Python traceback when this is set (pyspark.util.handle_worker_exception).
_HIDE = "SPARK_HIDE_TRACEBACK"


class SparkSourceError(Exception):
    """A job cannot be done; the text is one sentence that says what to do."""


class WrongOption(SparkSourceError):
    """An option is missing, unknown or has an impossible value."""


class DataLost(SparkSourceError):
    """Messages that should be read no longer exist."""


def check_version(offsets: Mapping[str, object], version: int) -> None:
    """SparkSourceError unless a checkpoint has offsets of that version."""
    if offsets.get("version") != version:
        raise SparkSourceError(
            f"the checkpoint's offsets have version {offsets.get('version')!r}, this TriMQ reads"
            f" {version}: use the TriMQ that wrote them, or another checkpointLocation"
        )


@contextmanager
def sentences(what: str = "") -> Iterator[None]:
    """Turn expected failures into SparkSourceError; in a worker of Spark's, show no traceback of it.

    A worker ends with the exception, so what is set here affects nothing else.
    """
    try:
        yield
    except SparkSourceError:
        _hide_traceback()
        raise
    except (AdminError, TransportError, CodecError, Unreadable) as error:
        _hide_traceback()
        lead = f"{what}: " if what else ""
        raise SparkSourceError(f"{lead}{error}") from None


def _hide_traceback() -> None:
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None and str(spec.name).startswith("pyspark."):
        os.environ[_HIDE] = "1"
