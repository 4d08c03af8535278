"""Which modules look at the wall clock, found in the sources."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[3]
FOLDERS = ("base", "broker", "namesrv", "processors", "remoting", "replication", "store", "trimq")
# Methods and arguments that give it: Clock.millis, and what the store and others are given of it.
NAMES = {"millis", "now_millis", "_now_millis", "time_ns", "utcnow", "today"}


def wall_users() -> set[str]:
    """Their paths, from the root of the sources."""
    found = set()
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            # The folders are links in `trimq`, too.
            if path.resolve().is_relative_to(ROOT / folder) and _looks(path):
                found.add(str(path.relative_to(ROOT)))
    return found


def _looks(path: Path) -> bool:
    return any(_is_look(node) for node in ast.walk(ast.parse(path.read_text())))


def _is_look(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        of_time = isinstance(node.value, ast.Name) and node.value.id == "time"
        return node.attr in NAMES or (of_time and node.attr in ("time", "clock_gettime"))
    return isinstance(node, ast.ImportFrom) and node.module == "time" and _imports_wall(node)


def _imports_wall(node: ast.ImportFrom) -> bool:
    return any(one.name in ("time", "time_ns") for one in node.names)
