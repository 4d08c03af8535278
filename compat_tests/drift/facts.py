"""What a compatible broker must look at, read off the sources of one version.

A fact has a kind, a name and a value. No text of the sources is kept but names, numbers and defaults: of what a server
remarks there is a digest, by the method that says it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from tree_sitter import Node

from compat_tests.drift import java


class Fact(NamedTuple):
    """What is compared: the same kind and name with another value is a change."""

    kind: str
    name: str


Facts = dict[Fact, str]

REQUEST_CODE: Final = "request code"
RESPONSE_CODE: Final = "response code"
HEADER: Final = "header field"
BODY: Final = "body field"
SETTING: Final = "setting"
METRIC: Final = "metric"
COMMAND: Final = "mqadmin command"
REMARK: Final = "remark"
LAYOUT: Final = "number of a layout"
KINDS: Final = (
    *(REQUEST_CODE, RESPONSE_CODE, HEADER, BODY, SETTING, METRIC, COMMAND, REMARK, LAYOUT),
)

_CODES: Final = {
    "RequestCode": REQUEST_CODE,
    "ResponseCode": RESPONSE_CODE,
    "RemotingSysResponseCode": RESPONSE_CODE,
}
_BODIES: Final = (
    *("admin", "body", "filter", "heartbeat", "namesrv", "route", "statictopic"),
    *("subscription", "topic"),
)
_BODY_CLASSES: Final = frozenset(("TopicConfig", "MessageQueue", "DataVersion", "BrokerData"))
# Beside those whose names end in Config.
_SETTINGS: Final = frozenset(("ClientConfig", "TlsSystemConfig", "NettySystemConfig"))
_SAYS: Final = frozenset(("setRemark", "createResponseCommand", "createResponse", "remark"))
_REQUIRED: Final = "@CFNotNull"


def facts(files: Iterable[tuple[str, bytes]]) -> Facts:
    """`files`: (path, source)."""
    found: Facts = {}
    for path, source in files:
        root = java.parsed(source)
        for read in _READERS:
            found.update(read(PurePosixPath(path), root))
    return found


def _codes(path: PurePosixPath, root: Node) -> Iterator[tuple[Fact, str]]:
    kind = _CODES.get(path.stem)
    if kind is not None:
        for field in java.fields(root):
            if field.is_constant and field.type == "int":
                yield Fact(kind, field.name), field.default


def _fields(path: PurePosixPath, root: Node) -> Iterator[tuple[Fact, str]]:
    kind = _kind_of_fields(path)
    if kind is not None:
        for field in java.fields(root):
            if "static" not in field.marks:
                default = f" = {field.default}" if field.default else ""
                required = ", required" if _REQUIRED in field.marks else ""
                name = Fact(kind, f"{field.owner}.{field.name}")
                yield name, f"{field.type}{default}{required}"


def _kind_of_fields(path: PurePosixPath) -> str | None:
    parts = path.parts
    if "protocol" in parts:
        below = parts[parts.index("protocol") + 1 : -1]
        if below[:1] == ("header",):
            return HEADER
        if below[:1] and below[0] in _BODIES:
            return BODY
    if path.stem in _BODY_CLASSES:
        return BODY
    is_setting = path.stem.endswith("Config") and "org/apache/rocketmq" in path.as_posix()
    return SETTING if is_setting or path.stem in _SETTINGS else None


def _metrics(path: PurePosixPath, root: Node) -> Iterator[tuple[Fact, str]]:
    if "MetricsConstant" in path.stem:
        for name, text in _constant_texts(root):
            yield Fact(METRIC, name), text


def _commands(path: PurePosixPath, root: Node) -> Iterator[tuple[Fact, str]]:
    # Most files are of other parts, and a walk through a whole file costs.
    if "command" not in path.parts:
        return
    for name in java.returned_texts(root, "commandName")[:1]:
        yield Fact(COMMAND, name), "is there"
        for call in java.calls(root):
            # (short, long, takes a value, what it is for), or without the long one.
            if call.name == "Option" and len(call.arguments) in (3, 4):
                words = [text for one in call.arguments[:2] for text in java.literals(one)]
                takes = call.arguments[-2].text == b"true"
                if words:
                    long = f"--{words[1]}" if len(words) > 1 else "no long name"
                    value = "takes a value" if takes else "a flag"
                    yield Fact(COMMAND, f"{name} -{words[0]}"), f"{long}, {value}"


def _links(path: PurePosixPath, root: Node) -> Iterator[tuple[Fact, str]]:
    """What stands at the end of many remarks."""
    if path.stem == "FAQUrl":
        for name, text in _constant_texts(root):
            yield Fact(REMARK, name), _digest([text])


def _constant_texts(root: Node) -> Iterator[tuple[str, str]]:
    for field in java.fields(root):
        if field.is_constant and field.default.startswith('"'):
            yield f"{field.owner}.{field.name}", field.default.strip('"')


def _digest(texts: list[str]) -> str:
    """What is kept of texts: how many, and whether they are the same."""
    digest = hashlib.sha256("\0".join(sorted(texts)).encode()).hexdigest()[:8]
    return f"{len(texts)} texts, {digest}"


def _remarks(path: PurePosixPath, root: Node) -> Iterator[tuple[Fact, str]]:
    if "processor" not in path.parts:
        return
    said: dict[str, list[str]] = {}
    for call in java.calls(root):
        if call.name in _SAYS:
            texts = [text for one in call.arguments for text in java.literals(one)]
            said.setdefault(f"{call.owner}.{call.method}", []).extend(texts)
    for name, texts in said.items():
        if texts:
            yield Fact(REMARK, name), _digest(texts)


def _layouts(path: PurePosixPath, root: Node) -> Iterator[tuple[Fact, str]]:
    if "store" in path.parts or path.stem in ("MessageDecoder", "MessageSysFlag"):
        for field in java.fields(root):
            is_number = field.type in ("int", "long", "short", "byte")
            if is_number and field.is_constant and any(one.isdigit() for one in field.default):
                yield Fact(LAYOUT, f"{field.owner}.{field.name}"), field.default


_Reader = Callable[[PurePosixPath, Node], Iterator[tuple[Fact, str]]]
_READERS: Final[tuple[_Reader, ...]] = (
    *(_codes, _fields, _metrics, _commands, _remarks, _links, _layouts),
)
