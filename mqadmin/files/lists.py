"""Lists of configurations in files."""

from pathlib import Path
from typing import TypeVar

import click

from trimq.codec.bodies.base import Body
from trimq.codec.errors import CodecError
from trimq.codec.java import fastjson

B = TypeVar("B", bound=Body)


def read_list(kind: type[B], filename: str) -> list[B]:
    """The objects of a JSON list; a usage error when the file holds none or cannot be read."""
    try:
        data = Path(filename).read_bytes()
    except OSError as error:
        raise click.UsageError(f"-f: cannot read {filename}: {error.strerror}") from None
    try:
        listed: list[B] = fastjson.loads_as(list[kind], data)  # type: ignore[valid-type]
    except CodecError as error:
        raise click.UsageError(f"-f: {filename}: {error}") from None
    return listed
