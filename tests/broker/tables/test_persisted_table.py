"""A table with a file: when there is one, and what of it comes back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from trimq.broker.tables.persisted_table import PersistedTable, read_table
from trimq.codec.bodies.base import Body, encode_body


class Words(Body):
    words: list[str]


class Table(PersistedTable[Words]):
    def __init__(self, path: Path, *, always: bool = False) -> None:
        super().__init__(path, Words, always=always)
        self.words: list[str] = []

    def add(self, word: str) -> None:
        self.words.append(word)
        self.persist()

    def _take(self, loaded: Words) -> None:
        self.words = loaded.words

    def _pieces(self) -> Iterator[bytes]:
        yield encode_body(Words(words=self.words))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config" / "words.json"


def test_a_table_that_nobody_has_changed_has_no_file(path: Path) -> None:
    table = Table(path)
    table.load()
    table.close()
    assert not path.parent.exists()
    assert read_table(path, Words) is None


def test_a_table_that_is_always_there_has_its_file_from_the_start(path: Path) -> None:
    table = Table(path, always=True)
    table.load()
    assert read_table(path, Words) == Words(words=[])


def test_a_change_is_there_after_the_next_start(path: Path) -> None:
    table = Table(path)
    table.add("one")
    again = Table(path)
    again.load()
    assert again.words == ["one"]
    path.unlink()
    again.close()
    assert read_table(path, Words) == Words(words=["one"])


def test_what_could_not_be_written_is_written_at_the_end(path: Path) -> None:
    path.parent.write_bytes(b"in the way")
    table = Table(path)
    table.add("one")
    path.parent.unlink()
    table.close()
    assert read_table(path, Words) == Words(words=["one"])
