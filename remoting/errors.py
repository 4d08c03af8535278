"""What can go wrong between two ends of a connection. Without Trio, for the blocking client too."""


class RemotingError(Exception):
    """A failure a processor expects; the dispatcher answers with this code and remark."""

    def __init__(self, code: int, remark: str) -> None:
        super().__init__(code, remark)
        self.code = code
        self.remark = remark

    def __str__(self) -> str:
        return f"{self.remark} (code {int(self.code)})"


class LimitReached(RemotingError):
    """A bound would be exceeded. `limit` is the setting's key; refusals are counted by it."""

    def __init__(self, code: int, remark: str, limit: str) -> None:
        super().__init__(code, remark)
        self.limit = limit


class FeatureMissing(RemotingError):
    """A request for something that is off or not supported; `reason` names it for the log."""

    def __init__(self, code: int, remark: str, reason: str) -> None:
        super().__init__(code, remark)
        self.reason = reason


class TransportError(Exception):
    """The request got no answer: the connection or the other end failed it."""


class RemotingConnectError(TransportError):
    """No connection to the address."""


class RemotingTimeout(TransportError):
    """No answer in time."""


class PeerGone(TransportError):
    """The connection ended before the answer came."""


def reason_of(error: BaseException) -> str:
    """What happened, in words: an operating system's error without its number."""
    if isinstance(error, BaseExceptionGroup):
        # One for each address that was tried.
        return ", ".join(dict.fromkeys(map(reason_of, error.exceptions)))
    return getattr(error, "strerror", None) or str(error)
