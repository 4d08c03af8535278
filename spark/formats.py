"""Formats that Spark finds by itself.

Spark loads the top-level modules `pyspark_*` in the Python that its workers run, and takes the class
`DefaultSource` of each: so there is one such module per format beside `trimq`.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Final

from trimq.spark.versions import may_be_found

# What those modules lead to: the module of the class, and its name.
SOURCES: Final = {
    "pyspark_rocketmq": ("trimq.spark.source", "RocketMQDataSource"),
    "pyspark_rocketmq_offsets": ("trimq.spark.offsets.source", "RocketMQOffsetsDataSource"),
    "pyspark_rocketmq_store": ("trimq.spark.store.source", "RocketMQStoreDataSource"),
}


def attribute(module: str, name: str) -> object:
    """What such a module has under that name; AttributeError if nothing.

    Spark loads all of them before it looks for any Python source: a class that cannot be loaded
    here causes a warning, because an error would hide the sources of others too.
    """
    if name == "DefaultSource" and may_be_found(import_module("pyspark").__version__):
        try:
            # The driver's part checks PySpark and says how the class travels.
            import_module("trimq.spark.driver")
            place, source = SOURCES[module]
            return getattr(import_module(place), source)
        except ImportError as error:
            warnings.warn(f"Spark cannot use {module}: {error}", RuntimeWarning, stacklevel=2)
    raise AttributeError(f"module {module!r} has no attribute {name!r}")
