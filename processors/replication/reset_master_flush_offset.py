"""RESET_MASTER_FLUSH_OFFSET: what a slave believes its master has flushed; a master ignores it."""

from trimq.broker.identity import BrokerIdentity
from trimq.codec.codes import RequestCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.base import decode_header
from trimq.codec.headers.replication import ResetMasterFlushOffsetHeader
from trimq.codec.names import MASTER_ID
from trimq.remoting.contract import Processor, Request, Response
from trimq.store.message_store import MessageStore


class ResetMasterFlushOffset(Processor[ResetMasterFlushOffsetHeader | None]):
    """It is kept and shown (GET_BROKER_HA_STATUS), as by AdminBrokerProcessor.resetMasterFlushOffset."""

    codes = (RequestCode.RESET_MASTER_FLUSH_OFFSET,)

    def __init__(self, identity: BrokerIdentity, store: MessageStore) -> None:
        self._identity = identity
        self._store = store

    def decode_header(self, ext_fields: dict[str, str]) -> ResetMasterFlushOffsetHeader | None:
        """None: nothing to keep. A master does not even read it, and a slave takes no number for no mistake."""
        if self._identity.broker_id == MASTER_ID:
            return None
        try:
            return decode_header(ResetMasterFlushOffsetHeader, ext_fields)
        except CodecError:
            return None

    def handle(self, request: Request[ResetMasterFlushOffsetHeader | None]) -> Response:
        if request.header is not None:
            self._store.master_flushed_offset = request.header.master_flush_offset
        return Response()
