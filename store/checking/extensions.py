"""Units of consume-queue extensions, which entries point to instead of a tags code."""

from __future__ import annotations

import os
from pathlib import Path

from trimq.codec.entries.extension_unit import FIRST_ADDRESS, UNIT_SIZE, unit_head
from trimq.store.checking.queue_files import OpenForReading


class Extensions:
    def __init__(self, directory: Path, opened: OpenForReading) -> None:
        self._directory = directory
        self._opened = opened
        self._sizes: dict[str, int] = {}

    def unit(self, topic: str, queue_id: int, address: int) -> tuple[int, int] | None:
        """Tags code and store timestamp of the unit at an address; None when there is none."""
        folder = f"{self._directory}/{topic}/{queue_id}"
        size = self._file_size(folder)
        if not size:
            return None
        offset = address - FIRST_ADDRESS
        base = offset - offset % size
        data = self._opened.read(f"{folder}/{base:020d}", UNIT_SIZE, offset - base)
        if len(data) < UNIT_SIZE:
            return None
        unit_size, tags_code, store_timestamp = unit_head(data)
        return (tags_code, store_timestamp) if unit_size > 0 else None

    def _file_size(self, folder: str) -> int:
        """All files of a queue have one length; 0 without files."""
        size = self._sizes.get(folder)
        if size is None:
            names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
            size = os.stat(f"{folder}/{names[0]}").st_size if names else 0
            self._sizes[folder] = size
        return size
