"""What the log says about requests: every one at debug, and those that nothing answers at warning."""

import logging
from collections.abc import Mapping
from typing import Final

from trimq.codec.codes import OwnRequestCode, RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.remoting.exchange import Response
from trimq.remoting.log_throttle import LogThrottle
from trimq.remoting.peer import Peer

log = logging.getLogger("trimq.remoting")

_SEND_V2: Final = frozenset({310, 320, 325})
_GROUPS: Final = ("consumerGroup", "producerGroup", "group", "groupName")
_REQUESTS: Final[dict[int, str]] = {
    int(code): code.name for code in (*RequestCode, *OwnRequestCode)
}
_RESPONSES: Final = {int(code): code.name for code in ResponseCode}


class RequestLog:
    """The log of one listener's requests.

    `why_not` has, by request code, why nothing answers it: the missing feature.
    """

    __slots__ = ("_throttle", "_why_not", "listener")

    def __init__(self, listener: str = "server", why_not: Mapping[int, str] | None = None) -> None:
        self.listener = listener
        self._why_not = {} if why_not is None else why_not
        self._throttle = LogThrottle()

    @property
    def on(self) -> bool:
        """Whether requests are logged: asked once a receive."""
        return log.isEnabledFor(logging.DEBUG)

    def answered(
        self, code: int, fields: Mapping[str, str], peer: Peer, response: Response, nanos: int
    ) -> None:
        """A request has its response. `nanos` leaves out the write that a receive shares."""
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
        self.missing(self._why_not.get(code, "nothing here answers it"), code, peer)

    def missing(self, reason: str, code: int, peer: Peer) -> None:
        """A request that was refused because of a feature that is off or missing."""
        times = self._throttle.times((reason, code))
        if times:
            log.warning(
                "request refused: reason=%s request=%s code=%d peer=%s times=%d on=%s",
                reason,
                request_name(code),
                code,
                peer.remote_addr,
                times,
                self.listener,
            )

    def unread(self, error: CodecError, peer: Peer) -> None:
        """A request whose header was not read."""
        address = peer.remote_addr.rpartition(":")[0]
        times = self._throttle.times((type(error), address))
        if times:
            log.warning(
                "request refused peer=%s reason=%s times=%d on=%s",
                peer.remote_addr,
                # Not the error itself: who keeps the line would keep the connection.
                str(error),
                times,
                self.listener,
            )


def request_name(code: int) -> str:
    """`SEND_MESSAGE_V2` of 310."""
    return _REQUESTS.get(code, "unknown")


def _group(code: int, fields: Mapping[str, str]) -> str | None:
    if code in _SEND_V2:
        return fields.get("a")
    return next((fields[name] for name in _GROUPS if name in fields), None)
