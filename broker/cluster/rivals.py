"""Notices another live broker with this one's cluster, name and id: RocketMQ lets them displace each other."""

import logging
from typing import Final

import trio

from trimq.broker.identity import BrokerIdentity
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.cluster import GetBrokerMemberGroupResponseBody
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.namesrv import GetBrokerMemberGroupRequestHeader
from trimq.remoting.clients.client import Client

_log: Final = logging.getLogger("trimq.broker")

# Whether somebody listens at the other address.
_GREETING_SECONDS: Final = 1.0


class RivalWatch:
    """Asks one NameServer, before each registration, which broker is registered in this one's
    place.

    Each rival is reported once, until the place has been this broker's again.
    """

    __slots__ = ("_identity", "_known")

    def __init__(self, identity: BrokerIdentity) -> None:
        self._identity = identity
        self._known = ""

    async def look(self, client: Client, namesrv: str, patience: float) -> None:
        """Raises TransportError or CodecError, as any question to the NameServer."""
        one = self._identity
        header = GetBrokerMemberGroupRequestHeader(cluster_name=one.cluster, broker_name=one.name)
        reply = await client.request(RequestCode.GET_BROKER_MEMBER_GROUP, header, timeout=patience)
        if reply.code != ResponseCode.SUCCESS or not reply.body:
            # NameServers before 5.0 do not know the question.
            return
        group = decode_body(GetBrokerMemberGroupResponseBody, reply.body).broker_member_group
        holder = "" if group is None else group.broker_addrs.get(one.broker_id, "")
        if holder == self._known:
            return
        self._known = ""
        # After a restart under another address it may be this broker itself, from before.
        if holder and holder != one.address and await _is_alive(holder):
            self._known = holder
            _log.error(
                "two brokers have the same name and id, and clients find only the one that "
                "registered"
                " last: give one of them another brokerName: cluster=%s name=%s id=%d address=%s"
                " other=%s namesrv=%s",
                one.cluster,
                one.name,
                one.broker_id,
                one.address,
                holder,
                namesrv,
            )


async def _is_alive(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with trio.move_on_after(_GREETING_SECONDS):
        try:
            stream = await trio.open_tcp_stream(host.strip("[]"), int(port))
        except (OSError, ValueError):
            return False
        await stream.aclose()
        return True
    return False
