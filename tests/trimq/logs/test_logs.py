"""Log lines: a sentence and its fields, as text and as JSON."""

import json
import logging
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from trimq.logs.lines import line_of
from trimq.logs.setup import JsonFormatter, TextFormatter, Within

ZONED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d")


def record(text: str, *args: Any) -> logging.LogRecord:
    return logging.LogRecord("trimq.broker", logging.INFO, __file__, 1, text, args, None)


def as_json(text: str, *args: Any) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(JsonFormatter().format(record(text, *args)))
    return said


def as_text(text: str, *args: Any) -> str:
    return TextFormatter().format(record(text, *args))


def test_fields_are_fields() -> None:
    said = as_json("topic created: topic=%s read=%d order=%s why=%s", "T", 4, False, None)
    assert ZONED.fullmatch(said.pop("time"))
    assert said == {
        "level": "info",
        "logger": "trimq.broker",
        "message": "topic created",
        "topic": "T",
        "read": 4,
        "order": False,
    }


def test_a_field_does_not_replace_what_every_line_has() -> None:
    said = as_json("x level=%d message=%s time=%s", 3, "m", {0: 204})
    assert (said["level"], said["message"]) == ("info", "x")
    assert (said["level_"], said["message_"], said["time_"]) == (3, "m", {"0": 204})


def test_a_line_of_text() -> None:
    line = as_text("group %s: group=%s ok=%s to=%s why=%s", "made", "g", True, {0: 204}, "it was")
    moment, rest = line.split(" ", 1)
    assert ZONED.fullmatch(moment)
    assert rest == 'INFO trimq.broker group made: group=g ok=true to={"0":204} why="it was"'


@pytest.mark.parametrize("form", [as_text, as_json])
def test_nobody_else_writes_lines(form: Any) -> None:
    written = form("found: topic=%s", "a\n2026 ERROR \x1b[31mb\u2028c")
    if isinstance(written, dict):
        return
    assert written.isprintable()
    assert r'topic="a\n2026 ERROR \x1b[31mb\u2028c"' in written
    assert form("a\nb").endswith(r" a\nb")


def test_percent_signs_and_wrong_calls_are_harmless() -> None:
    assert line_of(record("%d %% full: use=%s", 90, "x")).sentence == "90 % full"
    assert line_of(record("100 %s of it")).sentence == "100 %s of it"
    assert line_of(record("a=%s b=%s", 1)).fields == {"a": 1, "b": "?"}
    assert line_of(record("given: to=%s", {"q": 1})).fields == {"to": {"q": 1}}


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
def test_tracebacks_are_kept(formatter: logging.Formatter) -> None:
    failed = record("failed: code=%d", 10)
    try:
        raise ValueError("bad")
    except ValueError:
        failed.exc_info = sys.exc_info()
    assert "ValueError: bad" in formatter.format(failed)


def test_templates_name_their_fields() -> None:
    """What is not ``name=%s`` would be words in JSON."""
    root = Path(__file__).parents[3]
    folders = ("broker", "namesrv", "processors", "remoting")
    files = [file for folder in folders for file in (root / folder).rglob("*.py")]
    call = re.compile(r"\blog\.\w+\(\s*f?\"((?:[^\"]|\"\s*\")*)\"")
    for file in files:
        for found in call.finditer(file.read_text("utf-8")):
            assert not re.search(r"(?<!=)%[sd]", found[1]), f"{file}: {found[1]}"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("trimq", "trimq.proxy"),
        ("trimq.server", "trimq.proxy.server"),
        ("trimq.proxy", "trimq.proxy"),
        ("trimq.proxy.grpc", "trimq.proxy.grpc"),
        ("trimq.proxying", "trimq.proxy.proxying"),
    ],
)
def test_of_two_processes_on_one_stream_the_name_tells_which(name: str, expected: str) -> None:
    of_it = logging.LogRecord(name, logging.INFO, __file__, 1, "said", (), None)
    assert Within("trimq.proxy").filter(of_it)
    assert of_it.name == expected
