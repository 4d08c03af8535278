"""RocketMQ's own SelectorParser and expressions, asked by a small Java program; and ours, asked the same."""

from __future__ import annotations

import shutil
import subprocess
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from compat_tests.filters.expressions import Question
from compat_tests.servers import artifacts
from trimq.codec.records.properties import format_properties
from trimq.codec.sql.building import Unreadable
from trimq.codec.sql.grammar import parse
from trimq.codec.sql.null_logic import FALSE, TRUE, UNKNOWN
from trimq.codec.sql.values import NotComparable

SOURCES: Final = Path(__file__).parent / "java"
_NAMES: Final = {TRUE: "true", FALSE: "false", UNKNOWN: "unknown"}


def real_outcomes(questions: Sequence[Question]) -> list[str]:
    """For each question: refused, true, false, unknown or exception."""
    java = shutil.which("java")
    if java is None:
        raise FileNotFoundError("java is needed: apt-get install openjdk-17-jdk-headless")
    path = artifacts.program("oracle", artifacts.SERVER, sorted(SOURCES.glob("*.java")))
    command = [java, "-Xms64m", "-Xmx256m", "-Xss1m", "-XX:+UseSerialGC", "-cp", path, "Oracle"]
    lines = "".join(f"{_line(question)}\n" for question in questions)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"the oracle ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout.split()


def our_outcome(question: Question) -> str:
    """The same words."""
    try:
        expression = parse(question.text)
    except Unreadable:
        return "refused"
    try:
        return _NAMES[expression.truth(format_properties(dict(question.properties)))]
    except NotComparable:
        return "exception"


def _line(question: Question) -> str:
    pairs = [text for pair in question.properties for text in pair]
    return " ".join(b64encode(text.encode()).decode() for text in (question.text, *pairs))
