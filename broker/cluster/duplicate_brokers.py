"""Notices another live broker with this one's cluster, name and id: RocketMQ lets them displace each other."""

import logging
from collections.abc import Mapping
from typing import Final

import trio

from trimq.broker.cluster.silent_peers import SilentPeers
from trimq.broker.config import BrokerConfig
from trimq.broker.identity import BrokerIdentity
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.cluster import GetBrokerMemberGroupResponseBody
from trimq.codec.bodies.route import TopicRouteData
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.namesrv import (
    GetBrokerMemberGroupRequestHeader,
    GetRouteInfoRequestHeader,
)
from trimq.codec.names import SYNC_MEMBER_PREFIX
from trimq.remoting.clients.client import Client

_log: Final = logging.getLogger("trimq.broker")

# Whether somebody listens at the other address.
_GREETING_SECONDS: Final = 1.0


class DuplicateBrokers:
    """Asks one NameServer, with each registration, which broker was registered in this one's place.

    With compatibleWithOldNameSrv by a route, which every NameServer knows (BrokerOuterAPI.syncBrokerMemberGroup).
    Each rival is reported once, until the place has been this broker's again.
    """

    __slots__ = ("_config", "_courtesy", "_identity", "_known")

    def __init__(
        self, identity: BrokerIdentity, config: BrokerConfig, courtesy: SilentPeers | None = None
    ) -> None:
        """`courtesy`: what is known of that NameServer."""
        self._identity = identity
        self._config = config
        self._known = ""
        self._courtesy = courtesy or SilentPeers()

    async def look(
        self,
        client: Client,
        namesrv: str,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Started when the question is on its way: what is sent from then on comes to the NameServer after it.

        Raises TransportError or CodecError, as any question to the NameServer; an old one may say nothing.
        """
        # Nothing is awaited between this and the frame's way into the connection's outbox.
        task_status.started()
        if self._config.compatible_with_old_name_srv:
            members = await self._members_by_route(client)
        else:
            members = await self._members(client)
        one = self._identity
        holder = members.get(one.broker_id, "")
        if holder in one.former_addresses:
            # This broker itself, which goes by another address now.
            holder = ""
        if holder == self._known:
            return
        self._known = ""
        # After a restart under another address it may be this broker itself, from before.
        if holder and holder != one.address and await _is_alive(holder):
            self._known = holder
            _log.error(
                "two brokers have the same name and id, and clients find only the one that registered last:"
                " give one of them another brokerName:"
                " cluster=%s name=%s id=%d address=%s other=%s namesrv=%s",
                one.cluster,
                one.name,
                one.broker_id,
                one.address,
                holder,
                namesrv,
            )

    async def _members_by_route(self, client: Client) -> Mapping[int, str]:
        """A broker of RocketMQ 5 has a topic for this; every broker has one of its own name."""
        one = self._identity
        for topic in (SYNC_MEMBER_PREFIX + one.name, one.name):
            header = GetRouteInfoRequestHeader(topic=topic, accept_standard_json_only=True)
            reply = await self._courtesy.ask(client, RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
            if reply is None:
                break
            if reply.code == ResponseCode.SUCCESS:
                for data in decode_body(TopicRouteData, reply.body).broker_datas:
                    if (data.cluster, data.broker_name) == (one.cluster, one.name):
                        return data.broker_addrs
                break
        return {}

    async def _members(self, client: Client) -> Mapping[int, str]:
        one = self._identity
        header = GetBrokerMemberGroupRequestHeader(cluster_name=one.cluster, broker_name=one.name)
        reply = await self._courtesy.ask(client, RequestCode.GET_BROKER_MEMBER_GROUP, header)
        if reply is None or reply.code != ResponseCode.SUCCESS or not reply.body:
            return {}
        group = decode_body(GetBrokerMemberGroupResponseBody, reply.body).broker_member_group
        return {} if group is None else group.broker_addrs


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
