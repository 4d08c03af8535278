"""A report as files for other programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trimq.spark.offsets.analysis import Frames
from trimq.spark.offsets.results import Report


def write_tables(frames: Frames, folder: Path, kind: str) -> None:
    """FOLDER/queues, topics, groups, unused: whole tables, each a folder as Spark writes them."""
    tables = {
        "queues": frames.queues,
        "topics": frames.topics,
        "groups": frames.groups,
        "unused": frames.unused,
    }
    for name, frame in tables.items():
        writer = frame.coalesce(1).write.mode("overwrite").option("header", "true")
        writer.format(kind).save(str((folder / name).absolute()))


def report_json(report: Report) -> str:
    """One object; names are those of `Report`."""
    names = ("clusters", "groups", "topics", "queues", "stuck", "out_of_range", "unused", "delays")
    value: dict[str, Any] = {"taken": report.taken[-1], "snapshots": len(report.taken)}
    value |= {name: getattr(report, name) for name in names}
    value["without_consumer"] = [one["consumerGroup"] for one in report.without_consumer]
    value["subscriptions_differ"] = [one["consumerGroup"] for one in report.differing]
    return json.dumps(value, ensure_ascii=False) + "\n"


def write_text(target: str, parts: Iterable[str]) -> None:
    """To a file, which is there as a whole or not at all, or to standard output if it is `-`."""
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
