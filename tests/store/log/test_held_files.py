"""What a thread sends from the log's files."""

import os

import pytest

from trimq.store.log.held_files import HeldFiles
from trimq.store.log.held_read import HeldRead
from trimq.store.log.segment import Segment

KIB = 1024


@pytest.fixture
def files(tmp_path):
    made = []
    for base in (0, 100 * KIB):
        path = tmp_path / f"{base:020}"
        path.write_bytes(os.urandom(100 * KIB))
        made.append(Segment(base, str(path)))
    return made


def body_of(*pieces):
    return HeldFiles(HeldRead(list(pieces)), sum(size for _, _, size in pieces))


def bytes_of(part):
    return os.pread(part[0], part[2], part[1]) if isinstance(part, tuple) else bytes(part)


def read(segment, position, size):
    with open(segment.path, "rb") as file:
        file.seek(position)
        return file.read(size)


@pytest.mark.parametrize(("size", "kinds"), [(40 * KIB, {tuple}), (KIB, {bytes})])
def test_large_records_stay_in_their_files_and_small_ones_are_read(files, size, kinds):
    pieces = [(files[0], 7, size), (files[0], 50 * KIB, size), (files[1], 0, size)]
    body = body_of(*pieces)
    parts = body.parts()
    assert {type(part) for part in parts} == kinds
    assert b"".join(map(bytes_of, parts)) == b"".join(read(*piece) for piece in pieces)
    assert body.size == 3 * size
    body.close()


def test_files_are_held_until_it_is_closed_or_forgotten(files):
    body = body_of((files[0], 0, 20 * KIB), (files[1], 0, 20 * KIB))
    parts = body.parts()
    assert [segment.readers for segment in files] == [1, 1]
    body.close()
    body.close()
    assert [segment.readers for segment in files] == [0, 0]
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(parts[0][0])
    forgotten = body_of((files[0], 0, 20 * KIB))
    assert files[0].readers == 1
    del forgotten
    assert files[0].readers == 0


def test_a_file_that_is_gone_is_told_before_anything_is_sent(files):
    body = body_of((files[0], 0, 20 * KIB))
    os.unlink(files[0].path)
    with pytest.raises(FileNotFoundError):
        body.parts()
