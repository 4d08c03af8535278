"""Where commands print: the official tool's text, or JSON values, one per line.

On a terminal, heads of tables are bold and long work shows a progress bar. A pipe gets plain text.
"""

import dataclasses
import errno
import os
import select
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Any, Final, TypeVar

import click
import msgspec

T = TypeVar("T")


# What a message, a client's name or a server's remark must not send to a terminal: control
# characters except tab and line end, and characters that reverse the direction of writing.
_CONTROL: Final = {
    code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), *range(127, 160))
} | {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
# The same in JSON, which has no \x.
_CONTROL_IN_JSON: Final = {code: f"\\u{code:04x}" for code in _CONTROL if code >= 127}


def harmless(text: str, stream: IO[str]) -> str:
    """The text as it may be shown there: control characters never reach a terminal."""
    return text.translate(_CONTROL) if stream.isatty() else text


def colour() -> bool | None:
    """For click's `color`: False where colours are not wanted (no-color.org) or not understood.

    None otherwise: click looks whether there is a terminal.
    """
    unwanted = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return False if unwanted else None


def complain(text: str, fg: str = "red") -> None:
    """One sentence on standard error."""
    text = harmless(text, sys.stderr)
    click.secho(f"mqadmin: {text}", fg=fg, err=True, color=colour())


class CannotPrint(click.ClickException):
    """The output could not be written: most likely a full disk."""

    exit_code = 1

    def show(self, file: Any = None) -> None:
        complain(self.message)


class Output:
    """Either text or JSON; each method prints in its own mode only."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json

    @property
    def is_piped_text(self) -> bool:
        """Whether programs read the output: then it is the official tool's text, to the byte."""
        return not self.as_json and not sys.stdout.isatty()

    def text(self, text: str) -> None:
        """Text as it is, without a line end of its own."""
        if not self.as_json:
            _print(harmless(text, sys.stdout))

    def line(self, text: str = "") -> None:
        """Text and a line end."""
        self.text(text + "\n")

    def head(self, text: str) -> None:
        """The head of a table, bold on a terminal."""
        if not self.as_json:
            shown = harmless(text, sys.stdout)
            bold = colour() is not False and sys.stdout.isatty()
            _print((click.style(shown, bold=True) if bold else shown) + "\n")

    def aside(self, text: str) -> None:
        """A less important line, dim on a terminal."""
        if not self.as_json:
            shown = harmless(text, sys.stdout)
            dim = colour() is not False and sys.stdout.isatty()
            _print((click.style(shown, dim=True) if dim else shown) + "\n")

    def value(self, value: Any) -> None:
        """One JSON value on a line of its own: dicts, lists, Structs, dataclasses, scalars.

        Attributes are written as in RocketMQ, `queueId`; bytes are in base64.
        """
        if self.as_json:
            # Bytes: JSON is UTF-8, whatever the terminal takes.
            data = msgspec.json.encode(plain(value)) + b"\n"
            if sys.stdout.isatty():
                data = data.decode().translate(_CONTROL_IN_JSON).encode()
            _print(data)

    def row(self, text: str, value: Any) -> None:
        """A line of a table, or what it holds as a JSON value."""
        self.line(text)
        self.value(value)

    def is_unread(self) -> bool:
        """Whether the reader of the output pipe is gone: nobody would see the next line."""
        watched = select.poll()
        watched.register(sys.stdout, 0)
        return bool(watched.poll(0))

    def progress(self, items: Sequence[T], label: str) -> Iterator[T]:
        """The items, with a progress bar where somebody is watching."""
        bar: AbstractContextManager[Iterable[T]] = nullcontext(items)
        # Only when the results go elsewhere: both on one terminal would overwrite each other.
        if sys.stderr.isatty() and not sys.stdout.isatty():
            bar = click.progressbar(items, label=label, file=sys.stderr)
        with bar as watched:
            yield from watched


def _print(text: str | bytes) -> None:
    try:
        # Unchanged: click would strip escape sequences from bodies on their way into a pipe.
        click.echo(text, nl=False, color=True)
    except OSError as error:
        if error.errno == errno.EPIPE:
            # The reader has seen enough; click ends quietly.
            raise
        give_up_stdout()
        raise CannotPrint(f"cannot print: {error.strerror}") from None


def give_up_stdout() -> None:
    """Nothing more is printed.

    At exit, Python tries once more to write what is buffered, and would complain in its own words.
    """
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
