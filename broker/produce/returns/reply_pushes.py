"""Taking a reply to the client that waits for it (ReplyMessageProcessor.pushReplyMessage)."""

import logging

import trio

from trimq.base.clock import Clock
from trimq.broker.groups.clients.producers import Producers
from trimq.broker.groups.consumers.requests import ask_client
from trimq.broker.identity import BrokerIdentity
from trimq.broker.produce.puts.outcomes import Sender
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.fast import SendHeader
from trimq.codec.headers.send import ReplyMessageRequestHeader
from trimq.codec.records.properties import format_properties
from trimq.codec.records.property_keys import PUSH_REPLY_TIME, REPLY_TO_CLIENT
from trimq.remoting.contract import PeerGone

log = logging.getLogger("trimq.produce")


class ReplyPushes:
    """Finds requesters among the producers: asking makes a client a producer, of any group."""

    def __init__(self, producers: Producers, identity: BrokerIdentity, clock: Clock) -> None:
        self._producers = producers
        self._stored = identity.stored or identity.address
        self._clock = clock

    async def push(
        self, header: SendHeader, properties: dict[str, str], body: bytes, replier: Sender
    ) -> str | None:
        """None when the requester has taken the reply, otherwise the real broker's remark.

        `properties` are those of `header`, parsed; a requester that is found puts the time into them. Takes 10 s
        at most.
        """
        client_id = properties.get(REPLY_TO_CLIENT)
        if client_id is None:
            log.warning("reply not pushed, it names no requester: replier=%s", replier.remote_addr)
            return f"reply message properties[{REPLY_TO_CLIENT}] is null"
        peer = self._producers.find(client_id)
        if peer is None:
            log.warning("reply not pushed, its requester is not connected: client=%s", client_id)
            return f"push reply message fail, channel of <{client_id}> not found."
        now = self._clock.millis()
        properties[PUSH_REPLY_TIME] = str(now)
        request = self._request(header, properties, replier, now)
        try:
            answer = await ask_client(peer, RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, request, body)
        except (trio.TooSlowError, PeerGone) as error:
            reason = str(error) or "no answer in time"
        else:
            if answer.code == ResponseCode.SUCCESS:
                return None
            reason = f"code {answer.code}, {answer.remark}"
        log.warning("reply not taken: client=%s reason=%s", client_id, reason)
        return f"push reply message to {client_id}fail."

    def _request(
        self, header: SendHeader, properties: dict[str, str], replier: Sender, now: int
    ) -> ReplyMessageRequestHeader:
        return ReplyMessageRequestHeader(
            producer_group=header.producer_group,
            topic=header.topic,
            default_topic=header.default_topic,
            default_topic_queue_nums=header.default_topic_queue_nums,
            queue_id=header.queue_id,
            sys_flag=header.sys_flag,
            born_timestamp=header.born_timestamp,
            flag=header.flag,
            properties=format_properties(properties).decode(),
            reconsume_times=header.reconsume_times,
            unit_mode=bool(header.unit_mode),
            born_host=replier.remote_addr,
            store_host=self._stored,
            store_timestamp=now,
        )
