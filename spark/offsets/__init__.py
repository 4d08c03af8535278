"""The offset reporter: which groups are behind, how far, since when, and how fast that changes.

`cluster` and `store_folder` make a snapshot, `source` and `stream` make one on Spark's executors, `history` keeps
snapshots and `compacting` maintains them, `analysis` computes with Arrow what `results` hold; `terminal`, `page`,
`prometheus` and `files` write it, `command` is the command line, `api` the same for Python: `report(...)`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trimq.spark.offsets.api import OffsetReport, report

__all__ = ["OffsetReport", "report"]


def __getattr__(name: str) -> object:
    if name in __all__:
        return getattr(import_module("trimq.spark.offsets.api"), name)
    raise AttributeError(f"module 'trimq.spark.offsets' has no attribute {name!r}")
