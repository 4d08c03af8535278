"""What git says has changed: new files, moved ones, odd names; and when it can say nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.run.changed import changed_files, is_unknown

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
WHO = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *WHO, *words], cwd=folder, capture_output=True, check=True)
    return done.stdout.decode().strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "clone"
    folder.mkdir()
    git(folder, "init", "--quiet")
    for name in ("kept", "edited", "staged", "moved", "gone"):
        (folder / f"{name}.py").write_text(f"{name} = 1\n" * 20)
    (folder / ".gitignore").write_text("*.so\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "first")
    return folder


def test_all_kinds_of_changes(clone: Path) -> None:
    first = git(clone, "rev-parse", "HEAD")
    assert changed_files(first, clone) == []
    (clone / "edited.py").write_text("edited = 2\n")
    git(clone, "mv", "moved.py", "now.py")
    git(clone, "commit", "--quiet", "-a", "-m", "second")
    (clone / "staged.py").write_text("staged = 2\n")
    git(clone, "add", "staged.py")
    (clone / "gone.py").unlink()
    (clone / "sub").mkdir()
    (clone / "sub" / "new, with ünusual\nname.py").touch()
    (clone / "left.so").touch()
    assert changed_files(first, clone) == [
        "edited.py",
        "gone.py",
        "moved.py",
        "now.py",
        "staged.py",
        "sub/new, with ünusual\nname.py",
    ]
    assert "moved.py" not in (changed_files("HEAD", clone) or [])


def test_nobody_can_say(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert changed_files("0" * 40, clone) is None
    assert changed_files("--output=x", clone) is None
    # A copy of the sources in somebody else's clone.
    copy = clone / "copy"
    copy.mkdir()
    assert changed_files("HEAD", copy) is None
    assert changed_files("HEAD", tmp_path) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert changed_files("HEAD", clone) is None


def test_a_shallow_clone_lacks_old_commits(clone: Path, tmp_path: Path) -> None:
    first = git(clone, "rev-parse", "HEAD")
    (clone / "edited.py").write_text("edited = 2\n")
    git(clone, "commit", "--quiet", "-a", "-m", "second")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{clone}", str(shallow))
    assert changed_files(first, shallow) is None
    assert changed_files("HEAD", shallow) == []


def test_another_repository_of_the_environment_is_not_asked(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nothing"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert changed_files("HEAD", clone) == []


def test_a_commit_that_the_clone_does_not_have(clone: Path, tmp_path: Path) -> None:
    for known in ("HEAD", git(clone, "rev-parse", "--short", "HEAD")):
        assert not is_unknown(known, clone)
    for wrong in ("HAED", "0" * 40, "--output=x", ""):
        assert is_unknown(wrong, clone)
    # Whether it is there cannot be said where there is no clone.
    assert not is_unknown("HAED", tmp_path)
