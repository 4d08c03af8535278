"""NOTIFICATION for clients of lite topics: whether there is something for one to pop, or as soon as there is."""

from trimq.base.waits import Waited
from trimq.broker.lite.events import LiteEvents
from trimq.broker.pop.reading.long_polling import PopLongPolling
from trimq.codec.codes import ResponseCode
from trimq.remoting.contract import RemotingError


class LiteNotification:
    """`waits`: of those who asked to be told; a new note wakes one of its client's, besides one of its pops."""

    def __init__(self, events: LiteEvents, waits: PopLongPolling) -> None:
        self._events = events
        self.waits = waits

    def has_any(self, client_id: str | None) -> bool:
        """Whether there are notes for the client. RemotingError if the request names none."""
        return self._events.has_notes(_named(client_id))

    async def wait(self, client_id: str | None, seconds: float) -> Waited:
        """For the client's next note."""
        return await self.waits.wait((_named(client_id), "", 0), seconds)


def _named(client_id: str | None) -> str:
    if client_id is None:
        raise RemotingError(ResponseCode.SYSTEM_ERROR, "a lite consumer names itself: set clientId")
    return client_id
