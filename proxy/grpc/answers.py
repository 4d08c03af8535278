"""The heads of answers, and what follows their messages.

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Final

from trimq.proxy.grpc.statuses import GrpcStatus, encoded
from trimq.proxy.http2.heads import Fields

HEAD: Final[Fields] = [
    (b":status", b"200"),
    (b"content-type", b"application/grpc"),
    (b"grpc-encoding", b"identity"),
    (b"grpc-accept-encoding", b"gzip"),
]
OK: Final[Fields] = [(b"grpc-status", b"0")]
_ONLY: Final[Fields] = HEAD[:2]
KNOWN: Final = frozenset((tuple(HEAD), tuple(OK)))


def trailers(status: GrpcStatus, text: str, *, alone: bool) -> Fields:
    """`alone`: nothing was sent before."""
    fields = OK if status is GrpcStatus.OK else [(b"grpc-status", b"%d" % status)]
    if alone:
        fields = [*_ONLY, *fields]
    if text:
        fields = [*fields, (b"grpc-message", encoded(text))]
    return fields
