"""``trimq spark``: what jobs on a Spark cluster need."""

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from trimq.spark.formats import SOURCES

# What a task or a report loads, and TriMQ's name and version.
_PACKAGES: Final = ("admin", "base", "codec", "remoting", "spark", "store")
# The same sources make the same archive.
_MOMENT: Final = (1980, 1, 1, 0, 0, 0)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def spark() -> None:
    """Help for Spark clusters."""


@spark.command()
@click.argument("archive", type=click.Path(path_type=Path, dir_okay=False))
def package(archive: Path) -> None:
    """Write what spark-submit's --py-files takes: TriMQ for workers that do not have it.

    \b
    Example:
      trimq spark package trimq.zip
      spark-submit --master spark://HOST:7077 --py-files trimq.zip job.py

    Their Python needs pyarrow, msgspec, construct, lz4 and zstandard; it needs no Trio.
    """
    root = Path(__file__).resolve().parents[2]
    new = archive.with_name(f".{archive.name}.{os.getpid()}")
    count = 0
    try:
        with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as file:
            for name in _sources(root):
                info = zipfile.ZipInfo(name, _MOMENT)
                info.compress_type = zipfile.ZIP_DEFLATED
                file.writestr(info, (root / name).read_bytes())
                count += 1
        new.replace(archive)
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from None
    finally:
        new.unlink(missing_ok=True)
    click.echo(f"{archive}: {count} modules, {archive.stat().st_size >> 10} KiB")


def _sources(root: Path) -> Iterator[str]:
    """Names of modules, in order. Archives hold no compiled ones: Python cannot load them from there."""
    yield from (f"{name}.py" for name in sorted(SOURCES))
    yield "trimq/__init__.py"
    for name in _PACKAGES:
        for path in sorted((root / "trimq" / name).rglob("*.py")):
            yield path.relative_to(root).as_posix()
