"""`make release` with parts that are made in no time, and with a server that only pretends."""

from __future__ import annotations

import hashlib
import platform
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from releasing import release, table, trying
from releasing.checks import CannotTell, Facts
from releasing.containers import loaded_by_docker
from releasing.table import Row
from releasing.targets import MACHINES, Compiled
from releasing.trying import Failed, Trial, installed_by_pip, round_trips
from tests.releasing.test_checks import SOUND
from tests.run.interpreters import Interpreter
from tests.run.part import ROOT

TRIAL: Final = Trial("TriMQ 0.2.0 (pure Python)", 12.0, 0.25, 50 << 20)


@pytest.fixture(autouse=True)
def _folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a part that failed was tried in stays."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("tried")))


def works(_: Path, folder: Path, version: str) -> Trial:
    assert folder.is_dir()
    assert version == "0.2.0"
    return TRIAL


def fails(*_: object) -> Trial:
    raise Failed("trimq server was not ready")


def row(name: str, tried: table.Try = works) -> Row:
    return Row(
        name, ("make-it", "{version}", "{out}"), (f"{name}-{{version}}.txt",), tried, "tried"
    )


class Commands:
    """What was run; each command leaves the file of its row."""

    def __init__(self, out: Path, rows: Sequence[Row], code: int = 0) -> None:
        self._out = out
        self._rows = list(rows)
        self._code = code
        self.run: list[list[str]] = []

    def __call__(self, command: Sequence[str]) -> int:
        self.run.append(list(command))
        if command[0] == "make-it" and not self._code:
            for file in self._rows.pop(0).files("0.2.0", self._out):
                file.write_text(file.name)
        return self._code


def test_all_parts_are_made_tried_and_summed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row("second"), row("first")]
    commands = Commands(tmp_path, rows)
    assert release.release(SOUND, rows, tmp_path, tested=False, run=commands) == 0
    assert commands.run == [["make-it", "0.2.0", str(tmp_path)]] * 2
    sums = (tmp_path / "SHA256SUMS").read_text()
    names = ["first-0.2.0.txt", "second-0.2.0.txt"]
    assert sums == "".join(
        f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n" for name in names
    )
    said = capsys.readouterr().out
    assert "       15     12 s  0.25 s     50  first-0.2.0.txt: TriMQ 0.2.0 (pure Python)" in said
    assert f"git tag -a v0.2.0 {'a' * 12} -m 'TriMQ 0.2.0'" in said
    assert f'{{"version": "0.2.0", "commit": "{"a" * 40}", "date": "' in said
    assert "nothing was uploaded" in said


@pytest.mark.parametrize(
    ("tried", "code", "fault"),
    [
        (fails, 0, "failed: bad: trimq server was not ready"),
        (works, 3, "failed: bad: its command ended with 3: make-it 0.2.0"),
    ],
)
def test_a_part_that_fails_is_told_with_the_others(
    tried: table.Try, code: int, fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row("bad", tried), row("good")]
    commands = Commands(tmp_path, rows, code)
    assert release.release(SOUND, rows, tmp_path, tested=False, run=commands) == 1
    assert len(commands.run) == 2
    assert fault in capsys.readouterr().out
    assert not (tmp_path / "SHA256SUMS").exists()


def test_a_command_that_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert release.release(SOUND, [row("bad")], tmp_path, False, lambda _: 0) == 1
    assert "its command has not left bad-0.2.0.txt" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("was_played", "tested", "runs"),
    [(True, False, False), (False, True, False), (False, False, True)],
)
def test_the_tests_come_first(was_played: bool, tested: bool, runs: bool, tmp_path: Path) -> None:
    facts = replace(SOUND, was_played=was_played)
    commands = Commands(tmp_path, [])
    assert release.release(facts, [], tmp_path, tested, commands) == 0
    assert commands.run == ([["make", "--no-print-directory", "test"]] if runs else [])


def test_nothing_is_built_when_they_fail(tmp_path: Path) -> None:
    facts = replace(SOUND, was_played=False)
    commands = Commands(tmp_path, [row("one")], code=1)
    assert release.release(facts, [row("one")], tmp_path, False, commands) == 1
    assert [one[0] for one in commands.run] == ["make"]


@pytest.fixture
def gathered(monkeypatch: pytest.MonkeyPatch) -> list[Facts]:
    """What the checkout is found to be."""
    found = [SOUND]
    monkeypatch.setattr(release, "gather", lambda asked, _: replace(found[0], asked=asked))
    return found


def test_a_dry_run_shows_the_plan(
    gathered: list[Facts], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gathered[0] = replace(SOUND, was_played=False)
    words = ["0.2.0", "--dry-run", "--out", str(tmp_path)]
    assert release.main(words, [row("one")]) == 0
    said = capsys.readouterr().out
    assert "yes  everything is committed\n" in said
    assert said.endswith(
        f"first of all: make test\none:\n    make-it 0.2.0 {tmp_path}\n"
        "    leaves one-0.2.0.txt, which is tried: tried\nSHA256SUMS with a line for each file\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [[], ["--dry-run"]])
def test_every_fault_is_shown_and_nothing_is_built(
    words: list[str], gathered: list[Facts], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gathered[0] = replace(SOUND, status=(" M x",), left=("y",))
    assert release.main(["0.2.0", *words, "--out", str(tmp_path)], [row("one", fails)]) == 1
    said = capsys.readouterr().out
    assert "no   everything is committed: not committed: x; commit" in said
    assert "no   dist/ is empty: dist/ is not empty: y; move" in said
    assert list(tmp_path.iterdir()) == []


def test_no_version_and_no_clone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release.main([]) == 2

    def cannot(*_: object) -> Facts:
        raise CannotTell("git says no")

    monkeypatch.setattr(release, "gather", cannot)
    assert release.main(["0.2.0"]) == 1
    assert "make release: git says no" in capsys.readouterr().err


def test_what_was_not_tried_and_not_built_is_told_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        Row("gone", (), (), None, "no Python 3.14 is here"),
        replace(row("other", works), tried=None, how="this machine is not an abacus"),
    ]
    commands = Commands(tmp_path, rows[1:])
    assert release.release(SOUND, rows, tmp_path, tested=True, run=commands) == 0
    assert commands.run == [["make-it", "0.2.0", str(tmp_path)]]
    said = capsys.readouterr().out
    untried = "       15        -       -      -  other-0.2.0.txt: not tried: this machine is not an abacus"
    assert f"{untried}\nnot built: gone: no Python 3.14 is here\n" in said
    assert (tmp_path / "SHA256SUMS").read_text().endswith("  other-0.2.0.txt\n")
    release.plan(SOUND, rows, tmp_path, tested=True)
    said = capsys.readouterr().out
    assert "gone: is not built: no Python 3.14 is here\n" in said
    assert "leaves other-0.2.0.txt, which is not tried: this machine is not an abacus\n" in said


PYTHONS: Final = {
    "3.11": Interpreter((3, 11, 7), Path("/pythons/3.11")),
    "3.12": Interpreter((3, 12, 1), Path("/pythons/3.12")),
}


# With and without an engine that builds images.
EVERY: Final = [
    *table.rows(PYTHONS, lambda _: "no docker here"),
    *(table.image_of(machine, PYTHONS, "") for machine in MACHINES),
]


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.name)
def test_a_row_of_the_table_can_be_run(one: Row) -> None:
    words = one.words("0.2.0", Path("dist"))
    if not words:
        assert one.how
        return
    assert "dist" in words
    assert one.files("0.2.0", Path("dist"))
    assert one.how
    if words[0] == sys.executable:
        assert words[1] == "-m"
        assert (ROOT / words[2].replace(".", "/")).with_suffix(".py").is_file()


def test_a_compiled_wheel_is_tried_by_its_own_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    found = table.compiled(Compiled("3.12", "x86_64"), PYTHONS)
    assert found.command[-2:] == ("--only", "cp312-x86_64")
    assert found.files("0.2.0", Path("dist")) == [
        Path("dist/trimq-0.2.0-cp312-cp312-manylinux2014_x86_64.manylinux_2_17_x86_64.whl")
    ]
    assert isinstance(found.tried, partial)
    assert found.tried.func is installed_by_pip
    assert found.tried.keywords == {"interpreter": Path("/pythons/3.12"), "build": "compiled"}
    assert "of CPython 3.12.1;" in found.how


@pytest.mark.parametrize(
    ("name", "is_built", "how"),
    [
        ("cp311-aarch64", True, "this machine is not aarch64"),
        ("cp312-aarch64", False, "no release of Debian has Python 3.12 for aarch64"),
        ("cp313-x86_64", False, "no Python 3.13 is here: pyenv install 3.13 gets it"),
    ],
)
def test_the_other_compiled_wheels_say_why_not(
    name: str, is_built: bool, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    found = {one.name: one for one in table.rows(PYTHONS, lambda _: "no docker here")}[name]
    assert bool(found.command) == is_built
    assert found.tried is None
    assert found.how.startswith(how)


def test_an_image_of_the_other_processor_has_the_wheel_of_the_release_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    pythons = {"3.13": Interpreter((3, 13, 0), Path("/pythons/3.13"))}
    found = table.image_of("aarch64", pythons, "")
    wheel = "trimq-0.2.0-cp313-cp313-manylinux2014_aarch64.manylinux_2_17_aarch64.whl"
    words = found.words("0.2.0", Path("dist"))
    assert words[1:] == [
        *("-m", "releasing.image", "--machine", "aarch64", "--tag", "trimq:0.2.0-arm64"),
        *("--out", "dist", "--wheel", f"dist/{wheel}"),
    ]
    assert found.files("0.2.0", Path("dist")) == [Path("dist/trimq-0.2.0-image-arm64.tar.gz")]
    assert isinstance(found.tried, partial)
    assert found.tried.func is loaded_by_docker
    assert found.tried.keywords == {"machine": "aarch64"}
    assert found.how.startswith("docker loads it, emulated; it sends")
    assert "--wheel" not in table.image_of("x86_64", {}, "").words("0.2.0", Path("dist"))


@pytest.mark.parametrize(
    ("machine", "lacking", "how"),
    [
        ("x86_64", "no docker here", "no docker here"),
        ("aarch64", "no docker here", "no docker here"),
        ("aarch64", "", "no Python 3.13 is here: pyenv install 3.13 gets it"),
    ],
)
def test_an_image_that_cannot_be_built_says_why(
    machine: str, lacking: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    found = table.image_of(machine, PYTHONS, lacking)
    assert (found.command, found.leaves, found.tried, found.how) == ((), (), None, how)


def test_it_is_installed_by_the_python_that_is_named(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "no $*" >&2\nexit 3\n')
    python.chmod(0o755)
    with pytest.raises(Failed, match=r"python -m venv .*/venv ended with 3: no -m venv"):
        installed_by_pip(Path("a.whl"), tmp_path, "0.2.0", python)


def test_a_build_that_is_another_one_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trying, "run", lambda *_: "TriMQ 0.2.0 (pure Python)\n")
    monkeypatch.setattr(trying, "round_trips", lambda *_: (0.5, 1))
    with pytest.raises(
        Failed, match=r"says 'TriMQ 0\.2\.0 \(pure Python\)', which is not compiled"
    ):
        installed_by_pip(Path("a.whl"), tmp_path, "0.2.0", build="compiled")
    assert installed_by_pip(Path("a.whl"), tmp_path, "0.2.0").start_seconds == 0.5


# `trimq server` of a kind: what `messages.py` sends is in a file.
SERVER: Final = """
import pathlib, signal, sys, time
store = pathlib.Path(sys.argv[sys.argv.index("--store") + 1])
store.mkdir(exist_ok=True)
if "FORGETS" and (store / "sent").exists():
    (store / "sent").write_text("")
signal.signal(signal.SIGTERM, lambda *_: sys.exit(STOPS))
print(f"TriMQ ready: namesrv={store} broker=b store={store} in 1 ms", flush=True)
while True:
    time.sleep(1)
"""
MESSAGES: Final = """
import pathlib, sys
store, what, *numbers = sys.argv[1:]
file = pathlib.Path(store) / "sent"
if what == "send":
    first, count = map(int, numbers)
    new = [f"message {number:06d}" for number in range(first, first + count)]
    file.write_text("\\n".join([*(file.read_text().splitlines() if file.exists() else []), *new]))
    print("\\n".join(new))
else:
    sys.stdout.write(file.read_text())
"""


def tried(folder: Path, *, forgets: bool = False, stops: int = 0) -> tuple[float, int]:
    text = SERVER.replace('"FORGETS"', str(forgets)).replace("STOPS", str(stops))
    (folder / "server.py").write_text(text)
    (folder / "messages.py").write_text(MESSAGES)
    words = [[sys.executable, str(folder / name)] for name in ("server.py", "messages.py")]
    return round_trips(words[0], words[1], folder)


def test_a_round_trip(tmp_path: Path) -> None:
    seconds, memory = tried(tmp_path)
    assert seconds > 0
    assert memory > 1 << 20


def test_what_goes_wrong_on_the_way(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=f"{trying.COUNT} messages were sent; after kill -9, 0 are"):
        tried(tmp_path, forgets=True)
    (tmp_path / "store" / "sent").unlink()
    with pytest.raises(Failed, match="ended with 3 after SIGTERM"):
        tried(tmp_path, stops=3)
    with pytest.raises(Failed, match="was not ready"):
        round_trips([sys.executable, "-c", "pass"], [], tmp_path)
