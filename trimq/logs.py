"""Structured logs: one line an event, as text (``key=value`` in the message) or as JSON.

Loggers are named by layer (``trimq.remoting``, ``trimq.broker``, ...). The level is given by flag;
SIGUSR1 switches a running server to DEBUG and back.
"""

import json
import logging
import signal
import sys
from types import FrameType
from typing import Final

ROOT: Final = "trimq"
LEVELS: Final = ("debug", "info", "warning", "error")
FORMATS: Final = ("text", "json")


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and the traceback if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, str] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class TextFormatter(logging.Formatter):
    """``2026-01-31 12:00:00.123 INFO trimq.broker message``."""

    default_msec_format = "%s.%03d"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")


def configure(level: str, form: str) -> None:
    """Send TriMQ's logs to standard error. Standard output carries the ready line alone."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger(ROOT)
    root.handlers[:] = [handler]
    root.propagate = False
    root.setLevel(level.upper())


def switch_level_on_signal(level: str) -> None:
    """SIGUSR1: DEBUG, and again: back to the level of the flag."""
    usual = logging.getLevelNamesMapping()[level.upper()]

    def toggle(_number: int, _frame: FrameType | None) -> None:
        root = logging.getLogger(ROOT)
        root.setLevel(usual if root.level == logging.DEBUG else logging.DEBUG)
        root.warning("log level is now %s", logging.getLevelName(root.level).lower())

    signal.signal(signal.SIGUSR1, toggle)
