"""Clients that fill the log, forge lines in it, or whose operator does not read it."""

import json
import logging
import os
import re
import sys
import threading

import pytest

from trimq.logs import writer as log_writer
from trimq.logs.setup import JsonFormatter, TextFormatter
from trimq.logs.writer import Repeats, ThreadedHandler


def record(
    text: str, *args: object, level: int = logging.WARNING, line: int = 1
) -> logging.LogRecord:
    return logging.LogRecord("trimq.broker", level, __file__, line, text, args, None)


@pytest.mark.parametrize("form", [TextFormatter(), JsonFormatter()])
def test_a_text_of_16_mb_is_cut(form: logging.Formatter) -> None:
    huge = "x" * 16_000_000
    line = form.format(record("found: topic=%s all=%s", huge, {huge: [huge] * 1000}))
    assert len(line) < 40_000
    assert "(16000000 characters)" in line
    assert len(form.format(record("sentence %s", huge))) < 1000
    assert len(form.format(record(huge))) < 2000


@pytest.mark.parametrize("form", [TextFormatter(), JsonFormatter()])
def test_a_traceback_forges_no_line(form: logging.Formatter) -> None:
    try:
        raise ValueError("x\n2026-01-31T12:00:00.123+01:00 ERROR trimq.broker forged\x1b[31m\x9b")
    except ValueError:
        failed = record("failed")
        failed.exc_info = sys.exc_info()
    line = form.format(failed)
    assert not re.search(r"^2026", line.split("\n", 1)[-1], re.MULTILINE) or line.startswith("{")
    text = json.loads(line)["traceback"] if line.startswith("{") else line
    assert "\x1b" not in text
    assert "\x9b" not in text


def test_complaints_of_a_kind_are_summed_up() -> None:
    now = [0.0]
    repeats = Repeats(lambda: now[0])
    assert sum(repeats.filter(record("bad: peer=%s", n)) for n in range(1000)) == 10
    assert (
        sum(repeats.filter(record("new", level=logging.INFO, line=2)) for _ in range(1000)) == 100
    )
    assert repeats.filter(record("other", line=3))
    assert repeats.overdue() == []
    now[0] = 1.0
    assert [one.getMessage() for one in repeats.overdue()] == [
        "and more of the same: count=990 last=bad: peer=999",
        "and more of the same: count=900 last=new",
    ]
    assert repeats.overdue() == []
    assert repeats.filter(record("bad: peer=%s", 1))


def test_a_reader_that_stops_does_not_stop_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_writer, "WAITING_LINES", 100)
    reading, writing = os.pipe()
    with open(writing, "w") as stream, open(reading) as reader:
        handler = ThreadedHandler(stream)
        long = "x" * 1000
        for number in range(3000):
            handler.handle(record(f"{number:04d} {long}", line=number))
        assert handler.dropped > 1000
        kept = 3000 - handler.dropped
        lines: list[str] = []
        taker = threading.Thread(
            target=lambda: lines.extend(reader.readline() for _ in range(kept))
        )
        taker.start()
        taker.join(60)
        assert len(lines) == kept
        assert lines == sorted(lines)
        assert lines[0].startswith("0000")
        handler.flush()
