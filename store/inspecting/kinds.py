"""Which kind of store file a path is, recognised by the names that RocketMQ gives (StorePathConfigHelper)."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Final

from trimq.store.inspecting.items import Unreadable

NAME_DIGITS: Final = 20


class Kind(StrEnum):
    """The value is what `--type` takes."""

    COMMIT_LOG = "commitlog"
    CONSUME_QUEUE = "consumequeue"
    BATCH_CONSUME_QUEUE = "batchconsumequeue"
    CONSUME_QUEUE_EXT = "consumequeue_ext"
    INDEX = "index"
    CHECKPOINT = "checkpoint"
    TIMER_WHEEL = "timerwheel"
    TIMER_LOG = "timerlog"
    TIMER_CHECKPOINT = "timercheck"
    ABORT = "abort"
    LOCK = "lock"
    CONFIG = "config"


_BY_NAME: Final = {
    "checkpoint": Kind.CHECKPOINT,
    "timerwheel": Kind.TIMER_WHEEL,
    "timercheck": Kind.TIMER_CHECKPOINT,
    "timermetrics": Kind.CONFIG,
    "transactionMetrics": Kind.CONFIG,
    "position-checkpoint": Kind.CONFIG,
    "abort": Kind.ABORT,
    "lock": Kind.LOCK,
}
# Folder names and how far above a data file they are.
_BY_FOLDER: Final = {
    "commitlog": (Kind.COMMIT_LOG, 1),
    "index": (Kind.INDEX, 1),
    "timerlog": (Kind.TIMER_LOG, 1),
    "consumequeue": (Kind.CONSUME_QUEUE, 3),
    "batchconsumequeue": (Kind.BATCH_CONSUME_QUEUE, 3),
    "consumequeue_ext": (Kind.CONSUME_QUEUE_EXT, 3),
    "compactionLog": (Kind.COMMIT_LOG, 3),
    "compactionCq": (Kind.BATCH_CONSUME_QUEUE, 3),
}


def recognise(path: Path) -> Kind:
    """The kind of a file, or of the files in a folder. Unreadable if the names do not tell."""
    path = path.resolve()
    kind = _kind_of_folder(path) if path.is_dir() else _kind_of_file(path)
    if kind is None:
        kinds = ", ".join(Kind)
        raise Unreadable(
            f"{path}: its name does not say what kind of store file it is; give --type: {kinds}"
        )
    return kind


def _kind_of_file(path: Path) -> Kind | None:
    if path.name.endswith((".json", ".json.bak")):
        return Kind.CONFIG
    known = _BY_NAME.get(path.name.removesuffix(".bak"))
    if known is not None:
        return known
    if path.name.isdigit():
        for folder, (kind, depth) in _BY_FOLDER.items():
            if len(path.parents) > depth and path.parents[depth - 1].name == folder:
                return kind
    return None


def _kind_of_folder(path: Path) -> Kind | None:
    if (path / "CURRENT").is_file():
        raise Unreadable(f"{path} is a RocksDB database; trimq reads RocketMQ's own files only")
    if (path / "commitlog").is_dir() or (path / "consumequeue").is_dir():
        raise Unreadable(
            f"{path} is a whole store: name a file or a folder in it, such as {path}/commitlog, "
            "or run `trimq check` on it"
        )
    if path.name == "config":
        return Kind.CONFIG
    # A topic may be called `index`, so the names further up count first.
    for folder in (path.parent.parent, path.parent, path):
        kind, depth = _BY_FOLDER.get(folder.name, (None, 0))
        if kind is not None and (folder == path or depth == 3):
            return kind
    return None


def files_of(path: Path, kind: Kind, topic: str | None, queue_id: int | None) -> list[Path]:
    """The files to print, in order: the path itself, or those of that kind below the folder."""
    if not path.is_dir():
        return [path]
    if kind is Kind.CONFIG:
        found = sorted(file for file in path.iterdir() if _is_config(file))
    else:
        found = sorted(
            (file for file in path.rglob("*") if file.is_file() and file.name.isdigit()),
            key=_place,
        )
        if _BY_FOLDER.get(kind, (kind, 0))[1] == 3:
            found = [file for file in found if _is_chosen(file, topic, queue_id)]
    if not found:
        raise Unreadable(f"{path}: no {kind} file to print in there")
    return found


def _is_config(file: Path) -> bool:
    return file.is_file() and _kind_of_file(file) is Kind.CONFIG


def _place(file: Path) -> tuple[str, int, str]:
    queue = file.parent.name
    return str(file.parent.parent), int(queue) if queue.isdigit() else -1, file.name


def _is_chosen(file: Path, topic: str | None, queue_id: int | None) -> bool:
    queue = file.resolve().parent
    if topic is not None and queue.parent.name != topic:
        return False
    return queue_id is None or queue.name == str(queue_id)


def base_of(path: Path) -> int | None:
    """The offset in a data file's name; None when it was copied under another one."""
    name = path.name
    return int(name) if len(name) == NAME_DIGITS and name.isdigit() else None
