"""Inspecting files that hold one thing: checkpoints, marks, and tables of the broker in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from trimq.codec.entries.checkpoint import CHECKPOINT_SIZE
from trimq.codec.errors import CodecError
from trimq.codec.java.fastjson import loads
from trimq.codec.layouts.checkpoint import CHECKPOINT
from trimq.codec.layouts.timer import TIMER_CHECKPOINT
from trimq.store.inspecting.items import End, Item, Reason
from trimq.store.inspecting.kinds import Kind

_STRUCTS: Final = {Kind.CHECKPOINT: CHECKPOINT, Kind.TIMER_CHECKPOINT: TIMER_CHECKPOINT}
_FIELD_BYTES: Final = {Kind.CHECKPOINT: 48, Kind.TIMER_CHECKPOINT: TIMER_CHECKPOINT.sizeof()}
_MARKS: Final = {
    Kind.ABORT: (
        "exists while a broker has the store open, and holds its process id; without such a broker "
        "it means that the last one was killed and the next start recovers"
    ),
    Kind.LOCK: "locked by the broker that has the store open; the file itself always stays",
}


def inspect_single(paths: list[Path], kind: Kind) -> Iterator[Item | End]:
    for path in paths:
        if kind in _STRUCTS:
            yield from _struct(path, kind)
        elif kind in _MARKS:
            text = path.read_bytes()[:4096].decode("utf-8", "replace").strip()
            yield Item(str(kind), path, 0, 0, {"content": text, "meaning": _MARKS[kind]})
        else:
            yield from _json(path)


def _struct(path: Path, kind: Kind) -> Iterator[Item | End]:
    data = path.read_bytes()[:CHECKPOINT_SIZE]
    needed = _FIELD_BYTES[kind]
    if len(data) < needed:
        text = f"only {len(data)} bytes, the fields take {needed}"
        yield End(path, len(data), Reason.DAMAGE, text)
        return
    parsed = _STRUCTS[kind].parse(data.ljust(CHECKPOINT_SIZE, b"\0"))
    fields: dict[str, Any] = {
        key: value for key, value in parsed.items() if not key.startswith("_")
    }
    yield Item(str(kind), path, 0, 0, fields)


def _json(path: Path) -> Iterator[Item | End]:
    data = path.read_bytes()
    if not data.strip():
        yield End(path, 0, Reason.DAMAGE, "the file is empty; a broker uses its .bak instead")
        return
    try:
        value = loads(data)
    except CodecError as error:
        yield End(path, 0, Reason.DAMAGE, str(error))
        return
    yield Item("config", path, 0, 0, {"content": value})
