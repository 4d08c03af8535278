"""How a gRPC call ends, beside what its messages say."""

from enum import IntEnum
from urllib.parse import quote


class GrpcStatus(IntEnum):
    """The codes of gRPC itself."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class GrpcError(Exception):
    """Ends a call with this status."""

    def __init__(self, status: GrpcStatus, text: str) -> None:
        super().__init__(status, text)
        self.status = status
        self.text = text


def encoded(text: str) -> bytes:
    """As `grpc-message` has it: what is not printable ASCII, and the percent sign, by percent."""
    printable = "".join(chr(code) for code in range(0x20, 0x7F) if code != ord("%"))
    return quote(text, safe=printable).encode("ascii")
