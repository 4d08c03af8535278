"""The error of this layer, and the kinds of it that a connection survives."""


class CodecError(Exception):
    """Bytes or values that break the protocol; the message says what was wrong and where."""


class HeaderRefused(CodecError):
    """A whole frame whose header was not read: refused, and the next frame is read.

    `opaque`, `flag` and `coding` are what an answer needs; without an opaque there can be none.
    """

    def __init__(self, message: str, opaque: int | None, flag: int, coding: int) -> None:
        super().__init__(message)
        self.opaque = opaque
        self.flag = flag
        self.coding = coding


class HeaderTooLarge(HeaderRefused):
    """It is beyond the limits of a header."""


class HeaderUnreadable(HeaderRefused):
    """It is neither JSON, nor what fastjson2 takes for JSON, nor in the binary coding."""
