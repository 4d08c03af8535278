"""Where commands print: the official tool's text, or JSON values, one per line.

On a terminal, heads of tables are bold and long work shows a progress bar. A pipe gets plain text.
"""

import dataclasses
import errno
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import click
import msgspec

T = TypeVar("T")


def colour() -> bool | None:
    """For click's `color`: False where colours are not wanted (no-color.org) or not understood.

    None otherwise: click looks whether there is a terminal.
    """
    unwanted = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return False if unwanted else None


def complain(text: str, fg: str = "red") -> None:
    """One sentence on standard error."""
    click.secho(f"mqadmin: {text}", fg=fg, err=True, color=colour())


class CannotPrint(click.ClickException):
    """What was found does not get to where it was to go: a full disk, most likely."""

    exit_code = 1

    def show(self, file: Any = None) -> None:
        complain(self.message)


class Output:
    """Either text or JSON; each method prints in its own mode only."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json

    def text(self, text: str) -> None:
        """Text as it is, without a line end of its own."""
        if not self.as_json:
            _print(text)

    def line(self, text: str = "") -> None:
        """Text and a line end."""
        self.text(text + "\n")

    def head(self, text: str) -> None:
        """The head of a table, bold on a terminal."""
        if not self.as_json:
            _print(click.style(text, bold=True) + "\n")

    def value(self, value: Any) -> None:
        """One JSON value on a line of its own: dicts, lists, Structs, dataclasses, scalars.

        Attributes have RocketMQ's way of writing, `queueId`; bytes are in base64.
        """
        if self.as_json:
            # Bytes: JSON is UTF-8, whatever the terminal takes.
            _print(msgspec.json.encode(plain(value)) + b"\n")

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


def _print(text: str | bytes) -> None:
    try:
        click.echo(text, nl=False, color=colour())
    except OSError as error:
        if error.errno == errno.EPIPE:
            # Who read it has seen enough; click ends quietly.
            raise
        _give_up_stdout()
        raise CannotPrint(f"cannot print: {error.strerror}") from None


def _give_up_stdout() -> None:
    """Python tries once more at its end to write what is buffered, and would complain in its own words."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def plain(value: Any) -> Any:
    """Dataclasses as dicts with the names that Structs have in JSON."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {_camel(field.name): plain(getattr(value, field.name)) for field in fields}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return value


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
