"""Writing to many files in one go, and removing them: in C and in Python alike."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from trimq.store import native
from trimq.store.native import writes

BOTH = pytest.mark.parametrize("write", [native.write_pieces, writes.write_pieces])
SIZE = 100


@BOTH
def test_new_files_get_their_folders_their_length_and_what_goes_before(tmp_path, write):
    new, other = str(tmp_path / "T" / "0" / "f"), str(tmp_path / "U" / "1" / "f")
    pieces = [(new, SIZE, 6, b"abc", b"-" * 6), (other, SIZE, 0, b"d", b"")]
    assert write(pieces) == ([True, True], 0)
    assert Path(new).read_bytes() == (b"------abc").ljust(SIZE, b"\0")
    assert Path(other).read_bytes() == b"d".ljust(SIZE, b"\0")


@BOTH
def test_files_that_are_there_keep_everything_else(tmp_path, write):
    path = tmp_path / "f"
    path.write_bytes(b"x" * 10)
    assert write([(str(path), SIZE, 4, b"ab", b"----"), (str(path), SIZE, 6, b"c", b"")]) == (
        [False, False],
        0,
    )
    assert path.read_bytes() == b"xxxxabcxxx"


@BOTH
def test_the_first_failure_ends_it(tmp_path, write):
    good, behind = tmp_path / "good", tmp_path / "behind"
    (tmp_path / "file").write_bytes(b"")
    bad = tmp_path / "file" / "below"
    pieces = [(str(one), SIZE, 0, b"a", b"") for one in (good, bad, behind)]
    assert write(pieces) == ([True], errno.ENOTDIR)
    assert good.exists()
    assert not behind.exists()


@BOTH
def test_a_name_that_is_no_path_is_refused(tmp_path, write):
    with pytest.raises(ValueError, match="null"):
        write([(f"{tmp_path}/\0", SIZE, 0, b"a", b"")])


@BOTH
def test_nothing_is_nothing(write):
    assert write([]) == ([], 0)


REMOVE = pytest.mark.parametrize("remove", [native.remove_folders, writes.remove_folders])


def folder(path: Path, *names: str) -> str:
    path.mkdir(parents=True)
    for name in names:
        (path / name).write_bytes(b"x")
    return str(path)


@REMOVE
def test_folders_go_with_their_files_and_parents_when_they_are_empty(tmp_path, remove):
    folders = [
        folder(tmp_path / "T" / "0", "a", "b"),
        folder(tmp_path / "T" / "1"),
        folder(tmp_path / "U" / "0", "c"),
    ]
    folder(tmp_path / "U" / "1")
    assert remove(folders, [str(tmp_path / "T"), str(tmp_path / "U")]) == (0, "")
    assert [str(one.relative_to(tmp_path)) for one in sorted(tmp_path.rglob("*"))] == ["U", "U/1"]


@REMOVE
def test_what_is_gone_is_no_error(tmp_path, remove):
    there = folder(tmp_path / "T" / "1", "a")
    assert remove(
        [str(tmp_path / "T" / "0"), there], [str(tmp_path / "T"), str(tmp_path / "U")]
    ) == (0, "")
    assert not list(tmp_path.iterdir())


@REMOVE
def test_the_first_folder_that_cannot_be_removed_ends_it(tmp_path, remove):
    inner = folder(tmp_path / "T" / "0" / "inner")
    behind = folder(tmp_path / "T" / "1")
    outer = str(tmp_path / "T" / "0")
    assert remove([outer, behind], []) in ((errno.EISDIR, inner), (errno.EPERM, inner))
    (tmp_path / "file").write_bytes(b"")
    assert remove([str(tmp_path / "file")], []) == (errno.ENOTDIR, str(tmp_path / "file"))
    assert remove([], [str(tmp_path / "file")]) == (errno.ENOTDIR, str(tmp_path / "file"))
    assert Path(behind).exists()


@REMOVE
def test_other_things_than_names_are_refused(tmp_path, remove):
    with pytest.raises((TypeError, ValueError)):
        remove([f"{tmp_path}/\0"], [])
    with pytest.raises((TypeError, ValueError)):
        remove([], [f"{tmp_path}/\0"])
