"""A request as its processor sees it, and what the processor returns: a response, now or later.

Every message crosses these, so they are plain slotted classes.

Hot: compiled by mypyc when a compiler is there.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from trimq.codec.headers.base import Header
from trimq.remoting.peer import Peer, ReplyBody

H = TypeVar("H")


class Request(Generic[H]):
    """One decoded request: its typed header, its body and who sent it."""

    __slots__ = (
        "body",
        "code",
        "ext_fields",
        "header",
        "language",
        "oneway",
        "opaque",
        "peer",
        "version",
    )

    def __init__(  # noqa: PLR0913, PLR0917 - one argument a field, by position in hot code
        self,
        code: int,
        header: H,
        peer: Peer,
        body: bytes = b"",
        version: int = 0,
        language: int = 0,
        ext_fields: dict[str, str] | None = None,
        oneway: bool = False,
        opaque: int = 0,
    ) -> None:
        self.code = code
        self.header = header
        self.peer = peer
        self.body = body
        self.version = version
        self.language = language
        self.ext_fields: dict[str, str] = {} if ext_fields is None else ext_fields
        self.oneway = oneway
        self.opaque = opaque


class Response:
    """What a processor returns.

    `staged`: belongs to records staged during this receive; should writing them fail, an error
    replaces it.
    `durable_at`: hold the reply back until the commit log is durable up to this offset; after the
    time-out it leaves with `durable_timeout_code`, -1 for that of what it waited for, and its header kept.
    `ext_fields`: without a header, too; an empty dict is shown, as of a Java header without fields, None is not.
    `no_reply`: the real server stays silent here too.
    `copied`: bytes of a stored message of which a copy is staged; a short request may be of a long one.
    A body in several buffers leaves uncopied in one vectored send, one in files by a thread of its own.
    """

    __slots__ = (
        "body",
        "code",
        "copied",
        "durable_at",
        "durable_timeout_code",
        "ext_fields",
        "header",
        "no_reply",
        "remark",
        "staged",
    )

    def __init__(  # noqa: PLR0913, PLR0917 - one argument a field, by position in hot code
        self,
        code: int = 0,
        remark: str | None = None,
        header: Header | None = None,
        ext_fields: dict[str, str] | None = None,
        body: ReplyBody = b"",
        staged: bool = False,
        durable_at: int = -1,
        durable_timeout_code: int = -1,
        no_reply: bool = False,
    ) -> None:
        self.code = code
        self.remark = remark
        self.header = header
        self.ext_fields = ext_fields
        self.body: ReplyBody = body
        self.staged = staged
        self.durable_at = durable_at
        self.durable_timeout_code = durable_timeout_code
        self.no_reply = no_reply
        self.copied = 0


class Later:
    """What a processor returns when the answer needs something that takes time.

    A queue's next message, bytes from the disk, another server, a client. What could be decided is
    decided, and what that changes is done: `answer` continues from there. It is called at most
    once, with the request, in a task of the connection's nursery, after other requests have been
    handled; never when the connection ends before, or may have no more requests waiting.
    `keeps_body`: whether it needs the body, which counts as memory that the waiting takes.
    """

    __slots__ = ("answer", "keeps_body", "request")

    def __init__(
        self,
        request: Request[H],
        answer: Callable[[Request[H]], Awaitable[Response]],
        keeps_body: bool = True,
    ) -> None:
        self.request: Request[Any] = request
        self.answer: Callable[[Request[Any]], Awaitable[Response]] = answer
        self.keeps_body: bool = keeps_body
