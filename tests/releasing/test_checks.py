"""What keeps a release from being made: each fault is one sentence that says what to do."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

import trimq
from docs import generate
from releasing.checks import CHECKS, CannotTell, Facts, gather, was_played
from releasing.releases import FILE, Release, newest, order, releases
from tests.run.part import ROOT
from tests.run.played import Played
from tests.run.table import live_parts

BEFORE: Final = Release("0.1.0", "c" * 40, "2026-01-31")
SOUND: Final = Facts(
    asked="0.2.0",
    commit="a" * 40,
    status=(),
    project="0.2.0",
    package="0.2.0",
    heading="## 0.2.0 (2026-02-28)",
    before=BEFORE,
    stale_pages=(),
    left=(),
    was_played=True,
)


def faults(facts: Facts) -> list[str]:
    return [fault for one in CHECKS if (fault := one.fault(facts))]


def test_a_sound_checkout_has_none() -> None:
    assert faults(SOUND) == []


HEADING: Final = (
    'the first heading of CHANGELOG.md is "{}": write "## 0.2.0 (YYYY-MM-DD)", with the day of the release,'
    " and commit it"
)
# What differs from the sound one, and what is said of it.
FAULTS: Final[list[tuple[dict[str, Any], str]]] = [
    ({"asked": "next"}, "next is no version: write MAJOR.MINOR.PATCH, as in 0.2.0"),
    (
        {"asked": "0.1.0"},
        "0.1.0 is not above 0.1.0, which releasing/releases.json has last: choose a higher one",
    ),
    (
        {"asked": "0.2.0.dev1"},
        "0.2.0.dev1 is the version of a commit, not of a release: write it without .dev",
    ),
    (
        {"status": (" M broker/config.py", "?? notes.txt")},
        "not committed: broker/config.py, notes.txt; commit, stash or remove that",
    ),
    (
        {"project": "0.1.0"},
        'pyproject.toml says 0.1.0: write version = "0.2.0" there, and commit it',
    ),
    (
        {"package": "0.1.0"},
        'trimq/__init__.py says 0.1.0: write __version__ = "0.2.0" there, and commit it',
    ),
    ({"heading": "## Unreleased (0.2.0)"}, HEADING.format("## Unreleased (0.2.0)")),
    ({"heading": "## 0.1.0 (2026-01-31)"}, HEADING.format("## 0.1.0 (2026-01-31)")),
    (
        {"stale_pages": ("settings.md",)},
        "docs/ is not as it would be made: settings.md; run make docs, and commit it",
    ),
    (
        {"left": tuple("abcdefg")},
        "dist/ is not empty: a, b, c, d, e and 2 more; move that away, or rm -r dist",
    ),
]


@pytest.mark.parametrize(("changed", "sentence"), FAULTS)
def test_a_fault_says_what_to_do(changed: dict[str, Any], sentence: str) -> None:
    assert sentence in faults(replace(SOUND, **changed))


def test_all_are_named_at_once() -> None:
    bad = replace(
        SOUND, asked="0.1.0", status=(" M x",), heading="", stale_pages=("a.md",), left=("b",)
    )
    assert len(faults(bad)) == len(CHECKS)


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    command = ["git", *who, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with what is looked at, all of it as it must be for 0.2.0."""
    root = tmp_path / "checkout"
    for name, text in {
        "pyproject.toml": '[project]\nname = "trimq"\nversion = "0.2.0"\n',
        "trimq/__init__.py": '"""TriMQ."""\n\n__version__ = "0.2.0"\n',
        "CHANGELOG.md": "# Changelog\n\nNewest first.\n\n## 0.2.0 (2026-02-28)\n\n## 0.1.0 (2026-01-31)\n",
        "releasing/releases.json": f"[\n{BEFORE.line()}\n]\n",
        "docs/page.md": "made\n",
    }.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setattr(generate, "PAGES", {"page.md": lambda: "made\n"})
    git(root.parent, "init", "--quiet", str(root))
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "all")
    return root


def test_what_is_gathered(checkout: Path) -> None:
    commit = git(checkout, "rev-parse", "HEAD").strip()
    found = gather("0.2.0", checkout / "dist", checkout)
    assert found == replace(SOUND, commit=commit, was_played=False)


def test_what_is_gathered_of_a_bad_one(checkout: Path) -> None:
    (checkout / "docs" / "page.md").write_text("by hand\n")
    (checkout / "dist").mkdir()
    (checkout / "dist" / "old.whl").touch()
    found = gather("0.3.0", checkout / "dist", checkout)
    assert found.status == (" M docs/page.md", "?? dist/")
    assert (found.stale_pages, found.left) == (("page.md",), ("old.whl",))
    assert len(faults(found)) == 6


def test_a_folder_that_is_no_clone(tmp_path: Path) -> None:
    with pytest.raises(CannotTell, match="a release is made in a clone"):
        gather("0.2.0", tmp_path / "dist", tmp_path)


def test_when_the_tests_were_played(checkout: Path) -> None:
    """At this state, or at one that differs in the note of it only; and no part was left out for too long."""
    file = checkout / "tests" / "run" / "played.json"
    file.parent.mkdir(parents=True)
    landed = git(checkout, "rev-parse", "HEAD").strip()
    parts = [one.name for one in live_parts()]
    Played([landed], dict.fromkeys(parts, landed)).write(file)
    git(checkout, "add", ".")
    git(checkout, "commit", "--quiet", "-m", "played")
    assert was_played(checkout, "HEAD")
    Played([landed], dict.fromkeys(parts[1:], landed)).write(file)
    assert not was_played(checkout, "HEAD")
    Played([landed], dict.fromkeys(parts, landed)).write(file)
    (checkout / "broker.py").touch()
    git(checkout, "add", ".")
    git(checkout, "commit", "--quiet", "-m", "more")
    assert not was_played(checkout, "HEAD")
    Played(["0" * 40], dict.fromkeys(parts, "0" * 40)).write(file)
    assert not was_played(checkout, "HEAD")


def test_the_list_of_releases() -> None:
    """In order, each commit in full and known here, and nothing above the version that is being made."""
    found = releases()
    assert [one.version for one in found] == sorted((one.version for one in found), key=order)
    assert all(len(one.commit) == 40 for one in found)
    assert order(newest().version) <= order(trimq.__version__)
    lines = FILE.read_text().splitlines()
    assert [json.loads(line.rstrip(",")) for line in lines[1:-1]] == json.loads(FILE.read_text())
    assert [line.rstrip(",") for line in lines[1:-1]] == [one.line() for one in found]


def test_versions_have_an_order() -> None:
    versions = ["0.1.0.dev0", "0.1.0", "0.1.1", "0.2.0", "0.10.0", "1.0.0"]
    assert sorted(reversed(versions), key=order) == versions
    for text in ("", "1", "1.2", "v1.2.3", "1.2.3rc1", "1.2.3 "):
        with pytest.raises(ValueError, match="is no version"):
            order(text)


def test_all_places_name_one_version() -> None:
    """Those that a release compares agree in every commit."""
    found = gather(trimq.__version__, ROOT / "no such folder")
    assert found.project == found.package == trimq.__version__
    assert trimq.__version__ in found.heading
