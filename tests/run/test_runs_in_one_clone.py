"""Runs of parts of `make test` in one clone: none takes anything away from another."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.run import parts

# Groups of this test's own, by name: a part called `part`, or one that builds.
RUN = """
import sys
from pathlib import Path
from tests.run import parts

root, name, file = sys.argv[1:]
parts.RESULTS = Path(root)
words = ("-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--rootdir", root, file)
parts.GROUPS = {
    "quick": lambda: parts.Group([parts.Part("part", words)]),
    "builds": lambda: parts.Group([parts.Part("build", words)]),
}
sys.exit(parts.main([name]))
"""
WAITS = """
import time
from pathlib import Path

def test_waits():
    Path("{root}/begun").touch()
    while not Path("{root}/end").exists():
        time.sleep(0.02)
"""


def start(root: Path, name: str, file: Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", RUN, str(root), name, str(file)]
    return subprocess.Popen(
        words, cwd=parts.ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def begun(root: Path, run: subprocess.Popen[str]) -> None:
    while not (root / "begun").exists():
        assert run.poll() is None, run.communicate()
        time.sleep(0.02)


def files(root: Path) -> tuple[Path, Path]:
    """A test that waits until it may end, and one that does not."""
    slow, quick = root / "test_slow.py", root / "test_quick.py"
    slow.write_text(WAITS.format(root=root))
    quick.write_text("def test_it(): pass\n")
    return slow, quick


def test_a_second_run_leaves_the_first_ones_reports_alone(tmp_path: Path) -> None:
    slow, quick = files(tmp_path)
    with start(tmp_path, "quick", slow) as first:
        begun(tmp_path, first)
        with start(tmp_path, "quick", quick) as second:
            seconds, _ = second.communicate()
        newest = (tmp_path / "latest").resolve()
        assert second.returncode == 0
        (tmp_path / "end").touch()
        firsts, errors = first.communicate()
    assert first.returncode == 0, errors
    for run, printed in ((first, firsts), (second, seconds)):
        (folder,) = tmp_path.glob(f"*-*-{run.pid}")
        assert f"all of it is in {folder}" in printed
        assert sorted(file.name for file in folder.iterdir()) == [
            "again.txt",
            "part.txt",
            "part.xml",
        ]
        row = next(
            line
            for line in printed.splitlines()
            if line.startswith("part  ") and "seconds" not in line
        )
        assert row.split()[3:] == ["1", "0", "0"]
    assert newest.name.endswith(f"-{second.pid}")


def test_only_one_run_at_a_time_builds(tmp_path: Path) -> None:
    slow, quick = files(tmp_path)
    with start(tmp_path, "builds", slow) as first:
        begun(tmp_path, first)
        with start(tmp_path, "builds", quick) as second:
            printed, errors = second.communicate()
        assert (second.returncode, printed) == (1, "")
        assert "another run" in errors
        assert "use another clone" in errors
        (tmp_path / "end").touch()
        _, errors = first.communicate()
    assert first.returncode == 0, errors


def test_the_oldest_runs_go_unless_they_are_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "RESULTS", tmp_path)
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as running:
        old = [tmp_path / f"20200101-0000{number:02}-{ended.pid}" for number in range(12)]
        alive = tmp_path / f"20200101-000000-{running.pid}"
        for folder in (*old, alive):
            folder.mkdir()
        made = parts.own_folder()
        there = {folder for folder in tmp_path.glob("*-*-*")}
        running.communicate(b"\n")
    assert there == {*old[-(parts.KEPT - 1) :], alive, made}
    assert (tmp_path / "latest").resolve() == made
