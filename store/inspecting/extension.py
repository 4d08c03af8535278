"""Inspecting the extension of consume queues: units of different sizes, one after another."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

from trimq.codec.entries.extension_unit import (
    END_MARK,
    SIZE_BYTES,
    UNIT_SIZE,
    bit_map_size,
    unit_size,
)
from trimq.codec.layouts.queues import QUEUE_EXT_UNIT
from trimq.store.inspecting.items import End, Item, Reason, Selection
from trimq.store.inspecting.kinds import base_of
from trimq.store.inspecting.sparse_file import SparseFile


def inspect_extension(paths: list[Path], selection: Selection) -> Iterator[Item | End]:
    for at, path in enumerate(paths):
        with SparseFile(path) as file:
            end = yield from _inspect_file(file, selection)
        last = at + 1 == len(paths) or paths[at + 1].parent != path.parent
        if last or end.reason is not Reason.END_OF_FILE:
            yield end


def _inspect_file(file: SparseFile, selection: Selection) -> Generator[Item, None, End]:
    base = base_of(file.path) or 0
    position = 0
    while (head := file.read(position, SIZE_BYTES)) is not None:
        size = unit_size(head)
        if size == END_MARK:
            return End(file.path, position, Reason.END_OF_FILE, "marked as the end of the file")
        if size == 0:
            return _zeros(file, position)
        data = file.read(position, size) if size >= UNIT_SIZE else None
        if data is None or UNIT_SIZE + bit_map_size(data) != size:
            text = f"a unit of {size} bytes, which are missing or do not add up"
            return End(file.path, position, Reason.DAMAGE, text)
        number = base + position
        if selection.end is not None and number > selection.end:
            return End(file.path, position, Reason.RANGE, f"up to {selection.end} as asked for")
        if selection.start is None or number >= selection.start:
            parsed = QUEUE_EXT_UNIT.parse(data)
            fields = {key: value for key, value in parsed.items() if not key.startswith("_")}
            yield Item("extension unit", file.path, position, number, fields)
        position += size
    return End(file.path, position, Reason.END_OF_FILE, "the file ends here")


def _zeros(file: SparseFile, position: int) -> End:
    data = file.skip_zeros(position)
    if data >= file.size:
        return End(
            file.path, position, Reason.ZEROS, "zeros up to the end of the file: no more units"
        )
    text = f"zeros up to byte {data} and then something else"
    return End(file.path, position, Reason.DAMAGE, text)
