"""What `make serve` runs: plain Python at once, and what is compiled as soon as it is there, for these sources only."""

import fcntl
import importlib
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """On a machine that can compile, with nothing said of it in the environment."""
    monkeypatch.syspath_prepend(ROOT / "building")
    monkeypatch.delenv("TRIMQ_COMPILE", raising=False)
    module = importlib.import_module("serving")
    monkeypatch.setattr(module, "obstacle", lambda: "")
    yield module
    del sys.modules["serving"]


class Machine:
    """A tree, a pip that may fail, and the processes that were started beside."""

    def __init__(self, serving: ModuleType, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.serving, self.root = serving, root
        self.fails = False
        self.installed = 0
        # What somebody writes into the module meanwhile.
        self.edit = ""
        self.beside: list[list[str]] = []
        for name in serving.MADE_FROM:
            (root / name).parent.mkdir(exist_ok=True, parents=True)
            (root / name).write_text(name)
        (root / "trimq").mkdir()
        self.module = root / "trimq" / "hot.py"
        self.module.write_text("one = 1\n")
        monkeypatch.setattr(serving.subprocess, "run", self._pip)
        monkeypatch.setattr(
            serving.subprocess, "Popen", lambda words, **_: self.beside.append(words)
        )

    def _pip(self, words: list[str], **_: Any) -> Any:
        self.installed += 1
        target = Path(words[words.index("--target") + 1])
        (target / "bin").mkdir(parents=True)
        (target / "hot.so").write_text(self.module.read_text())
        if self.edit:
            self.module.write_text(self.edit)
        return SimpleNamespace(returncode=int(self.fails))

    @property
    def served(self) -> Any:
        return self.serving.Served(self.root)

    def start(self) -> tuple[bool, str]:
        found: tuple[bool, str] = self.serving.chosen(self.served)
        return found


@pytest.fixture
def machine(serving: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(serving, tmp_path, monkeypatch)


def test_plain_at_once_then_compiled(machine: Machine) -> None:
    compiled, line = machine.start()
    assert not compiled
    assert "the next start uses that" in line
    assert [words[-1] for words in machine.beside] == ["--build"]
    assert machine.served.build()
    assert machine.start() == (True, "")
    assert len(machine.beside) == machine.installed == 1


def test_what_is_compiled_is_of_these_sources(machine: Machine) -> None:
    machine.served.build()
    first = machine.served.folder
    machine.module.write_text("one = 2\n")
    assert machine.start()[0] is False
    machine.served.build()
    assert machine.start()[0] is True
    assert (machine.served.folder / "hot.so").read_text() == "one = 2\n"
    # A server may still run with it; the one after the next is not kept.
    assert first.is_dir()
    machine.module.write_text("one = 3\n")
    machine.served.build()
    assert not first.exists()
    assert len(list(first.parent.glob("served-*"))) == 2


def test_one_compiles_at_a_time(machine: Machine) -> None:
    machine.served.build()
    shutil.rmtree(machine.served.folder)
    with (machine.root / "build" / "served.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert machine.served.build() is False
    assert machine.installed == 1


def test_what_was_interrupted_is_begun_anew(machine: Machine) -> None:
    half = machine.served.folder.with_suffix(".new")
    half.mkdir(parents=True)
    (half / "left").touch()
    assert machine.start()[0] is False
    assert machine.served.build()
    assert not (machine.served.folder / "left").exists()


def test_sources_that_change_meanwhile_are_compiled_anew(machine: Machine) -> None:
    machine.edit = "one = 2\n"
    assert not machine.served.build()
    assert machine.served.build()
    assert (machine.served.folder / "hot.so").read_text() == "one = 2\n"


def test_nothing_is_read_where_nothing_is_compiled(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine.serving, "obstacle", lambda: "TRIMQ_COMPILE=0")
    machine.module.unlink()
    (machine.root / "setup.py").unlink()
    assert machine.start() == (False, "plain Python: TRIMQ_COMPILE=0")


def test_a_failure_is_said_and_not_repeated(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.fails = True
    assert not machine.served.build()
    assert not machine.served.build()
    assert machine.installed == 1
    compiled, line = machine.start()
    assert not compiled
    assert "compiling failed, see" in line
    assert str(machine.served.log) in line
    assert machine.beside == []
    monkeypatch.setenv("TRIMQ_COMPILE", "1")
    with pytest.raises(SystemExit, match="compiling failed"):
        machine.start()
    machine.fails = False
    assert machine.start() == (True, "")


def test_who_wants_it_compiled_waits(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIMQ_COMPILE", "1")
    assert machine.start() == (True, "")
    assert machine.beside == []


@pytest.mark.parametrize("wish", ["", "1"])
def test_what_is_missing_is_named(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, wish: str
) -> None:
    machine.served.build()
    monkeypatch.setattr(machine.serving, "obstacle", lambda: "there is no C compiler")
    if wish:
        monkeypatch.setenv("TRIMQ_COMPILE", wish)
        with pytest.raises(SystemExit, match="make serve: there is no C compiler"):
            machine.start()
    else:
        assert machine.start() == (False, "plain Python: there is no C compiler")
    assert machine.beside == []


def test_the_obstacles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "building")
    serving = importlib.import_module("serving")
    monkeypatch.setenv("CC", "no-such-compiler")
    assert "no C compiler" in serving.obstacle()
    monkeypatch.setenv("CC", sys.executable)
    monkeypatch.setattr(sysconfig, "get_path", lambda _: "/nowhere")
    assert "header files are missing" in serving.obstacle()
    monkeypatch.setenv("TRIMQ_COMPILE", "0")
    assert serving.obstacle() == "TRIMQ_COMPILE=0"
    del sys.modules["serving"]
