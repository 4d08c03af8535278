"""Options of `format("rocketmq-store")`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trimq.spark.errors import WrongOption
from trimq.spark.option_texts import Options
from trimq.spark.positions import parse_position

TABLES: Final = ("messages", "consumequeue", "index")
KNOWN: Final = (
    "path",
    "table",
    "topic",
    "topics",
    "columns",
    "startTimestamp",
    "endTimestamp",
    "brokerName",
    "splitBytes",
)
_FOREVER: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """What to read of a store. Times in milliseconds: from `start` on, before `end`."""

    root: Path
    table: str
    topics: frozenset[str]
    start: int
    end: int
    broker_name: str | None
    split_bytes: int

    @property
    def commit_log(self) -> Path:
        return self.root / "commitlog"


def store_options(given: Mapping[str, str]) -> StoreOptions:
    """WrongOption when one cannot be meant, or the path is no store."""
    options = Options(given, KNOWN)
    table = options.text("table", "messages")
    if table not in TABLES:
        raise WrongOption(f"option 'table' is {table!r}; there are: {', '.join(TABLES)}")
    text = options.text("path")
    if text is None:
        raise WrongOption("give the store's directory: .load('/path/to/store')")
    listed = options.text("topic") or options.text("topics") or ""
    return StoreOptions(
        root=_root(text),
        table=table,
        topics=frozenset(name.strip() for name in listed.split(",")) - {""},
        start=_millis(options, "startTimestamp", 0),
        end=_millis(options, "endTimestamp", _FOREVER),
        broker_name=options.text("brokerName"),
        split_bytes=options.number("splitBytes", 64 << 20, least=1 << 10, most=1 << 40),
    )


def _root(text: str) -> Path:
    root = Path(text.removeprefix("file:"))
    if root.name == "commitlog" and not (root / "commitlog").is_dir():
        root = root.parent
    if not (root / "commitlog").is_dir():
        raise WrongOption(f"{root} is not a store: there is no folder 'commitlog' in it")
    return root


def _millis(options: Options, name: str, default: int) -> int:
    text = options.text(name)
    if text is None:
        return default
    position = parse_position(name, text)
    if position.word != "time":
        raise WrongOption(f"option {name!r} is {text!r}, not a time like 2026-01-31T12:00:00Z")
    return position.millis
