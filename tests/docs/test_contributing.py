"""The files and tests that CONTRIBUTING.md names are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.findall(r"`([^`\n]+)`", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
# `parts/namesrv/` continues the path before it.
PATHS = sorted({word for word in NAMED if re.fullmatch(r"(?!parts/)[\w.]+/[\w./:]*", word)})
TESTS = sorted({word for word in NAMED if re.fullmatch(r"test_\w+", word)})


@pytest.mark.parametrize("name", PATHS)
def test_it_is_there(name: str) -> None:
    path, _, test = name.partition("::")
    assert (ROOT / path).exists()
    assert not test or f"def {test}(" in (ROOT / path).read_text("utf-8")


@pytest.mark.parametrize("name", TESTS)
def test_what_is_named_alone_is_a_test(name: str) -> None:
    """Its file stands in the line above it."""
    found = {path.partition("::")[0] for path in PATHS if "::" in path}
    assert any(f"def {name}(" in (ROOT / path).read_text("utf-8") for path in found)


def test_something_is_named() -> None:
    assert len(PATHS) > 20
    assert len(TESTS) > 3
