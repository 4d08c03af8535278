"""What most tables of the broker have in common: a file under `store/config` that follows every change.

Offsets and delays have a file too, but change with every message, and so have a rhythm of their own.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Generic, TypeVar

from trimq.broker.tables.file import TableFile, Writer
from trimq.codec.bodies.base import Body

B = TypeVar("B", bound=Body)


def read_table(path: Path, shape: type[B]) -> B | None:
    """What a table's file holds, for a reader that does not keep it. Blocks. TableDamaged."""
    return TableFile(path, lambda: iter(())).load_as(shape)


class PersistedTable(Generic[B]):
    """A table and its file. A kind of table says how to encode it and what to do with what was read."""

    def __init__(
        self, path: Path, shape: type[B], *, always: bool = False, spare: bool = False
    ) -> None:
        """`shape` is what the file holds; `always`: it is there even if nothing has ever changed. For `spare` see
        TableFile.
        """
        self._file = TableFile(path, self._pieces, spare=spare)
        self._shape = shape
        self._always = always

    def load(self) -> None:
        """Read the file, if there is one. Blocks: before the loop runs. TableDamaged."""
        loaded = self._file.load_as(self._shape)
        if loaded is not None:
            self._take(loaded)
        elif self._always:
            self._file.begin()

    def persist(self) -> None:
        """Have the table written without waiting for the disk; settle repairs a failure."""
        self._file.changed()

    def write_by(self, writer: Writer) -> None:
        """Let a writer decide when changes are written; without one they are written at once."""
        self._file.write_by(writer)

    async def settle(self) -> None:
        """Let the last change survive a power loss; a service calls it every few seconds."""
        await self._file.settle()

    def close(self) -> None:
        """Write and sync, unless there was never anything to write. Blocks: for the shutdown."""
        if self._always or self._file.begun:
            self._file.close()

    def _take(self, loaded: B) -> None:
        """Adopt what the file says."""
        raise NotImplementedError

    def _pieces(self) -> Iterator[bytes]:
        """The table as JSON, a bounded amount of work per piece."""
        raise NotImplementedError
