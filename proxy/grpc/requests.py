"""What the head of a request must be like; what it is not is answered as grpc-java answers it.

Hot: compiled by mypyc when a compiler is there.
"""

from dataclasses import dataclass
from typing import Final

from trimq.proxy.grpc.statuses import GrpcStatus, encoded
from trimq.proxy.http2.heads import Fields

_GRPC: Final = b"application/grpc"
ENCODINGS: Final = frozenset({"identity", "gzip"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """In HTTP's words: an answer of its own kind, after which the stream is given up."""

    http_status: bytes
    status: GrpcStatus
    text: str

    def head(self) -> Fields:
        return [
            (b":status", self.http_status),
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"grpc-status", b"%d" % self.status),
            (b"grpc-message", encoded(self.text)),
        ]


def refusal(fields: dict[bytes, bytes]) -> Refusal | None:
    """None: it is a call of gRPC."""
    path = fields.get(b":path", b"")
    if path[:1] != b"/":
        text = f"Expected path to start with /: {path.decode('latin-1')}"
        return Refusal(b"404", GrpcStatus.UNIMPLEMENTED, text)
    kind = fields.get(b"content-type")
    if kind is None:
        text = "Content-Type is missing from the request"
        return Refusal(b"415", GrpcStatus.INTERNAL, text)
    if kind != _GRPC and not _is_grpc(kind):
        text = f"Content-Type '{kind.decode('latin-1')}' is not supported"
        return Refusal(b"415", GrpcStatus.INTERNAL, text)
    method = fields.get(b":method", b"")
    if method != b"POST":
        text = f"Method '{method.decode('latin-1')}' is not supported"
        return Refusal(b"405", GrpcStatus.INTERNAL, text)
    return None


def _is_grpc(kind: bytes) -> bool:
    kind = kind.lower()
    return kind.startswith(_GRPC) and kind[len(_GRPC) : len(_GRPC) + 1] in (b"", b"+", b";")
