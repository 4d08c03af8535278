"""Spark as it is installed, but with its Python packages as folders.

Spark starts a Python for each plan and each stream, which takes its packages from zip files and so compiles all of
them each time: a second of a core, of which a busy machine makes more than the ten that Spark waits.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from compat_tests.servers.artifacts import cache_root
from compat_tests.servers.kept import kept


def unpacked_home() -> Path:
    """A folder for SPARK_HOME, of links to the installed package; made when it is first asked for."""
    import py4j
    import pyspark

    installed = Path(pyspark.__file__).parent
    packages = {"pyspark": installed, "py4j": Path(py4j.__file__).parent}
    home = cache_root() / "spark-homes" / f"{pyspark.__version__}{str(installed).replace('/', '-')}"
    return kept(home, partial(_link, installed, packages))


def _link(installed: Path, packages: Mapping[str, Path], home: Path) -> None:
    for entry in installed.iterdir():
        if entry.name != "python":
            (home / entry.name).symlink_to(entry)
    # Spark names the files; Python takes a folder just as well.
    for archive in (installed / "python" / "lib").glob("*.zip"):
        name = archive.name.partition(".zip")[0].partition("-")[0]
        folder = home / "python" / "lib" / archive.name
        folder.mkdir(parents=True)
        (folder / name).symlink_to(packages[name])


def use_unpacked_home() -> None:
    """From now on, for sessions of this process; not where SPARK_HOME says otherwise."""
    if "SPARK_HOME" not in os.environ:
        os.environ["SPARK_HOME"] = str(unpacked_home())
