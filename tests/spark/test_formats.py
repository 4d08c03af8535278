"""The modules by which Spark finds formats: which there are, and what they do where something is missing."""

from __future__ import annotations

import importlib
import sys
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

import pyspark
from pyspark.sql.datasource import DataSource

from trimq.spark.formats import SOURCES

ROOT = Path(__file__).parents[2]
NAMES = {
    name: "rocketmq" + name.removeprefix("pyspark_rocketmq").replace("_", "-") for name in SOURCES
}


def module(name: str, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module(name)


def test_all_of_them_are_packaged() -> None:
    """`py-modules` for installations, mypy's list, and the files are the same modules."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert set(project["setuptools"]["py-modules"]) == set(SOURCES)
    assert set(project["mypy"]["modules"]) == set(SOURCES)
    assert {path.stem for path in ROOT.glob("pyspark_*.py")} == set(SOURCES)


@pytest.mark.parametrize("name", SOURCES)
def test_what_spark_finds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = module(name, monkeypatch)
    source = found.DefaultSource  # type: ignore[attr-defined]
    assert issubclass(source, DataSource)
    assert source.name() == NAMES[name]
    assert not hasattr(found, "Another")


@pytest.mark.parametrize("name", SOURCES)
def test_what_cannot_be_loaded_causes_a_warning_not_an_error(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error would hide everybody's sources."""
    found = module(name, monkeypatch)
    monkeypatch.setitem(sys.modules, "trimq.spark.driver", None)
    with pytest.warns(RuntimeWarning, match=f"Spark cannot use {name}: "):
        assert not hasattr(found, "DefaultSource")


def test_spark_4_0_finds_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would refuse to register them after that."""
    monkeypatch.setattr(pyspark, "__version__", "4.0.5")
    assert not hasattr(module("pyspark_rocketmq", monkeypatch), "DefaultSource")
