"""Which file of ours has to do with a fact of RocketMQ's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from compat_tests.drift.facts import (
    BODY,
    COMMAND,
    HEADER,
    LAYOUT,
    METRIC,
    REMARK,
    REQUEST_CODE,
    RESPONSE_CODE,
    SETTING,
    Fact,
)
from compat_tests.servers.artifacts import ROOT

# Where each kind is looked for, the likeliest folder first.
PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    REQUEST_CODE: ("processors", "namesrv", "codec/codes.py"),
    RESPONSE_CODE: ("codec/codes.py",),
    HEADER: ("codec/headers", "codec", "processors", "broker"),
    BODY: ("codec/bodies", "codec", "broker"),
    SETTING: ("trimq/settings", "store/config.py", "broker/settings", "broker", "namesrv"),
    METRIC: ("broker",),
    COMMAND: ("mqadmin/commands", "mqadmin"),
    REMARK: ("processors", "namesrv", "broker"),
    LAYOUT: ("store", "codec"),
}
# Java's ends of names, which ours do not have.
_ENDS: Final = re.compile(r"(RequestHeader|ResponseHeader|RequestBody|ResponseBody|Processor)$")


def file_of(fact: Fact) -> str:
    """Its path in the checkout; empty: none was found."""
    found = (_paths(place).get(word) for place in PLACES[fact.kind] for word in _words(fact))
    return next((path for path in found if path), "")


def _words(fact: Fact) -> Iterable[str]:
    """What to look for, the most telling first."""
    owner, _, name = fact.name.partition(".")
    if fact.kind == COMMAND:
        return (fact.name.split()[0],)
    if not name:
        return (owner,)
    if fact.kind == SETTING:
        return (snake(name), name)
    if fact.kind == REMARK:
        return (snake(name), name, owner, _ENDS.sub("", owner))
    short = _ENDS.sub("", owner)
    return (owner, short, snake(short), name)


def snake(name: str) -> str:
    """PullMessage as pull_message."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


@cache
def _paths(place: str) -> dict[str, str]:
    """By word, the first of our sources there that has it in its text or as its name."""
    root = ROOT / place
    files: list[Path] = [root] if root.is_file() else sorted(root.rglob("*.py"))
    found: dict[str, str] = {}
    for file in files:
        for word in re.findall(r"[\w-]+", f"{file.stem}\n{file.read_text()}"):
            found.setdefault(word, str(file.relative_to(ROOT)))
    return found
