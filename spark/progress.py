"""A stream's progress as a consumer group's, so that mqadmin shows its lag.

The checkpoint is what counts: a broker that does not take the progress is a warning.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterable
from typing import Final

from trimq.admin.cluster import MASTER_ID
from trimq.admin.errors import AdminError, Refused
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.heartbeat import ConsumerData, HeartbeatData, SubscriptionData
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.base import Header
from trimq.codec.headers.offsets import UpdateConsumerOffsetRequestHeader
from trimq.remoting.blocking import BlockingClient
from trimq.remoting.errors import TransportError
from trimq.spark.options import Connection
from trimq.spark.planning.cluster import Cluster
from trimq.spark.positions import Offsets, QueueKey

log: Final = logging.getLogger("trimq.spark")


class GroupProgress:
    """Writes offsets to the brokers that have the queues; keeps its connections."""

    def __init__(self, connection: Connection, group: str) -> None:
        self._connection = connection
        self._group = group
        self._written: Offsets = {}
        self._clients: dict[str, BlockingClient] = {}
        self._id = f"{socket.gethostname()}@spark-{os.getpid()}"

    def commit(self, offsets: Offsets) -> None:
        """The group has got as far as that."""
        new = {key: at for key, at in offsets.items() if self._written.get(key) != at}
        if not new:
            return
        topics = sorted({key[0] for key in new})
        try:
            addrs = self._masters(topics)
            for addr in sorted(set(addrs.values())):
                self._ask(addr, RequestCode.HEART_BEAT, body=self._heartbeat(topics))
            for key, offset in new.items():
                master = addrs.get((key[0], key[1]))
                if master is not None:
                    self._write(master, key, offset)
        except (AdminError, TransportError) as error:
            log.warning("the progress of group %r is not written: %s", self._group, error)

    def close(self) -> None:
        """End every connection."""
        for client in self._clients.values():
            client.close()

    def _write(self, addr: str, key: QueueKey, offset: int) -> None:
        topic, _, queue_id = key
        header = UpdateConsumerOffsetRequestHeader(
            consumer_group=self._group, topic=topic, queue_id=queue_id, commit_offset=offset
        )
        self._ask(addr, RequestCode.UPDATE_CONSUMER_OFFSET, header)
        self._written[key] = offset

    def _masters(self, topics: Iterable[str]) -> dict[tuple[str, str], str]:
        """Addresses by topic and broker name."""
        found: dict[tuple[str, str], str] = {}
        with Cluster(self._connection) as cluster:
            for topic in topics:
                for broker in cluster.admin.topic_route(topic).broker_datas:
                    master = broker.broker_addrs.get(MASTER_ID)
                    if master:
                        found[topic, broker.broker_name] = master
        return found

    def _heartbeat(self, topics: list[str]) -> bytes:
        """Makes the group known to a broker that makes groups by itself."""
        wants = [SubscriptionData(topic=topic, sub_string="*") for topic in topics]
        consumer = ConsumerData(
            group_name=self._group,
            consume_type="CONSUME_ACTIVELY",
            message_model="CLUSTERING",
            consume_from_where="CONSUME_FROM_LAST_OFFSET",
            subscription_data_set=wants,
        )
        return encode_body(HeartbeatData(client_id=self._id, consumer_data_set=[consumer]))

    def _ask(
        self, addr: str, code: RequestCode, header: Header | None = None, body: bytes = b""
    ) -> None:
        client = self._clients.get(addr)
        if client is None or client.closed:
            client = self._connection.client(addr)
            self._clients[addr] = client
        keys = self._connection.keys
        answer = client.request(code, header if keys is None else keys.signed(header, body), body)
        if answer.code != ResponseCode.SUCCESS:
            raise Refused(addr, code, answer.code, answer.remark)
