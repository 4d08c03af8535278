"""The index as its rules say it, message by message: what the files of a store must look like."""

from __future__ import annotations

from trimq.codec.entries.index import IndexHeader, pack_entries, pack_header
from trimq.codec.java.hashes import string_hash
from trimq.codec.records.properties import parse_properties

ROLLBACK = 12


def keys_of(topic: str, properties: bytes) -> list[str]:
    found = parse_properties(properties)
    keys = [f"{topic}#{found['UNIQ_KEY']}"] if "UNIQ_KEY" in found else []
    keys += [f"{topic}#{word}" for word in found.get("KEYS", "").split(" ") if word]
    return keys + ([f"{topic}#T#{found['TAGS']}"] if "TAGS" in found else [])


class ModelFile:
    """One file: slots and entries as plain lists."""

    def __init__(self, slots: int, entries: int, before: ModelFile | None) -> None:
        self.slots = [0] * slots
        self.entries = [(0, 0, 0, 0)]
        self.room = entries
        self.header = IndexHeader()
        if before is not None:
            end, position = before.header.end_timestamp, before.header.end_physical_offset
            self.header = IndexHeader(end, end, position, position)

    def put(self, key: str, position: int, timestamp: int) -> bool:
        header = self.header
        if len(self.entries) == self.room:
            return False
        key_hash = abs(string_hash(key))
        if key_hash == 2**31:
            key_hash = 0
        slot = key_hash % len(self.slots)
        begin = header.begin_timestamp
        seconds = (timestamp - begin) // 1000 if begin > 0 else 0
        seconds = min(max(seconds, 0), 2**31 - 1)
        header.used_slots += self.slots[slot] == 0
        if header.count == 1:
            header.begin_timestamp, header.begin_physical_offset = timestamp, position
        self.entries.append((key_hash, position, seconds, self.slots[slot]))
        self.slots[slot] = header.count
        header.count += 1
        header.end_timestamp, header.end_physical_offset = timestamp, position
        return True

    def image(self) -> bytes:
        slots = b"".join(value.to_bytes(4, "big") for value in self.slots)
        columns = [list(column) for column in zip(*self.entries, strict=True)]
        entries = pack_entries(*columns)
        return pack_header(self.header) + slots + entries.ljust(20 * self.room, b"\0")


class Model:
    """The set of files."""

    def __init__(self, slots: int, entries: int) -> None:
        self._shape = slots, entries
        self.files: list[ModelFile] = []

    def put(self, topic: str, properties: bytes, sys_flag: int, place: int, timestamp: int) -> None:
        if sys_flag & ROLLBACK == ROLLBACK:
            return
        for key in keys_of(topic, properties):
            if not self.files or not self.files[-1].put(key, place, timestamp):
                before = self.files[-1] if self.files else None
                self.files.append(ModelFile(*self._shape, before))
                assert self.files[-1].put(key, place, timestamp)

    def images(self) -> list[bytes]:
        return [file.image() for file in self.files]
