"""The error of this layer, and the only kind of it that a connection survives."""


class CodecError(Exception):
    """Bytes or values that break the protocol; the message says what was wrong and where."""


class HeaderTooLarge(CodecError):
    """A whole frame whose header is beyond its limits: refused, and the next frame is read.

    `opaque`, `flag` and `coding` are what an answer needs.
    """

    def __init__(self, message: str, opaque: int, flag: int, coding: int) -> None:
        super().__init__(message)
        self.opaque = opaque
        self.flag = flag
        self.coding = coding
