"""The one error of this layer."""


class CodecError(Exception):
    """Bytes or values that break the protocol; the message says what was wrong and where."""
