"""How our data source classes travel to Spark's workers: with a loader that is sent along as code.

By default a class is sent as the name of its module, and a worker without that module fails with
nothing but `No module named 'spark'`. The loader says which Python that was and what to do.
"""

from __future__ import annotations

import copyreg
from abc import ABCMeta
from typing import Any


class Shipped(ABCMeta):
    """The metaclass of classes that travel this way."""


def load(module: str, name: str, version: str) -> Any:
    """The class, in a worker. Runs where none of our modules may be: everything is imported here."""
    import importlib
    import os
    import sys

    ours = f"{sys.executable} ({sys.version.split()[0]})"
    advice = (
        "set PYSPARK_PYTHON to a Python with the driver's TriMQ before the session is made, or on a"
        " cluster ship it with --py-files"
    )
    try:
        found = importlib.import_module("trimq").__version__
        loaded = getattr(importlib.import_module(module), name)
    except ImportError as error:
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        text = f"Spark's worker runs {ours}, which cannot load TriMQ ({error}): {advice}"
        raise ImportError(text) from None
    if found != version:
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        text = f"Spark's worker has TriMQ {found} in {ours}, the driver {version}: {advice}"
        raise ImportError(text)
    return loaded


def arrange(version: str) -> None:
    """Tell pickle, once in a driver; `version` is the driver's TriMQ."""
    import sys

    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    copyreg.pickle(Shipped, lambda made: (load, (made.__module__, made.__qualname__, version)))
