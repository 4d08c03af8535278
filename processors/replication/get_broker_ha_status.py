"""GET_BROKER_HA_STATUS: who copies this broker's log, and how far they are."""

from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.replication import HARuntimeInfo
from trimq.codec.codes import RequestCode
from trimq.remoting.contract import Processor, Request, Response
from trimq.store.message_store import MessageStore


class GetBrokerHaStatus(Processor[None]):
    """HARuntimeInfo of a master without slaves, which every TriMQ broker is
    (DefaultHAService.getRuntimeInfo).
    """

    codes = (RequestCode.GET_BROKER_HA_STATUS,)

    def __init__(self, store: MessageStore) -> None:
        self._store = store

    def handle(self, request: Request[None]) -> Response:
        info = HARuntimeInfo(
            master=True, master_commit_log_max_offset=self._store.max_physical_offset
        )
        return Response(body=encode_body(info))
