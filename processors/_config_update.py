"""Run-time changes of settings, alike on broker and NameServer."""

from collections.abc import Mapping
from typing import Protocol

from trimq.codec.codes import ResponseCode
from trimq.codec.java.properties import read_properties
from trimq.remoting.contract import RemotingError, Request, Response


class Settings(Protocol):
    async def update(self, values: Mapping[str, str]) -> str | None:
        """Apply what the request names; returns what the answer has to say about it."""
        ...


async def update_settings(settings: Settings, request: Request[None]) -> Response:
    """The body is java.util.Properties text.

    The real servers answer with success whatever the keys and values are, except for those of
    configBlackList. Here an impossible value is a SYSTEM_ERROR; a success that does not take effect
    at once says so in its remark.
    """
    if not request.body:
        return Response()
    try:
        values = read_properties(request.body.decode(errors="replace"))
    except ValueError:
        raise RemotingError(ResponseCode.SYSTEM_ERROR, "string2Properties error") from None
    return Response(remark=await settings.update(values))
