"""Which files a release is built from, and its date."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from releasing import sources
from releasing.targets import CannotBuild

WHEN = "2024-02-03T04:05:06+00:00"


def git(folder: Path, *words: str) -> None:
    names = ("-c", "user.name=x", "-c", "user.email=x@x")
    environment = {"GIT_COMMITTER_DATE": WHEN, "GIT_AUTHOR_DATE": WHEN, "PATH": "/usr/bin:/bin"}
    subprocess.run(["git", *names, *words], cwd=folder, check=True, env=environment)


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(sources.DATE, raising=False)
    root = tmp_path / "clone"
    (root / "layer").mkdir(parents=True)
    (root / "layer" / "one.py").write_text("one\n")
    (root / "docs").mkdir()
    (root / "docs" / "page.md").touch()
    (root / "trimq").mkdir()
    (root / "trimq" / "layer").symlink_to("../layer")
    git(root, "init", "--quiet")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "x")
    return root


def test_what_git_knows_is_copied_as_it_is_now(clone: Path, tmp_path: Path) -> None:
    (clone / "layer" / "one.py").write_text("changed\n")
    (clone / "layer" / "mine.py").touch()
    sources.copy(clone, tmp_path / "copy")
    files = {
        path.relative_to(tmp_path / "copy").as_posix() for path in (tmp_path / "copy").rglob("*")
    }
    assert files == {"layer", "layer/one.py", "trimq", "trimq/layer"}
    assert (tmp_path / "copy" / "layer" / "one.py").read_text() == "changed\n"
    assert (tmp_path / "copy" / "trimq" / "layer").readlink() == Path("../layer")


def test_a_deleted_file_is_not_missed(clone: Path, tmp_path: Path) -> None:
    (clone / "layer" / "one.py").unlink()
    sources.copy(clone, tmp_path / "copy")
    assert not (tmp_path / "copy" / "layer").exists()


def test_the_date_is_that_of_the_last_commit_or_as_told(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sources.seconds(clone) == 1_706_933_106
    monkeypatch.setenv(sources.DATE, "1700000000")
    assert sources.seconds(clone) == 1_700_000_000


@pytest.mark.parametrize("told", ["yesterday", "-1", "0", "1e9", " "])
def test_a_date_that_no_archive_can_hold_is_refused(
    clone: Path, monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    monkeypatch.setenv(sources.DATE, told)
    with pytest.raises(CannotBuild, match="seconds since 1970"):
        sources.seconds(clone)


def test_changes_are_named(clone: Path) -> None:
    assert sources.state(clone).endswith(" 2024-02-03")
    (clone / "layer" / "mine.py").touch()
    assert sources.state(clone).endswith(" 2024-02-03")
    (clone / "layer" / "one.py").write_text("changed\n")
    assert sources.state(clone).endswith(" 2024-02-03, with changes that are not committed")


def test_an_unpacked_archive_is_refused_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(sources.DATE, raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    with pytest.raises(CannotBuild, match="is no clone of a git repository"):
        sources.seconds(tmp_path)


def test_the_pythons_of_the_project_are_named_by_the_oldest_and_the_newest(tmp_path: Path) -> None:
    lines = [f'"Programming Language :: Python :: {one}"' for one in ("3.9", "3.12", "3.10", "3")]
    (tmp_path / "pyproject.toml").write_text(f"[project]\nclassifiers = [{', '.join(lines)}]\n")
    assert sources.pythons(tmp_path) == "3.9 to 3.12"
