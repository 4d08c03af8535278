"""What the log says of requests: each one at debug, and those that nobody answers at warning."""

import logging
import time
from collections.abc import Mapping
from typing import Final

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.exchange import Response
from trimq.remoting.peer import Peer

log = logging.getLogger("trimq.remoting")

# What nobody answers is said once a minute for each code, with how often it came meanwhile.
_PAUSE_SECONDS: Final = 60.0
# Peers can make codes up: so many are told apart.
_MOST_CODES: Final = 100

_SEND_V2: Final = frozenset({310, 320, 325})
_GROUPS: Final = ("consumerGroup", "producerGroup", "group", "groupName")
_REQUESTS: Final = {int(code): code.name for code in RequestCode}
_RESPONSES: Final = {int(code): code.name for code in ResponseCode}


class RequestLog:
    """The log of one listener's requests.

    `why_not` has, by request code, why nobody answers it: the feature that is missing.
    """

    __slots__ = ("_missed", "_said_at", "_why_not", "listener")

    def __init__(self, listener: str = "server", why_not: Mapping[int, str] | None = None) -> None:
        self.listener = listener
        self._why_not = {} if why_not is None else why_not
        self._said_at: dict[int, float] = {}
        self._missed: dict[int, int] = {}

    @property
    def on(self) -> bool:
        """Whether requests are written: asked once a receive."""
        return log.isEnabledFor(logging.DEBUG)

    def answered(
        self, code: int, fields: Mapping[str, str], peer: Peer, response: Response, nanos: int
    ) -> None:
        """A request has its response. `nanos` is without the writing that a receive shares."""
        log.debug(
            "request: request=%s topic=%s group=%s peer=%s answer=%s remark=%s micros=%d on=%s",
            request_name(code),
            fields.get("b" if code in _SEND_V2 else "topic"),
            _group(code, fields),
            peer.remote_addr,
            _RESPONSES.get(response.code, str(response.code)),
            response.remark or None,
            nanos // 1000,
            self.listener,
        )

    def unanswered(self, code: int, peer: Peer) -> None:
        """A request that no processor knows."""
        if code not in self._said_at and len(self._said_at) >= _MOST_CODES:
            return
        now = time.monotonic()
        if now < self._said_at.get(code, -_PAUSE_SECONDS) + _PAUSE_SECONDS:
            self._missed[code] = self._missed.get(code, 0) + 1
            return
        self._said_at[code] = now
        missed = self._missed.pop(code, 0)
        log.warning(
            "request refused: reason=%s request=%s code=%d peer=%s more=%s on=%s",
            self._why_not.get(code, "nothing here answers it"),
            request_name(code),
            code,
            peer.remote_addr,
            missed or None,
            self.listener,
        )


def request_name(code: int) -> str:
    """`SEND_MESSAGE_V2` of 310."""
    return _REQUESTS.get(code, "unknown")


def _group(code: int, fields: Mapping[str, str]) -> str | None:
    if code in _SEND_V2:
        return fields.get("a")
    return next((fields[name] for name in _GROUPS if name in fields), None)
