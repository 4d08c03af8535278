"""What a package index shows of TriMQ."""

import re
import runpy
import tomllib
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
README: Final = (ROOT / "README.md").read_text("utf-8")
SHOWN: Final[str] = runpy.run_path(str(ROOT / "building" / "readme.py"))["for_an_index"](README)


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return found


def test_its_readme_links_to_nothing_in_the_tree() -> None:
    targets = re.findall(r"\]\(([^)]*)\)", SHOWN)
    assert all(target.startswith("https://") for target in targets)
    assert "![" not in SHOWN
    assert len(re.findall(r"\]\(", README)) > 20


def test_it_says_the_rest_of_readme() -> None:
    assert "[docs/testing.md](docs/testing.md) shows it from Python" in README
    assert "docs/testing.md shows it from Python" in SHOWN
    # One line is added, and an empty one before it.
    assert len(SHOWN.splitlines()) == len(README.splitlines()) + 2
    outside_links = re.sub(r"!?\[([^]]+)\]\([^)]+\)", r"\1", README)
    assert SHOWN.startswith(outside_links)


def test_it_says_for_whom_it_is() -> None:
    fields = project()
    assert fields["keywords"]
    assert fields["authors"]
    kinds = {word.partition(" :: ")[0] for word in fields["classifiers"]}
    assert {"Development Status", "Intended Audience", "Operating System", "Topic"} <= kinds
    assert fields["classifiers"] == sorted(fields["classifiers"])
