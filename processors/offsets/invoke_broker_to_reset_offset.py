"""INVOKE_BROKER_TO_RESET_OFFSET: move a group to a time or to an offset."""

from trimq.broker.config import BrokerConfig
from trimq.broker.topics import Topics
from trimq.codec.codes import RequestCode
from trimq.codec.headers.offsets import ResetOffsetRequestHeader
from trimq.processors._steps import SteppedProcessor, Steps
from trimq.processors.offsets._broker_reset import BrokerReset
from trimq.processors.offsets._client_reset import ClientReset, ResetRequest


class InvokeBrokerToResetOffset(SteppedProcessor[ResetOffsetRequestHeader]):
    """By the broker or by the group's members, as useServerSideResetOffset says."""

    codes = (RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,)
    header = ResetOffsetRequestHeader

    def __init__(
        self,
        config: BrokerConfig,
        topics: Topics,
        by_broker: BrokerReset,
        by_clients: ClientReset,
    ) -> None:
        self._config = config
        self._topics = topics
        self._by_broker = by_broker
        self._by_clients = by_clients

    def decode_header(self, ext_fields: dict[str, str]) -> ResetOffsetRequestHeader:
        """A missing group counts as one that is called null, as in the real broker."""
        return super().decode_header({"group": "null", **ext_fields})

    def steps(self, request: ResetRequest) -> Steps:
        topic = self._topics.get(request.header.topic)
        if self._config.use_server_side_reset_offset:
            return self._by_broker.steps(request.header, topic)
        return self._by_clients.steps(request, topic)
