"""EXCHANGE_BROKER_HA_INFO: where a master lets its log be copied, asked for by slaves or told to them."""

from collections.abc import Callable

from trimq.broker.identity import BrokerIdentity
from trimq.broker.services.masters_address import Told
from trimq.codec.codes import RequestCode
from trimq.codec.headers.replication import (
    ExchangeHAInfoRequestHeader,
    ExchangeHAInfoResponseHeader,
)
from trimq.codec.names import MASTER_ID
from trimq.remoting.contract import Processor, Request, Response

# Told where a master's log can be copied, and by whom; it judges that later.
TellMaster = Callable[[Told], None]


class ExchangeBrokerHaInfo(Processor[ExchangeHAInfoRequestHeader]):
    """With an address it is for a slave, without one it is a question (AdminBrokerProcessor.updateBrokerHaInfo).

    The answer is the same whether the address is believed or not.
    """

    codes = (RequestCode.EXCHANGE_BROKER_HA_INFO,)
    header = ExchangeHAInfoRequestHeader

    def __init__(
        self, identity: BrokerIdentity, log_end: int, tell_master: TellMaster | None
    ) -> None:
        """`log_end`: where the log ended when the broker started, which is what a master says it has flushed."""
        self._identity = identity
        self._log_end = log_end
        self._tell_master = tell_master

    def handle(self, request: Request[ExchangeHAInfoRequestHeader]) -> Response:
        told = request.header.master_ha_address
        if told is not None:
            if self._tell_master is not None:
                teller = request.peer.remote_addr
                self._tell_master(Told(told, request.header.master_address, teller))
            return Response()
        if self._identity.broker_id != MASTER_ID:
            return Response()
        return Response(
            header=ExchangeHAInfoResponseHeader(
                master_ha_address=self._identity.ha_address,
                master_flush_offset=self._log_end,
                master_address=self._identity.address,
            )
        )
