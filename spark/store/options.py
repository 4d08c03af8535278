"""Options of `format("rocketmq-store")`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from trimq.spark.errors import WrongOption
from trimq.spark.options.positions import parse_position
from trimq.spark.options.texts import Options
from trimq.spark.store.files import Files, location_of, settings_of
from trimq.store.log.paths import parse_paths

TABLES: Final = ("messages", "consumequeue", "index")
KNOWN: Final = (
    "path",
    "paths",
    "table",
    "topic",
    "topics",
    "columns",
    "startTimestamp",
    "endTimestamp",
    "brokerName",
    "splitBytes",
    "useConsumeQueue",
    "storePathCommitLog",
    "readOnlyCommitLogStorePaths",
    "storageOptions",
)
_FOREVER: Final = 1 << 62
_PATTERN: Final = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Store:
    """A store directory; `commit_logs` are the folders with the files of its commit log."""

    root: str
    commit_logs: tuple[str, ...]
    broker_name: str | None = None


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """What to read of which stores. Times in milliseconds: from `start` on, before `end`.

    `queue_ids` None: any. `use_queues` None: where that is cheaper.
    """

    stores: tuple[Store, ...]
    files: Files
    table: str
    topics: frozenset[str]
    start: int
    end: int
    split_bytes: int
    use_queues: bool | None = None
    queue_ids: frozenset[int] | None = None


def store_options(given: Mapping[str, str]) -> StoreOptions:
    """WrongOption when one is impossible, or a path is not a store."""
    options = Options(given, KNOWN)
    options.demand_some("path '/path/to/store'")
    table = options.text("table", "messages")
    if table not in TABLES:
        raise WrongOption(f"option 'table' is {table!r}; there are: {', '.join(TABLES)}")
    files = Files(settings_of(options.text("storageOptions") or "{}"))
    listed = options.text("topic") or options.text("topics") or ""
    topics = frozenset(name.strip() for name in listed.split(",")) - {""}
    use_queues = options.choice("useConsumeQueue", "auto", "true", "false")
    stores = _stores(options, files)
    start = _millis(options, "startTimestamp", 0)
    end = _millis(options, "endTimestamp", _FOREVER)
    if start >= end:
        raise WrongOption(
            f"options 'startTimestamp' {options.text('startTimestamp')!r} and 'endTimestamp'"
            f" {options.text('endTimestamp')!r}: the read would end before it begins"
        )
    return StoreOptions(
        stores=stores,
        files=files,
        table=table,
        topics=topics,
        start=start,
        end=end,
        split_bytes=options.number("splitBytes", 64 << 20, least=1 << 10, most=1 << 40),
        use_queues={"true": True, "false": False}.get(use_queues or "auto"),
    )


def _stores(options: Options, files: Files) -> tuple[Store, ...]:
    roots = _roots(options, files)
    moved = _moved(options)
    if moved and len(roots) > 1:
        raise WrongOption(
            "option 'storePathCommitLog' says where the log of one store is, and there are"
            f" {len(roots)}: read them one by one and union() the frames"
        )
    names = _broker_names(options.text("brokerName"), len(roots))
    return tuple(_store(root, moved, name, files) for root, name in zip(roots, names, strict=True))


def _roots(options: Options, files: Files) -> list[str]:
    """All directories that `path`, or the list of paths, means, in the given order."""
    text = options.text("path")
    several = options.text("paths")
    if several is not None:
        given = [str(one) for one in json.loads(several)]
    elif text is not None:
        given = [text] if files.exists(location_of(text)) else text.split(",")
    else:
        raise WrongOption("give the store's directory: .load('/path/to/store')")
    found: list[str] = []
    for one in filter(None, (location_of(part.strip()) for part in given)):
        if not _PATTERN & set(one) or files.exists(one):
            found.append(one)
            continue
        matching = [path for path in files.matching(one) if files.is_folder(path)]
        if not matching:
            raise WrongOption(f"{one} matches no directory")
        found += matching
    return list(dict.fromkeys(found))


def _moved(options: Options) -> tuple[str, ...]:
    """The folders of the log as the broker's own settings name them."""
    found: list[str] = []
    for name in ("storePathCommitLog", "readOnlyCommitLogStorePaths"):
        text = options.text(name)
        if text is None:
            continue
        if "://" in text:
            found += [location_of(part) for part in text.split(",")]
            continue
        try:
            found += map(str, parse_paths(text))
        except ValueError as error:
            raise WrongOption(f"option {name!r} is {text!r}: {error}") from None
    return tuple(dict.fromkeys(found))


def _broker_names(text: str | None, count: int) -> list[str | None]:
    names: list[str | None] = [part.strip() for part in (text or "").split(",") if part.strip()]
    if len(names) == count:
        return names
    if len(names) > 1:
        raise WrongOption(
            f"option 'brokerName' has {len(names)} names for {count} directories; give one each, or"
            " one for all"
        )
    return (names or [None]) * count


def _store(root: str, moved: tuple[str, ...], broker_name: str | None, files: Files) -> Store:
    head, _, last = root.rpartition("/")
    if last == "commitlog" and not files.is_folder(f"{root}/commitlog"):
        root = head or "/"
    folders = moved or (f"{root}/commitlog",)
    missing = [folder for folder in folders if not files.is_folder(folder)]
    if moved and missing:
        raise WrongOption(f"option 'storePathCommitLog': there is no folder {missing[0]}")
    if missing:
        raise WrongOption(
            f"{root} is not a store: there is no folder 'commitlog' in it; if the broker's "
            f"storePathCommitLog names others, give them in the option of that name"
        )
    return Store(root, folders, broker_name)


def _millis(options: Options, name: str, default: int) -> int:
    text = options.text(name)
    if text is None:
        return default
    position = parse_position(name, text)
    if position.word != "time":
        raise WrongOption(f"option {name!r} is {text!r}, not a time like 2026-01-31T12:00:00Z")
    return position.millis
