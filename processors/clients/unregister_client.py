"""UNREGISTER_CLIENT: a client leaves a producer group, a consumer group or both."""

from trimq.base.clock import Clock
from trimq.broker.groups.clients.producers import Producers
from trimq.broker.groups.clients.record import Client
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.codec.codes import RequestCode
from trimq.codec.headers.clients import UnregisterClientRequestHeader
from trimq.remoting.contract import Processor, Request, Response


class UnregisterClient(Processor[UnregisterClientRequestHeader]):
    codes = (RequestCode.UNREGISTER_CLIENT,)
    shows_no_fields = True
    header = UnregisterClientRequestHeader

    def __init__(
        self, groups: SubscriptionGroups, consumers: Consumers, producers: Producers, clock: Clock
    ) -> None:
        self._groups = groups
        self._consumers = consumers
        self._producers = producers
        self._clock = clock

    def decode_header(self, ext_fields: dict[str, str]) -> UnregisterClientRequestHeader:
        """Without a client id it does everything else it is asked to, like the real broker."""
        return super().decode_header({"clientID": "", **ext_fields})

    def handle(self, request: Request[UnregisterClientRequestHeader]) -> Response:
        header = request.header
        client = Client(
            request.peer,
            header.client_id,
            request.language,
            request.version,
            self._clock.steady_millis(),
        )
        if header.producer_group is not None:
            self._producers.unregister(header.producer_group, client)
        if header.consumer_group is not None:
            group = self._groups.find(header.consumer_group, request.peer.remote_addr)
            notify = group is None or group.notify_consumer_ids_changed_enable
            self._consumers.unregister(header.consumer_group, client, notify)
        return Response()
