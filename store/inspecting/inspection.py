"""One inspection: from a path to the items of its files, whatever kind they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from trimq.store.inspecting.commit_log import inspect_commit_log
from trimq.store.inspecting.entries import LAYOUTS, inspect_entries
from trimq.store.inspecting.extension import inspect_extension
from trimq.store.inspecting.index import inspect_index
from trimq.store.inspecting.items import End, Item, Selection, Unreadable
from trimq.store.inspecting.kinds import Kind, files_of, recognise
from trimq.store.inspecting.single import inspect_single
from trimq.store.log.paths import parse_paths

_RANGE: Final = frozenset({"start", "end"})
_QUEUES: Final = frozenset({"topic", "queue_id"}) | _RANGE
# What can be selected by, for kinds that have a choice at all.
SELECTABLE: Final = {
    Kind.COMMIT_LOG: _QUEUES | {"offsets", "physical_offset", "key"},
    Kind.CONSUME_QUEUE: _QUEUES | {"offsets", "physical_offset"},
    Kind.BATCH_CONSUME_QUEUE: _QUEUES | {"physical_offset"},
    Kind.CONSUME_QUEUE_EXT: _QUEUES,
    Kind.INDEX: _RANGE | {"topic", "key", "physical_offset", "index_slots"},
    Kind.TIMER_LOG: _RANGE | {"physical_offset"},
    Kind.TIMER_WHEEL: _RANGE,
}
OPTIONS: Final = {
    "topic": "--topic",
    "queue_id": "--queue",
    "offsets": "--offset",
    "physical_offset": "--physical-offset",
    "key": "--key",
    "start": "--from",
    "end": "--to",
    "index_slots": "--index-slots",
}


def inspect(path: Path, kind: Kind | None, selection: Selection) -> Iterator[Item | End]:
    """Items and ends of the file, or of all files below the folder. Unreadable: nothing to print."""
    parts = _parts(path)
    for part in parts:
        if not part.exists():
            raise Unreadable(f"{part}: no such file or folder")
    if kind is None:
        kind = recognise(parts[0])
    _refuse_useless(kind, selection)
    paths = [file for part in parts for file in _files_of(part, kind, selection)]
    if len(parts) > 1:
        paths.sort(key=lambda file: file.name)
    if kind is Kind.COMMIT_LOG:
        return inspect_commit_log(paths, selection)
    if kind in LAYOUTS:
        return inspect_entries(paths, kind, selection)
    if kind is Kind.CONSUME_QUEUE_EXT:
        return inspect_extension(paths, selection)
    if kind is Kind.INDEX:
        return inspect_index(paths, _with_index_key(selection))
    return inspect_single(paths, kind)


def _parts(path: Path) -> tuple[Path, ...]:
    """A commit log may have several folders, named as in storePathCommitLog."""
    try:
        parts = () if path.exists() else parse_paths(str(path))
    except ValueError:
        parts = ()
    return parts or (path,)


def _files_of(part: Path, kind: Kind, selection: Selection) -> list[Path]:
    return files_of(part, kind, selection.topic, selection.queue_id)


def _refuse_useless(kind: Kind, selection: Selection) -> None:
    allowed = SELECTABLE.get(kind, frozenset())
    for name, option in OPTIONS.items():
        if getattr(selection, name) is not None and name not in allowed:
            known = ", ".join(text for key, text in OPTIONS.items() if key in allowed)
            raise Unreadable(f"{option} means nothing for a {kind} file (it knows: {known or '-'})")


def _with_index_key(selection: Selection) -> Selection:
    """The index holds hashes of `topic#key`."""
    if selection.key is None:
        if selection.topic is not None:
            raise Unreadable("--topic needs --key in an index: only hashes of both are in there")
        return selection
    if selection.topic is None:
        raise Unreadable("--key needs --topic in an index: the hash is of `topic#key`")
    return Selection(
        key=f"{selection.topic}#{selection.key}",
        index_slots=selection.index_slots,
    )
