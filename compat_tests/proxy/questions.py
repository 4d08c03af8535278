"""Questions that gRPC itself answers, before any call of RocketMQ's sees them; most are wrong in some way."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from typing import Final

from compat_tests.proxy.raw_client import Answer, Fields, RawClient, call, framed
from trimq.proxy.protos.definition_pb2 import Resource
from trimq.proxy.protos.service_pb2 import QueryRouteRequest

MOST: Final = 130 * 1024 * 1024
# Asks no broker: the answer is that the topic is blank.
ROUTE: Final = QueryRouteRequest(topic=Resource(name=" ")).SerializeToString()
# Half as much again as a message may be.
BOMB: Final = gzip.compress(b"\0" * (MOST * 3 // 2))


def cut(body: bytes) -> list[bytes]:
    """In frames."""
    return [body[at : at + 16384] for at in range(0, len(body), 16384)]


@dataclass(frozen=True)
class Question:
    """`ends`: the last piece, or the head, ends the request. `seconds`: for who answers nothing."""

    name: str
    fields: Fields
    pieces: tuple[bytes, ...] = (framed(ROUTE),)
    ends: bool = True
    seconds: float = 20.0


def _route(name: str, *pieces: bytes, ends: bool = True, **changed: str | None) -> Question:
    return Question(name, call("QueryRoute", **changed), pieces or (framed(ROUTE),), ends)


QUESTIONS: Final = (
    _route("good"),
    _route("in two frames", framed(ROUTE)[:7], framed(ROUTE)[7:]),
    _route("ended by an empty frame", framed(ROUTE), b""),
    Question("unknown method", call("Nope")),
    Question("unknown method, nothing sent", call("Nope"), ()),
    Question("unknown service", call("", path="/some.Service/Call")),
    Question("a path of one word", call("", path="/nope")),
    Question("a path without slash", call("", path="nope")),
    Question("a path of a slash", call("", path="/")),
    _route("GET", method="GET"),
    _route("no content-type", content_type=None),
    _route("text", content_type="text/plain"),
    _route("grpc+proto", content_type="application/grpc+proto"),
    _route("grpc+json", content_type="application/grpc+json"),
    _route("grpc with a parameter", content_type="application/grpc;charset=utf-8"),
    _route("grpc-web", content_type="application/grpc-web"),
    _route("grpc in capitals", content_type="Application/GRPC"),
    _route("no te", te=None),
    _route("not protobuf", framed(b"\xff\xff\xff\xff")),
    _route("two messages", framed(ROUTE) + framed(ROUTE)),
    _route("two messages in two frames", framed(ROUTE), framed(ROUTE)),
    Question("no message", call("QueryRoute"), ()),
    _route("an empty frame alone", b""),
    _route("an empty message", framed(b"")),
    _route("a cut message", framed(ROUTE, length=len(ROUTE) + 5)),
    _route("a cut head", b"\0\0\0"),
    _route("a message too large", framed(ROUTE, length=MOST + 1)),
    _route("a message far too large", framed(ROUTE, length=0xFFFFFFFF)),
    _route("a flag unknown", framed(ROUTE, 2)),
    _route("flag 3", framed(gzip.compress(ROUTE), 3), grpc_encoding="gzip"),
    _route("packed, encoding not named", framed(gzip.compress(ROUTE), 1)),
    _route("packed, identity", framed(gzip.compress(ROUTE), 1), grpc_encoding="identity"),
    _route("gzip", framed(gzip.compress(ROUTE), 1), grpc_encoding="gzip"),
    _route("gzip named, not used", grpc_encoding="gzip"),
    _route("gzip that is none", framed(b"nothing of the kind", 1), grpc_encoding="gzip"),
    _route("too large when it is unpacked", *cut(framed(BOMB, 1)), grpc_encoding="gzip"),
    _route("gzip that does not end", framed(gzip.compress(ROUTE)[:-9], 1), grpc_encoding="gzip"),
    _route("an unknown encoding", framed(gzip.compress(ROUTE), 1), grpc_encoding="zstd"),
    _route("an unknown encoding, not used", grpc_encoding="zstd"),
    _route("deflate", grpc_encoding="deflate"),
    _route("a timeout that is none", grpc_timeout="soon"),
    _route("a timeout of nothing", grpc_timeout="0n"),
    _route("a timeout too long", grpc_timeout="999999999S"),
    _route("a deadline while the request has not ended", ends=False, grpc_timeout="300m"),
    _route("a deadline before a message", b"", ends=False, grpc_timeout="300m"),
    Question("an unknown method while the request goes on", call("Nope"), (b"\0",), False),
    _route("too many messages while the request goes on", framed(ROUTE) * 2, ends=False),
    Question("a talk that ends at once", call("Telemetry"), ()),
    Question("a talk that is no protobuf", call("Telemetry"), (framed(b"\xff" * 4),), False),
    Question("a talk with a deadline", call("Telemetry", grpc_timeout="300m"), (), False),
    _route("a header of 4 KiB", x_long="x" * 4000),
    Question("no client", call("QueryRoute", x_mq_client_id=None)),
    Question("a call that is not served", call("PullMessage"), (framed(b""),)),
)


def asked(address: str, question: Question) -> Answer:
    """On a connection of its own."""
    with RawClient(address) as client:
        return client.ask(
            question.fields, question.pieces, ends=question.ends, seconds=question.seconds
        )
