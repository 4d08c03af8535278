"""What is said when Java, Spark or a worker's Python is not what it must be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from pyspark import cloudpickle

import trimq
from trimq.spark import RocketMQDataSource, RocketMQStoreDataSource
from trimq.spark.errors import SparkSourceError, sentences
from trimq.spark.sessions import check_java
from trimq.spark.shipping import load
from trimq.spark.versions import has_streams, is_supported


@pytest.mark.parametrize(
    ("version", "supported", "streams"),
    [
        ("3.5.9", False, False),
        ("4.0.0", True, False),
        ("4.1.4", True, False),
        ("4.2.0", True, True),
        ("4.10.0.dev1", True, True),
        ("5.0.0", False, False),
    ],
)
def test_versions_of_spark(version: str, supported: bool, streams: bool) -> None:
    assert (is_supported(version), has_streams(version)) == (supported, streams)


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (
            "import pyspark; pyspark.__version__ = '3.5.9'; from trimq.spark import session",
            "this is 3.5.9",
        ),
        (
            "import sys; sys.modules['pyarrow'] = None; import importlib.util as u\n"
            "real = u.find_spec; u.find_spec = lambda n, *a: None if n == 'pyarrow' else real(n, *a)\n"
            "from trimq.spark import RocketMQDataSource",
            "pyarrow is not installed: pip install '/path/to/trimq[spark]'",
        ),
    ],
)
def test_what_is_missing_is_reported_at_the_import(code: str, sentence: str) -> None:
    done = python(code)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ImportError: ")
    assert sentence in done.stderr.splitlines()[-1]


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkSourceError, match="no 'java' on the PATH: install a JDK"):
        check_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkSourceError, match="no bin/java in it"):
        check_java()


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ('openjdk version "11.0.22" 2024-01-16', 11),
        ('java version "1.8.0_292"', 8),
        ('openjdk version "17.0.15" 2025-04-15', None),
        ('openjdk version "21" 2023-09-19', None),
        ("Unrecognized", None),
    ],
)
def test_an_old_java(
    said: str, version: int | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if version is None:
        check_java()
        return
    with pytest.raises(SparkSourceError, match=f"Java 17 or newer and {java} is Java {version}: "):
        check_java()


def test_workers_run_the_drivers_python() -> None:
    code = "import os; from trimq.spark import session; print(os.environ['PYSPARK_PYTHON'])"
    plain = {key: "" for key in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")}
    script = "import os\nfor k in " + repr(list(plain)) + ": os.environ.pop(k, None)\n" + code
    assert python(script).stdout.strip() == sys.executable
    assert python(code, PYSPARK_PYTHON="/my/python").stdout.strip() == "/my/python"


@pytest.mark.parametrize("kind", [RocketMQDataSource, RocketMQStoreDataSource])
def test_classes_travel_with_their_loader(kind: type) -> None:
    data = cloudpickle.dumps(kind)
    assert cloudpickle.loads(data) is kind
    # A Python without TriMQ, but with Spark, gets a sentence instead of "No module named".
    script = (
        "import sys; sys.path = [p for p in sys.path if 'site-packages' in p or 'lib' in p]\n"
        "class No:\n"
        "  def find_spec(self, name, *rest):\n"
        "    if name.split('.')[0] in ('trimq', 'spark'): raise ModuleNotFoundError(f'No module named {name!r}')\n"
        "sys.meta_path.insert(0, No())\n"
        f"import pickle; pickle.loads({data!r})"
    )
    done = python(script)
    assert "cannot load TriMQ (No module named 'trimq'): set PYSPARK_PYTHON" in done.stderr


def test_another_trimq_on_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HIDE_TRACEBACK", "")
    assert load("trimq.spark.source", "RocketMQDataSource", trimq.__version__) is RocketMQDataSource
    with pytest.raises(
        ImportError, match=r"worker has TriMQ .*, the driver 0\.0\.1: set PYSPARK_PYTHON"
    ):
        load("trimq.spark.source", "RocketMQDataSource", "0.0.1")


def test_only_workers_hide_tracebacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HIDE_TRACEBACK", raising=False)
    with pytest.raises(SparkSourceError), sentences():
        raise SparkSourceError("no")
    assert "SPARK_HIDE_TRACEBACK" not in os.environ
