"""NOTIFY_UNSUBSCRIBE_LITE: another client of the group reads that lite topic now."""

from __future__ import annotations

import logging

import trio

from trimq.codec.codes import RequestCode
from trimq.codec.headers.lite import NotifyUnsubscribeLiteRequestHeader
from trimq.proxy.clients import Clients
from trimq.proxy.protos.service_pb2 import TelemetryCommand
from trimq.remoting.contract import Processor, Request, Response

log = logging.getLogger("trimq.proxy")


class NotifyUnsubscribeLite(Processor[NotifyUnsubscribeLiteRequestHeader]):
    """A notice: the broker waits for no answer. `nursery`: a client may read slowly."""

    codes = (RequestCode.NOTIFY_UNSUBSCRIBE_LITE,)
    header = NotifyUnsubscribeLiteRequestHeader

    def __init__(self, clients: Clients, nursery: trio.Nursery) -> None:
        self._clients = clients
        self._nursery = nursery

    def handle(self, request: Request[NotifyUnsubscribeLiteRequestHeader]) -> Response:
        header = request.header
        client = self._clients.get(header.client_id)
        if client is None or client.group != header.consumer_group:
            log.warning(
                "notice for a client that is not here: client=%s group=%s lite_topic=%s",
                header.client_id,
                header.consumer_group,
                header.lite_topic,
            )
            return Response()
        command = TelemetryCommand()
        command.notify_unsubscribe_lite_command.lite_topic = header.lite_topic
        self._nursery.start_soon(self._clients.tell, client, command)
        return Response()
