"""Inspecting commit-log files: records chosen by the fast parser, printed from the declaration."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final

from trimq.codec.java.hashes import crc32_31
from trimq.codec.layouts.record import BLANK, RECORD
from trimq.codec.names import LIGHT_QUEUE_ID, allows_light, is_light
from trimq.codec.records.addresses import unpack_host
from trimq.codec.records.message_id import offset_message_id
from trimq.codec.records.multi_dispatch import light_places
from trimq.codec.records.properties import find_property, parse_properties
from trimq.codec.records.property_keys import KEY_SEPARATOR, KEYS, UNIQ_KEY
from trimq.codec.records.record import MAGIC_V2, Record
from trimq.store.inspecting.items import End, Item, Reason, Selection, Unreadable
from trimq.store.inspecting.kinds import base_of
from trimq.store.inspecting.pop_records import pop_note
from trimq.store.inspecting.records import RecordWalk, find_record
from trimq.store.inspecting.sparse_file import SparseFile

_KEYS: Final = KEYS.encode()
_UNIQ_KEY: Final = UNIQ_KEY.encode()


def inspect_commit_log(paths: list[Path], selection: Selection) -> Iterator[Item | End]:
    """All files as one log; it ends in the first one that is not full or is damaged."""
    chosen = _files_with(paths, selection)
    for path in chosen:
        with SparseFile(path) as file:
            end = yield from _inspect_file(file, selection)
        if end.reason is not Reason.END_OF_FILE or path == chosen[-1]:
            yield end
            return


def _files_with(paths: list[Path], selection: Selection) -> list[Path]:
    """Without the files before the first offset that is asked for."""
    start = _start(selection)
    chosen = [
        path
        for path in paths
        if start is None or (base := base_of(path)) is None or base + path.stat().st_size > start
    ]
    if not chosen:
        raise Unreadable(f"the commit log ends before {start}")
    first = base_of(chosen[0])
    wanted = selection.physical_offset
    if wanted is not None and first is not None and wanted < first:
        raise Unreadable(f"the commit log begins at {first}, after {start}")
    return chosen


def _start(selection: Selection) -> int | None:
    return selection.start if selection.physical_offset is None else selection.physical_offset


def _inspect_file(file: SparseFile, selection: Selection) -> Generator[Item, None, End]:
    walk = RecordWalk(file, base_of(file.path))
    end = _go_to_start(walk, selection)
    if end is not None:
        return end
    wanted = _Wanted(selection)
    for record in walk:
        position = walk.position - record.total_size
        if selection.physical_offset is not None:
            yield record_item(file, position, record)
            return End(file.path, walk.position, Reason.RANGE, "that record is printed")
        if selection.end is not None and record.physical_offset > selection.end:
            return End(file.path, position, Reason.RANGE, f"up to {selection.end} as asked for")
        if wanted(record):
            yield record_item(file, position, record)
    if walk.blank is not None and not walk.damage and selection == Selection():
        yield _blank_item(file, walk.blank.position, walk.base or 0)
    return end_of(walk)


def _go_to_start(walk: RecordWalk, selection: Selection) -> End | None:
    """Move to the first record that is asked for; an End when there is none in this file."""
    start = _start(selection)
    if start is None:
        return None
    file = walk.file
    if walk.base is None:
        first = next(iter(RecordWalk(file, None)), None)
        walk.base = first.physical_offset if first is not None else 0
    position = max(start - walk.base, 0)
    found = find_record(file, walk.base, position) if position else 0
    if selection.physical_offset is not None and found != position:
        there = f"; the next one is at {walk.base + found}" if found >= 0 else ""
        raise Unreadable(f"no record begins at {start}{there}")
    if found < 0:
        return End(file.path, file.size, Reason.END_OF_FILE, f"no record at or after {start}")
    walk.position = found
    return None


def end_of(walk: RecordWalk) -> End:
    """Why a walk stopped; if not at the file's end, what follows is examined."""
    file, position, base = walk.file, walk.position, walk.base or 0
    if not walk.damage and position >= file.size:
        return End(file.path, position, Reason.END_OF_FILE, "the file ends here")
    if not walk.damage:
        data = file.skip_zeros(position)
        if data >= file.size:
            return End(
                file.path,
                position,
                Reason.ZEROS,
                "zeros up to the end of the file: no more records",
            )
        text = f"zeros up to byte {data} and then something else"
    else:
        text = walk.damage
    behind = find_record(file, walk.base, position + 1)
    if behind < 0:
        text += "; no whole record after it in this file"
        return End(file.path, position, Reason.DAMAGE, text)
    text += f"; the next whole record is at {base + behind}"
    return End(file.path, position, Reason.DAMAGE, text, resume=base + behind)


class _Wanted:
    """Which records to print, decided on the fast parser's result."""

    def __init__(self, selection: Selection) -> None:
        self._topic = selection.topic
        # Its records are of other topics.
        self._is_light = selection.topic is not None and is_light(selection.topic)
        self._queue_id = selection.queue_id
        self._offsets = selection.offsets or (-(1 << 63), 1 << 63)
        self._key = selection.key

    def __call__(self, record: Record) -> bool:
        queue_id, offset = record.queue_id, record.queue_offset
        if self._topic is not None and record.topic != self._topic:
            found = dict(light_queues_of(record)).get(self._topic) if self._is_light else None
            if found is None:
                return False
            queue_id, offset = LIGHT_QUEUE_ID, found
        if self._queue_id is not None and queue_id != self._queue_id:
            return False
        low, high = self._offsets
        if not low <= offset <= high:
            return False
        return self._key is None or has_key(record.properties, self._key)


def light_queues_of(record: Record) -> tuple[tuple[str, int], ...]:
    """The light queues that a record names, with its offset in each."""
    return light_places(record.properties) if allows_light(record.topic) else ()


def has_key(properties: bytes, key: str) -> bool:
    """Whether it is the message's unique key or one of its KEYS."""
    wanted = key.encode()
    if wanted not in properties:
        return False
    if find_property(properties, _UNIQ_KEY) == wanted:
        return True
    keys = find_property(properties, _KEYS) or b""
    return wanted in keys.split(KEY_SEPARATOR.encode())


def record_item(file: SparseFile, position: int, record: Record) -> Item:
    data = file.read(position, record.total_size)
    assert data is not None
    parsed = RECORD.parse(data)
    crc = crc32_31(parsed.body)
    fields = {
        "topic": parsed.topic,
        "queue_id": parsed.queue_id,
        "queue_offset": parsed.queue_offset,
        "physical_offset": parsed.physical_offset,
        "total_size": parsed.total_size,
        "magic": parsed.magic,
        "version": 2 if parsed.magic == MAGIC_V2 else 1,
        "body_crc": parsed.body_crc,
        # As in the real broker, a record without a body is not checked.
        "crc_holds": not parsed.body or crc == parsed.body_crc,
        "flag": parsed.flag,
        "sys_flag": parsed.sys_flag,
        "born_timestamp": parsed.born_timestamp,
        "born_host": unpack_host(record.born_host),
        "store_timestamp": parsed.store_timestamp,
        "store_host": unpack_host(record.store_host),
        "reconsume_times": parsed.reconsume_times,
        "prepared_transaction_offset": parsed.prepared_transaction_offset,
        "message_id": offset_message_id(record.store_host, parsed.physical_offset),
        "properties": parse_properties(parsed.properties),
        "body_length": len(parsed.body),
        "body": parsed.body,
    }
    light = light_queues_of(record)
    if light:
        fields["light_queues"] = dict(light)
    note = pop_note(parsed.topic, fields["properties"], parsed.body)
    if note is not None:
        fields["pop"] = note
    return Item("record", file.path, position, parsed.physical_offset, fields)


def _blank_item(file: SparseFile, position: int, base: int) -> Item:
    data = file.read(position, BLANK.sizeof())
    assert data is not None
    parsed = BLANK.parse(data)
    fields = {"size": parsed.size, "magic": parsed.magic}
    return Item("blank", file.path, position, base + position, fields)
