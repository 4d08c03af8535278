"""INVOKE_BROKER_TO_RESET_OFFSET: move a group to a time or to an offset."""

from functools import partial

from trimq.broker.config import BrokerConfig
from trimq.broker.consume.broker_reset import BrokerReset
from trimq.broker.consume.client_reset import ClientReset, offset_table
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.topics.table import Topics
from trimq.codec.codes import LanguageCode, RequestCode, ResponseCode
from trimq.codec.headers.offsets import ResetOffsetRequestHeader
from trimq.codec.java.rows import object_steps
from trimq.codec.names import REMARK_LEFT
from trimq.processors._steps import AnswerSteps, SteppedProcessor
from trimq.remoting.contract import Later, RemotingError, Request, Response

Asked = Request[ResetOffsetRequestHeader]


class InvokeBrokerToResetOffset(SteppedProcessor[ResetOffsetRequestHeader]):
    """By the broker or by the group's members, as useServerSideResetOffset says.

    In an elastic topic by the broker alone: gates have to close before anybody goes back.
    """

    codes = (RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,)
    header = ResetOffsetRequestHeader

    def __init__(
        self,
        config: BrokerConfig,
        topics: Topics,
        by_broker: BrokerReset,
        by_clients: ClientReset,
        offsets: ConsumerOffsets,
    ) -> None:
        self._offsets = offsets
        self._config = config
        self._topics = topics
        self._by_broker = by_broker
        self._by_clients = by_clients

    def decode_header(self, ext_fields: dict[str, str]) -> ResetOffsetRequestHeader:
        """A missing group has the offsets of one named null, as in the real broker."""
        return super().decode_header({"group": "null", **ext_fields})

    def handle(self, request: Asked) -> Later:
        """What the broker has reset is stored before it is answered."""
        outcome = super().handle(request)
        if not self._offsets.keeps_resets(request.header.topic):
            return outcome
        return Later(request, partial(self._store_first, outcome), keeps_body=False)

    async def _store_first(self, outcome: Later, request: Asked) -> Response:
        response = await outcome.answer(request)
        await self._offsets.file.persist_in_steps()
        return response

    def steps(self, request: Asked) -> AnswerSteps:
        header = request.header
        topic = self._topics.get(header.topic)
        remark: str | None = None
        if self._offsets.keeps_resets(header.topic):
            absent = header.group == "null" and "group" not in request.ext_fields
            if absent and topic is not None:
                raise RemotingError(
                    ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "Group null does not exist"
                )
            chosen = yield from self._by_broker.steps(header, topic)
        else:
            for_c = request.language == LanguageCode.CPP
            chosen = yield from self._by_clients.steps(header, topic, for_c)
            remark = REMARK_LEFT
        members = offset_table(self._config.broker_name, header.topic, chosen)
        table = yield from object_steps(members)
        return Response(remark=remark, body=b'{"offsetTable":%b}' % table)
