"""How far a query is behind, from the reports that Spark makes of it."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from trimq.spark import offsets_behind

DONE = {"version": 1, "queues": {"T": {"b": {"0": 5, "1": 9}}}}
LATEST = {"version": 1, "queues": {"T": {"b": {"0": 25, "1": 8, "2": 4}}}}
OURS = {"endOffset": json.dumps(DONE), "latestOffset": json.dumps(LATEST)}
OTHER = {"endOffset": '{"orders":{"0":1}}', "latestOffset": "7"}


def test_every_queue_counts_what_came_after_the_batch() -> None:
    found = offsets_behind({"sources": [OTHER, OURS]})
    assert found.queues == {("T", "b", 0): 20, ("T", "b", 1): 0, ("T", "b", 2): 4}
    assert found.total == 24
    assert found.metrics() == {
        "avgOffsetsBehindLatest": "8.0",
        "maxOffsetsBehindLatest": "20",
        "minOffsetsBehindLatest": "0",
    }


def test_all_forms_in_which_spark_reports() -> None:
    values = {"endOffset": DONE, "latestOffset": LATEST}
    for sources in ([SimpleNamespace(**OURS)], [values]):
        assert offsets_behind(SimpleNamespace(sources=sources)).total == 24


def test_where_nothing_is_known() -> None:
    before = {"sources": [{"startOffset": None, "endOffset": None, "latestOffset": None}]}
    for progress in (None, {}, before, {"sources": [OTHER]}):
        assert offsets_behind(progress).queues == {}
    assert offsets_behind(None).metrics()["avgOffsetsBehindLatest"] == "0.0"
