"""Where commands print: the official tool's text, or JSON values, one per line.

On a terminal, heads of tables are bold and long work shows a progress bar. A pipe gets plain text.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import click
import msgspec

T = TypeVar("T")


class Output:
    """Either text or JSON; each method prints in its own mode only."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json

    def text(self, text: str) -> None:
        """Text as it is, without a line end of its own."""
        if not self.as_json:
            click.echo(text, nl=False)

    def line(self, text: str = "") -> None:
        """Text and a line end."""
        self.text(text + "\n")

    def head(self, text: str) -> None:
        """The head of a table, bold on a terminal."""
        if not self.as_json:
            click.secho(text, bold=True)

    def value(self, value: Any) -> None:
        """One JSON value on a line of its own: dicts, lists, Structs, dataclasses, scalars."""
        if self.as_json:
            click.echo(msgspec.json.encode(value, enc_hook=_encoded))

    def row(self, text: str, value: Any) -> None:
        """A line of a table, or what it holds as a JSON value."""
        self.line(text)
        self.value(value)

    def progress(self, items: Sequence[T], label: str) -> Iterator[T]:
        """The items, with a progress bar where somebody is watching."""
        bar: AbstractContextManager[Iterable[T]] = nullcontext(items)
        # Only with the results going elsewhere: both on one terminal would overwrite each other.
        if sys.stderr.isatty() and not sys.stdout.isatty():
            bar = click.progressbar(items, label=label, file=sys.stderr)
        with bar as watched:
            yield from watched


def _encoded(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    raise NotImplementedError(type(value).__name__)
