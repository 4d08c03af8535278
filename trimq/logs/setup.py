"""Structured logs: one line per event, as text (a sentence, then ``key=value``) or as JSON.

Loggers are named by layer (``trimq.remoting``, ``trimq.broker``, ...). The level is given by flag;
SIGUSR1 switches a running server to DEBUG and back.
"""

import json
import logging
import signal
import sys
from types import FrameType
from typing import Any, Final

from trimq.logs.lines import line_of, plain, text_of, time_of, traceback_of
from trimq.logs.writer import ThreadedHandler

ROOT: Final = "trimq"
LEVELS: Final = ("debug", "info", "warning", "error")
FORMATS: Final = ("text", "json")


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, then the fields, then a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        line = line_of(record)
        said: dict[str, Any] = {
            "time": time_of(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": line.sentence,
        }
        for name, value in line.fields.items():
            said[f"{name}_" if name in said or name == "traceback" else name] = plain(value)
        if record.exc_info:
            said["traceback"] = traceback_of(self.formatException(record.exc_info))
        return json.dumps(said, ensure_ascii=False)


class TextFormatter(logging.Formatter):
    """``2026-01-31T12:00:00.123+01:00 INFO trimq.broker consumer joined: group=g client=c``."""

    def format(self, record: logging.LogRecord) -> str:
        line = line_of(record)
        text = f"{time_of(record)} {record.levelname} {record.name} {line.sentence}"
        if line.fields:
            fields = (f"{name}={text_of(value)}" for name, value in line.fields.items())
            text += ": " + " ".join(fields)
        if record.exc_info:
            text += "\n" + traceback_of(self.formatException(record.exc_info), "    ")
        return text


class Within(logging.Filter):
    """Every logger of this process is one of `parent`: several processes write to one stream."""

    def __init__(self, parent: str) -> None:
        super().__init__()
        self._parent = parent

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name != self._parent and not record.name.startswith(f"{self._parent}."):
            record.name = self._parent + record.name.removeprefix(ROOT)
        return True


def configure(level: str, form: str, within: str = "") -> None:
    """Send TriMQ's logs to standard error. Standard output carries the ready line alone.

    `within`: what the names of loggers begin with, of a process that shares its stream with others.
    """
    handler = ThreadedHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    if within:
        handler.addFilter(Within(within))
    root = logging.getLogger(ROOT)
    root.handlers[:] = [handler]
    root.propagate = False
    root.setLevel(level.upper())


def dropped_lines() -> int:
    """Log lines that were dropped because nobody reads standard error."""
    handlers = logging.getLogger(ROOT).handlers
    return sum(one.dropped for one in handlers if isinstance(one, ThreadedHandler))


def switch_level_on_signal(level: str) -> None:
    """SIGUSR1: DEBUG, and again: back to the level of the flag."""
    usual = logging.getLevelNamesMapping()[level.upper()]

    def toggle(_number: int, _frame: FrameType | None) -> None:
        root = logging.getLogger(ROOT)
        root.setLevel(usual if root.level == logging.DEBUG else logging.DEBUG)
        root.warning("log level is now %s", logging.getLevelName(root.level).lower())

    # Not every system has it.
    if hasattr(signal, "SIGUSR1"):
        signal.signal(signal.SIGUSR1, toggle)
