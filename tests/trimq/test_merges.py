"""No file that git knows holds what a merge has left undone."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MARKS = ("<" * 7 + " ", "|" * 7 + " ", ">" * 7 + " ")


def marks_in(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(MARKS)]


def test_no_file_holds_both_sides_of_a_merge() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode != 0:
        pytest.skip(f"no checkout of git: {listed.stderr.decode()}")
    files = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    texts = ((file, file.read_text(errors="replace")) for file in files if file.is_file())
    assert [str(file) for file, text in texts if marks_in(text)] == []


def test_a_mark_is_seen() -> None:
    assert marks_in(f"one\n{MARKS[0]}HEAD\ntwo\n=======\nthree\n{MARKS[2]}other\n")
