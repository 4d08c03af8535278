"""A report as files for other programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from trimq.spark.offsets.history.analysis import Frames
from trimq.spark.offsets.history.results import Report


def write_tables(frames: Frames, folder: Path, kind: str) -> None:
    """FOLDER/queues, topics, groups, unused: whole tables, each a folder with one file of that kind."""
    tables = {
        "queues": frames.queues,
        "topics": frames.topics,
        "groups": frames.groups,
        "unused": frames.unused,
    }
    for name, rows in tables.items():
        _write_table(rows, folder / name / f"part-00000.{kind}", kind)


def _write_table(rows: pa.Table, path: Path, kind: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if kind == "parquet":
            pq.write_table(rows, new)
        else:
            pcsv.write_csv(rows, new, pcsv.WriteOptions(quoting_style="needed"))
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    # An earlier version's files had other names.
    for other in path.parent.glob(f"part-*.{kind}"):
        if other != path:
            other.unlink()


def report_json(report: Report) -> str:
    """One object; names are those of `Report`."""
    names = ("clusters", "groups", "topics", "queues", "stuck", "out_of_range", "unused", "delays")
    value: dict[str, Any] = {"taken": report.taken[-1], "snapshots": len(report.taken)}
    value |= {name: getattr(report, name) for name in names}
    value["without_consumer"] = [one["consumerGroup"] for one in report.without_consumer]
    value["subscriptions_differ"] = [one["consumerGroup"] for one in report.differing]
    return json.dumps(value, ensure_ascii=False) + "\n"


def write_text(target: str, parts: Iterable[str]) -> None:
    """To a file, which is written completely or not at all, or to standard output if it is `-`."""
    if target == "-":
        sys.stdout.writelines(parts)
        sys.stdout.flush()
        return
    path = Path(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with new.open("w", encoding="utf-8") as file:
            file.writelines(parts)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
