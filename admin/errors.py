"""What an operation can fail with, besides remoting's TransportError (no answer at all)."""

from trimq.codec.codes import AnyRequestCode, ResponseCode


class AdminError(Exception):
    """An operation could not be done; the text is one sentence for a person."""


class Refused(AdminError):
    """A server answered, but with something other than success.

    `code` is its ResponseCode, `remark` its own words (may be empty).
    """

    def __init__(self, addr: str, request: AnyRequestCode, code: int, remark: str | None) -> None:
        super().__init__(addr, request, code, remark)
        self.addr = addr
        self.request = request
        self.code = code
        self.remark = remark or ""

    def __str__(self) -> str:
        if self.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            return f"{self.addr} does not know {self.request.name} (request code {self.request})"
        remark = " ".join(self.remark.split())
        return f"{self.addr} refused {self.request.name} with code {self.code}: {remark}"


class NotFound(AdminError):
    """What was asked about does not exist: a topic, a group's connections, a message."""


class NoRoute(NotFound):
    """No NameServer knows the topic."""

    def __init__(self, text: str, topic: str) -> None:
        super().__init__(text)
        self.topic = topic


class Stuck(AdminError):
    """A server's answers lead nowhere, however often it is asked."""


class Invalid(AdminError):
    """What the caller gave makes no sense."""
