"""What stands in for calls that a system lacks. `make unit-bare` runs the store's own tests on it."""

import fcntl
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from trimq.store.disk import system
from trimq.store.disk.directory import StoreDirectory
from trimq.store.errors import StoreInUse


@pytest.mark.parametrize(
    ("platform", "size"), [("linux", 28), ("darwin", 24), ("freebsd14", 28), ("linux2", 28)]
)
def test_the_kernel_is_asked_about_locks_in_its_own_words(platform: str, size: int) -> None:
    form, fields = system.lock_layout(platform)
    assert struct.calcsize(form) == size
    assert {"type", "whence", "start", "length", "process"} <= set(fields)


def test_macos_syncs_fully(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = []
    monkeypatch.setattr(system, "_FULL_SYNC", 51)
    monkeypatch.setattr(fcntl, "fcntl", lambda *asked: calls.append(asked))
    system.sync(7)
    system.sync_entries(8)
    assert calls == [(7, 51), (8, 51)]


def test_a_file_system_without_full_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(45, "not supported")

    calls: list[int] = []
    monkeypatch.setattr(system, "_FULL_SYNC", 51)
    monkeypatch.setattr(fcntl, "fcntl", refuse)
    monkeypatch.setattr(os, "fsync", calls.append)
    system.sync(7)
    assert calls == [7]


def test_writing_without_pwritev(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr(os, "pwritev", raising=False)
    with (tmp_path / "file").open("wb+") as file:
        assert system.write_at(file.fileno(), [b"one", memoryview(b"two")], 2) == 6
        assert os.pread(file.fileno(), 100, 0) == b"\0\0onetwo"


@pytest.mark.parametrize("meet", [False, True])
def test_a_store_is_locked_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, meet: bool
) -> None:
    monkeypatch.setattr(system, "LOCKS_MEET", meet)
    first, second = StoreDirectory(tmp_path / "store"), StoreDirectory(tmp_path / "store")
    first.lock()
    with pytest.raises(StoreInUse):
        second.lock()
    first.unlock()
    second.lock()
    second.unlock()


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_windows_is_one_sentence() -> None:
    """For importers of the store, and for the command."""
    imported = run("import sys; sys.modules['fcntl'] = None; import trimq.store.disk.system")
    assert "on Windows, run them in WSL" in imported.stderr.splitlines()[-1]
    command = run(
        "import sys, trimq.commands.main; sys.platform = 'win32'; sys.modules['fcntl'] = None\n"
        "trimq.commands.main.main()"
    )
    assert command.returncode == 1
    assert command.stderr == "TriMQ runs on Linux and macOS; on Windows, run it in WSL\n"
