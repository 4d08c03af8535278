"""How far a drain is: a bar where somebody is watching, else a line for every change; and how it ends early."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import click

from trimq.mqadmin.failures import FAILURES, Failed
from trimq.mqadmin.framework import Run


@contextmanager
def saying_what_next(how_it_stands: Callable[[], str]) -> Iterator[None]:
    """Failed, with how it stands, when the block is interrupted or fails."""
    # Being stopped by a service manager ends as tidily as Ctrl-C.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        raise Failed(f"interrupted; {how_it_stands()}") from None
    except FAILURES as error:
        raise Failed(f"{error}; {how_it_stands()}") from None
    finally:
        signal.signal(signal.SIGTERM, before)


class DrainBar:
    def __init__(self, run: Run, label: str) -> None:
        self._out = run.out
        self._label = label
        self._bar: Any = None
        self._last = ""
        self.watched = sys.stdout.isatty() and not run.out.as_json

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.finish()
            self._bar.render_finish()

    def line(self, text: str, value: dict[str, Any]) -> None:
        """Unless it says what the last one said."""
        if text != self._last:
            self._last = text
            self._out.row(f"{self._label}: {text}", value)

    def draw(self, total: int, text: str = "") -> None:
        """So many messages are left; `text` stands behind the bar."""
        if self._bar is None:
            self._bar = click.progressbar(
                length=max(total, 1), label=self._label, item_show_func=lambda item: item or None
            )
        bar = self._bar
        # Late sends make it longer.
        bar.length = max(bar.length, total)
        bar.update(bar.length - total - bar.pos, text)
        bar.render_progress()
