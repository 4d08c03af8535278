"""Commit logs are compared from where both begin to where the shorter one ends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.history.logs import compare_logs

SIZE = 100
RECORD, BLANK = bytes.fromhex("daa320a7"), bytes.fromhex("cbd43194")


def record(letter: str, size: int = 30, magic: bytes = RECORD) -> bytes:
    return size.to_bytes(4) + magic + letter.encode() * (size - 8)


# Three records and a blank to the end of the file.
FULL = [record(letter) for letter in "abc"] + [record("\0", 10, BLANK)]


def write(folder: Path, files: Sequence[Sequence[bytes]], begin: int = 0) -> Path:
    folder.mkdir()
    for number, records in enumerate(files):
        name = f"{begin + number * SIZE:020d}"
        (folder / name).write_bytes(b"".join(records).ljust(SIZE, b"\0"))
    return folder


def test_equal_as_far_as_both_reach(tmp_path: Path) -> None:
    first = write(tmp_path / "a", [FULL, [record("d"), record("e")]])
    second = write(tmp_path / "b", [FULL, [record("d")]])
    compared = compare_logs(first, second)
    assert compared.findings == []
    assert (compared.begin, compared.end, compared.ends) == (0, 130, (160, 130))
    assert compared.bytes == 130


def test_a_copy_that_begins_later(tmp_path: Path) -> None:
    first = write(tmp_path / "a", [FULL, [record("d")]])
    second = write(tmp_path / "b", [[record("d")]], begin=SIZE)
    compared = compare_logs(first, second)
    assert compared.findings == []
    assert compared.bytes == 30


@pytest.mark.parametrize("at", [8, 29, 60, 95, 110, 129])
def test_the_first_byte_that_differs(tmp_path: Path, at: int) -> None:
    first = write(tmp_path / "a", [FULL, [record("d")]])
    second = write(tmp_path / "b", [FULL, [record("d")]])
    file = second / f"{at // SIZE * SIZE:020d}"
    data = bytearray(file.read_bytes())
    data[at % SIZE] ^= 1
    file.write_bytes(data)
    (finding,) = compare_logs(first, second).findings
    assert str(finding).startswith(f"(e) commit log at {at}: the bytes differ")


def test_a_record_that_broke_off_is_compared_as_far_as_it_goes(tmp_path: Path) -> None:
    first = write(tmp_path / "a", [[record("a"), record("b"), record("c")]])
    second = write(tmp_path / "b", [[record("a"), record("b")[:20]]])
    for logs in ((first, second), (second, first)):
        compared = compare_logs(*logs)
        assert compared.findings == []
        assert compared.bytes == 50
    other = write(tmp_path / "d", [[record("a"), record("x")[:20]]])
    assert compare_logs(first, other).findings[0].where == "commit log at 38"
    # A size that reaches beyond its file, as of a torn write.
    third = write(tmp_path / "c", [[record("a"), (200).to_bytes(4) + RECORD]])
    assert compare_logs(first, third).bytes == 30


def test_the_end_is_that_of_the_last_file_with_records(tmp_path: Path) -> None:
    first = write(tmp_path / "a", [FULL, []])
    second = write(tmp_path / "b", [FULL])
    assert compare_logs(first, second).ends == (100, 100)
    assert compare_logs(first, write(tmp_path / "c", [])).bytes == 0


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    first = write(tmp_path / "a", [FULL, FULL, [record("d")]])
    second = write(tmp_path / "b", [FULL, FULL, [record("d")]])
    (second / f"{SIZE:020d}").unlink()
    (finding,) = compare_logs(first, second).findings
    assert str(finding).endswith("has a hole there")
    assert finding.where == "commit log at 100"


def test_files_larger_than_what_is_read_at_once(tmp_path: Path) -> None:
    size = 3 << 20
    data = [record("a", size), record("b", size)]
    for name in ("a", "b"):
        write(tmp_path / name, [])
        (tmp_path / name / f"{0:020d}").write_bytes(b"".join(data))
    assert compare_logs(tmp_path / "a", tmp_path / "b").bytes == 2 * size
