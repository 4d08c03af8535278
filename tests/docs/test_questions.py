"""tests/docs/questions.md: what it says is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(
    r"^\| (?P<question>[^|]+\?) \| (?P<file>[\w/]+\.py) \| (?P<function>\w+) \|$", re.MULTILINE
)
ANSWERS = [
    (row["question"], row["file"], row["function"])
    for row in ROW.finditer((Path(__file__).parent / "questions.md").read_text("utf-8"))
]


def test_there_are_forty_of_them_about_forty_files() -> None:
    assert len(ANSWERS) == len({file for _, file, _ in ANSWERS}) == 40


@pytest.mark.parametrize(
    ("question", "file", "function"), ANSWERS, ids=[file for _, file, _ in ANSWERS]
)
def test_the_file_holds_the_function(question: str, file: str, function: str) -> None:
    text = (ROOT / file).read_text("utf-8")
    assert re.search(rf"^ *(async )?def {function}\(", text, re.MULTILINE), question
