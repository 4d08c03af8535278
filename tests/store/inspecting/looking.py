"""Stores to look into, and what is seen there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trimq.store.inspecting.inspection import inspect
from trimq.store.inspecting.items import End, Item, Selection
from trimq.store.inspecting.kinds import Kind

VECTORS = Path(__file__).parents[2] / "vectors"


def look(path: Path, kind: Kind | None = None, **chosen: Any) -> tuple[list[Item], list[End]]:
    found = list(inspect(path, kind, Selection(**chosen)))
    items = [item for item in found if isinstance(item, Item)]
    return items, [item for item in found if isinstance(item, End)]


def fill(bench, count: int = 12, **settings: Any) -> None:
    """Messages over two topics and three queues, with keys."""
    store = bench.open(**settings)
    for number in range(count):
        properties = f"KEYS\x01k{number} all\x02UNIQ_KEY\x01U{number}\x02".encode()
        topic = f"T{number % 2}"
        body = b"body %d" % number
        store.put(bench.message(body, topic, number % 3, properties=properties))
    bench.close(store)
