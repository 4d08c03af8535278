"""REGISTER_BROKER: its fields, its body in all forms, and brokers of older versions."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import Any, Final

from compat_tests.wire import reading
from compat_tests.wire.asks import body_of, changed
from compat_tests.wire.case import Case, in_binary
from compat_tests.wire.cases.brokers import (
    ROUTE,
    VERSION,
    at,
    register,
    topic_config,
    topics_body,
)
from compat_tests.wire.frames import Frame
from compat_tests.wire.stage import Stage

MARK: Final = b"\xff\xff\xff\xff"


def cases() -> Iterator[Case]:
    yield from registering()
    yield from bodies()
    yield from old_brokers()


def registering() -> Iterator[Case]:
    shown: dict[str, Any] = {"after": [ROUTE]}
    yield at("register", register(), **shown)
    yield in_binary("namesrv: register", register(), on="namesrv", **shown)
    # The real one keeps nameless clusters and brokers for good, and its lists break on them.
    for name in sorted(register().ext.keys() - {"brokerName", "brokerAddr", "clusterName"}):
        yield at(f"register without {name}", changed(register(), **{name: None}), **shown)
    for name in ("brokerId", "bodyCrc32", "heartbeatTimeoutMillis"):
        yield at(f"register, {name} no number", changed(register(), **{name: "x"}), **shown)
    yield at("register, broker id -1", register(brokerId=-1), **shown)
    yield at("register, time-out of 5 s", register(heartbeatTimeoutMillis=5000), **shown)
    yield at("register, acting master", register(enableActingMaster=True), **shown)
    yield at("register, acting master left out", register(enableActingMaster=None), **shown)
    zone = changed(register(), __ZONE_NAME="zone-1")
    yield at("register, with a zone", zone, **shown)
    one = topics_body(topic_config())
    yield at("register, a single topic first", register(one), **shown)
    yield at("register, a single topic later", register(one), before=[register()], **shown)
    none = topics_body()
    yield at("register, no topic", register(none), **shown)
    yield at("register, no topic later", register(none), before=[register()], **shown)
    flagged = topics_body(
        topic_config(perm=4, readQueueNums=2, writeQueueNums=8, topicSysFlag=3, order=True),
        topic_config("other-$T"),
    )
    yield at("register, a topic of its own kind", register(flagged), **shown)


def checked(stage_body: bytes, crc: int | None = None) -> Frame:
    """With the checksum of the body; its names must not change then, so it has none."""
    return register(stage_body, bodyCrc32=crc or zlib.crc32(stage_body) & 0x7FFFFFFF)


def bodies() -> Iterator[Case]:
    shown: dict[str, Any] = {"after": [ROUTE]}
    fixed = topics_body(topic_config("x"), topic_config("y"))
    yield at("register, checksum right", checked(fixed))
    yield at("register, checksum wrong", checked(fixed, 12345))
    yield at("register, checksum negative", checked(fixed, -1))
    yield at("register, no body", register(b""), **shown)
    yield at("register, no body but a checksum", register(b"", bodyCrc32=5))
    yield at("register, no JSON", register(b"nonsense"), **shown)
    yield at("register, empty object", register(b"{}"), **shown)
    yield at("register, wrapper null", register(b'{"topicConfigSerializeWrapper":null}'), **shown)
    yield at("register, compressed and no zlib", register(b"nonsense", compressed=True), **shown)
    yield at("register, compressed and no body", register(b"", compressed=True), **shown)

    def compressed(name: str, plain: bytes, version: int = 513) -> Case:
        def play(stage: Stage) -> None:
            text = stage.fill(plain.decode("latin-1")).encode("latin-1")
            text = fix_lengths(text)
            body = zlib.compress(text)
            request = register(body, compressed=True, bodyCrc32=zlib.crc32(body) & 0x7FFFFFFF)
            request.version = version
            reply = stage.link("namesrv").ask(with_names(stage, request, body))
            stage.record("reply", reading.reply(reply, reading.as_json))
            stage.show("route", ROUTE, on="namesrv")

        return Case(f"namesrv: register, compressed{name}", play)

    yield compressed("", compact([topic_line(), topic_line("other-$T")]))
    yield compressed(", no attributes", compact([topic_line(attributes=None), topic_line("o-$T")]))
    yield compressed(
        ", with attributes",
        compact([topic_line(attributes='{"message.type":"NORMAL"}'), topic_line("other-$T")]),
    )
    yield compressed(
        ", no mappings", compact([topic_line(), topic_line("other-$T")], mappings=None)
    )
    yield compressed(
        ", no mappings, version 4.9",
        compact([topic_line(), topic_line("other-$T")], mappings=None),
        version=401,
    )
    yield compressed(", one topic", compact([topic_line()]))
    yield compressed(", cut off", compact([topic_line(), topic_line("other-$T")])[:60])


def topic_line(name: str = "$T", attributes: str | None = "{}") -> bytes:
    """TopicConfig.encode: its fields joined by spaces."""
    line = f"{name} 4 4 6 SINGLE_TAG"
    return (line if attributes is None else f"{line} {attributes}").encode()


def compact(topics: list[bytes], mappings: int | None = 0) -> bytes:
    """formats.md section 18 before deflation; a mark stands where a topic line's length belongs."""
    version = json.dumps(VERSION, separators=(",", ":")).encode()
    parts = [len(version).to_bytes(4, "big"), version, len(topics).to_bytes(4, "big")]
    for line in topics:
        parts += [MARK, line, MARK]
    parts += [(2).to_bytes(4, "big"), b"[]"]
    if mappings is not None:
        parts.append(mappings.to_bytes(4, "big"))
    return b"".join(parts)


def fix_lengths(text: bytes) -> bytes:
    """The lengths of the topic lines, once their names are known."""
    pieces = text.split(MARK)
    lines = pieces[1::2]
    out = [pieces[0]]
    for line, behind in zip(lines, [*pieces[2::2], b""], strict=False):
        out += [len(line).to_bytes(4, "big"), line, behind]
    return b"".join(out)


def with_names(stage: Stage, request: Frame, body: bytes) -> Frame:
    """The request filled in, its body left as it is."""
    filled = stage.request(changed(request))
    filled.body = body
    return filled


def old_brokers() -> Iterator[Case]:
    shown: dict[str, Any] = {"after": [ROUTE]}
    for version in (36, 37, 317, 401, 412, 413):
        request = register()
        request.version = version
        yield at(f"register from version {version}", request, **shown)
    wrapper = {
        "dataVersion": VERSION,
        "topicConfigTable": {"$T": topic_config(), "o-$T": topic_config("o-$T")},
    }
    request = register(body_of(wrapper))
    request.version = 36
    yield at("register from version 36, its own body", request, **shown)
