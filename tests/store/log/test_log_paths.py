"""A commit log with several folders: where files go, are found, and are deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.store.cleaning import age, clean, fill, names, write_all
from trimq.store.checking.check import StoreCheck
from trimq.store.errors import StoreDamaged, StoreError
from trimq.store.inspecting.inspection import inspect
from trimq.store.inspecting.items import Item, Selection
from trimq.store.inspecting.kinds import Kind
from trimq.store.log.paths import LogPaths, parse_paths

FILE = 1024


@pytest.fixture
def disks(tmp_path: Path) -> list[Path]:
    # Sorted otherwise than given.
    return [tmp_path / name for name in ("c", "a", "b")]


def bases(folder: Path) -> list[int]:
    return names(sorted(folder.iterdir())) if folder.is_dir() else []


def spread(disks: list[Path]) -> dict[str, list[int]]:
    return {folder.name: [base // FILE for base in bases(folder)] for folder in sorted(disks)}


# --- the setting


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("/a", ["/a"]),
        ("/a,/b", ["/a", "/b"]),
        (" /a,/b, ", ["/a", "/b"]),
        ("/a,/b,", ["/a", "/b"]),
        ("/a, /b", None),
        ("/a,,/b", None),
        ("", []),
    ],
)
def test_paths_are_separated_by_commas_alone(text: str, paths: list[str] | None) -> None:
    if paths is None:
        with pytest.raises(ValueError, match="nothing but a comma"):
            parse_paths(text)
    else:
        assert parse_paths(text) == tuple(map(Path, paths))


def test_a_path_for_reading_only_is_one_of_several() -> None:
    one, two = Path("/one"), Path("/two")
    with pytest.raises(StoreError, match="which is then /one,/two"):
        LogPaths([one], [two])
    with pytest.raises(StoreError, match="none for new files"):
        LogPaths([one, two], [two, one])
    assert LogPaths([one, two], [one]).path_for(0, FILE).parent == two


def test_files_go_to_the_folders_in_turn() -> None:
    one, two, three = Path("/1"), Path("/2"), Path("/3")
    paths = LogPaths([three, one, two])
    chosen = [paths.path_for(number * FILE, FILE).parent for number in range(4)]
    assert chosen == [one, two, three, one]
    paths.full = frozenset({two})
    chosen = [paths.path_for(number * FILE, FILE).parent for number in range(4)]
    assert chosen == [one, three, one, three]
    paths.full = frozenset({one, two, three})
    assert paths.path_for(FILE, FILE).parent == two
    assert paths.path_for(FILE, FILE).name == f"{FILE:020d}"


# --- a store


def test_messages_are_found_wherever_their_file_is(bench: Any, disks: list[Path]) -> None:
    several = {"commit_log_directories": tuple(disks)}
    store = bench.open(**several)
    fill(bench, store, 40, queues=1)
    assert spread(disks) == {"a": [0, 3], "b": [1, 4], "c": [2, 5]}
    expected = bench.bodies(store)
    bench.close(store)
    store = bench.open(**several)
    assert bench.bodies(store) == expected
    fill(bench, store, 3, queues=1)
    expected = bench.bodies(store)
    bench.kill(store)
    store = bench.open(**several)
    assert bench.bodies(store) == expected
    assert bench.report.end > 5 * FILE


def test_one_folder_becomes_several_and_one_again(bench: Any, disks: list[Path]) -> None:
    store = bench.open()
    fill(bench, store, 20, queues=1)
    bench.close(store)
    first = bench.root / "commitlog"
    # The old folder is kept for reading.
    several = {
        "commit_log_directories": (first, *disks),
        "read_only_commit_logs": (first,),
    }
    store = bench.open(**several)
    fill(bench, store, 20, queues=1)
    assert bases(first) == [0, FILE, 2 * FILE]
    assert spread(disks) == {"a": [3], "b": [4], "c": [5]}
    expected = bench.bodies(store)
    bench.close(store)
    for folder in disks:
        for file in folder.iterdir():
            file.rename(first / file.name)
    store = bench.open()
    assert bench.bodies(store) == expected


def test_a_full_disk_gets_no_new_files(bench: Any, disks: list[Path]) -> None:
    bench.disk_uses = {"b": 0.88, "a": 0.5, "c": 0.5}
    store = bench.open(commit_log_directories=tuple(disks), delete_when=())
    assert clean(store) == 0
    assert store.cleaning.use.commit_log == 0.5
    fill(bench, store, 40, queues=1)
    assert spread(disks) == {"a": [0, 2, 4], "b": [], "c": [1, 3, 5]}
    # Only when all disks are too full nothing is taken.
    bench.disk_uses = {"b": 0.95, "a": 0.95, "c": 0.5}
    clean(store)
    assert store.writable
    bench.disk_uses = {"b": 0.95, "a": 0.95, "c": 0.95}
    clean(store)
    assert not store.writable


def test_the_oldest_file_goes_first_wherever_it_is(bench: Any, disks: list[Path]) -> None:
    store = bench.open(commit_log_directories=tuple(disks), delete_when=())
    fill(bench, store, 40, queues=1)
    write_all(store)
    age(bench, 80, [file for folder in disks for file in folder.iterdir()])
    store.cleaning.order()
    assert clean(store) == 5
    assert spread(disks) == {"a": [], "b": [], "c": [5]}
    assert store.min_physical_offset == 5 * FILE


def test_the_same_file_twice_is_refused(bench: Any, disks: list[Path]) -> None:
    several = {"commit_log_directories": tuple(disks)}
    store = bench.open(**several)
    fill(bench, store, 20, queues=1)
    bench.close(store)
    name = f"{0:020d}"
    disks[0].joinpath(name).write_bytes(disks[1].joinpath(name).read_bytes())
    with pytest.raises(StoreDamaged, match="the same part of the log is in"):
        bench.open(**several)


def test_a_folder_that_was_left_out_is_missed(bench: Any, disks: list[Path]) -> None:
    store = bench.open(commit_log_directories=tuple(disks))
    fill(bench, store, 20, queues=1)
    bench.close(store)
    with pytest.raises(StoreDamaged, match="the file before it is missing"):
        bench.open(commit_log_directories=tuple(disks[:2]))


# --- looking into it


def test_check_and_inspect_know_several_folders(bench: Any, disks: list[Path]) -> None:
    store = bench.open(commit_log_directories=tuple(disks))
    fill(bench, store, 40, queues=1)
    bench.close(store)
    report = StoreCheck(bench.root, commit_logs=disks).run()
    assert report.sound
    assert report.records == 40
    assert not StoreCheck(bench.root, commit_logs=disks[:2]).run().sound
    several = Path(",".join(map(str, disks)))
    items = inspect(several, Kind.COMMIT_LOG, Selection())
    # And the blank at the end of each full file.
    assert sum(isinstance(item, Item) for item in items) == 40 + 5
