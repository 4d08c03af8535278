"""Writing a table: its twin, damage, failure and what is made good later."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from trimq.broker.tables.file import TableDamaged, TableFile
from trimq.codec.errors import CodecError


class Table:
    """A table that is nothing but its text."""

    def __init__(self, path: Path) -> None:
        self.text = b"first"
        self.file = TableFile(path, self.pieces)

    def pieces(self) -> Iterator[bytes]:
        yield self.text[:2]
        yield self.text[2:]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "config" / "table.json")


def decode(data: bytes) -> str:
    if data.startswith(b"bad"):
        raise CodecError("this is bad")
    return data.decode()


def test_a_fresh_store_has_no_table(table: Table) -> None:
    assert table.file.load(decode) is None


def test_the_version_before_is_kept_as_twin(table: Table) -> None:
    table.file.write()
    assert table.file.load(decode) == "first"
    table.text = b"second"
    table.file.write()
    assert table.file.load(decode) == "second"
    assert table.file.path.with_name("table.json.bak").read_bytes() == b"first"
    assert len(list(table.file.path.parent.iterdir())) == 2


def test_an_unreadable_file_falls_back_to_its_twin(table: Table) -> None:
    table.file.write()
    table.text = b"bad"
    table.file.write()
    assert table.file.load(decode) == "first"


def test_when_both_are_unreadable_the_broker_must_not_start(table: Table) -> None:
    for text in (b"bad 1", b"bad 2"):
        table.text = text
        table.file.write()
    with pytest.raises(TableDamaged, match=r"neither .* nor its twin") as refused:
        table.file.load(decode)
    assert "from a backup" in str(refused.value)
    assert "table.json.bak aside and start without them: then what it holds is lost" in str(
        refused.value
    )


@pytest.mark.parametrize("name", ["topics.json", "consumerOffset.json", "subscriptionGroup.json"])
def test_a_refusal_says_what_would_be_lost(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(bytes(100))
    file = TableFile(tmp_path / name, lambda: iter(()))
    with pytest.raises(TableDamaged, match=rf"{name} from a backup.*then .* is lost") as refused:
        file.load(decode_broken)
    assert "what it holds" not in str(refused.value)


def decode_broken(data: bytes) -> str:
    raise CodecError(f"{len(data)} zeros")


async def test_a_failed_write_is_made_good(table: Table, caplog: pytest.LogCaptureFixture) -> None:
    table.file.path.parent.mkdir()
    obstacle = table.file.path.with_name("table.json.new")
    obstacle.mkdir()
    table.file.write()
    assert "config file not saved" in caplog.text
    obstacle.rmdir()
    await table.file.settle()
    assert table.file.load(decode) == "first"


async def test_in_steps_it_writes_the_same(table: Table) -> None:
    await table.file.write_in_steps()
    assert table.file.load(decode) == "first"
    table.text = b"last"
    table.file.close()
    assert table.file.load(decode) == "last"
