"""The send processors of a broker, and headers as clients send them."""

from collections.abc import Callable
from typing import Any

import pytest

from trimq.codec.codes import RequestCode
from trimq.codec.headers.fast import decode_send_v2
from trimq.codec.headers.send import ConsumerSendMsgBackRequestHeader
from trimq.processors.produce.consumer_send_msg_back import ConsumerSendMsgBack
from trimq.processors.produce.send_message_v2 import SendMessageV2
from trimq.remoting.contract import Response
from trimq.remoting.errors import RemotingError


class Producing:
    """Sends to one broker as the dispatcher would hand it on."""

    def __init__(self, broker: Any) -> None:
        self.broker = broker
        self.send_v2 = broker.processor(SendMessageV2)
        self.back = broker.processor(ConsumerSendMsgBack)

    def send(
        self, topic: str = "T", body: bytes = b"hello", version: int = 513, **fields: Any
    ) -> Response:
        """One send; extra fields are the one-letter names of the V2 header."""
        ext = {
            "a": "PG",
            "b": topic,
            "c": "TBW102",
            "d": "4",
            "e": "0",
            "f": "0",
            "g": "1600000000000",
            "h": "0",
            "i": "",
        }
        ext.update({key: str(value) for key, value in fields.items()})
        header = decode_send_v2(ext)
        code = RequestCode.SEND_MESSAGE_V2
        try:
            return self.send_v2.handle(self.broker.request(code, header, body, version))
        except RemotingError as error:
            return Response(error.code, error.remark)

    def send_back(self, offset: int, group: str = "CG", version: int = 513, **fields: Any) -> Any:
        header = ConsumerSendMsgBackRequestHeader(
            offset=offset, group=group, **{"delay_level": 0, "max_reconsume_times": 16, **fields}
        )
        code = RequestCode.CONSUMER_SEND_MSG_BACK
        request = self.broker.request(code, header, b"", version)
        try:
            return self.back.handle(request)
        except RemotingError as error:
            return Response(error.code, error.remark)


def block(**properties: str) -> str:
    return "".join(f"{key}\x01{value}\x02" for key, value in properties.items())


@pytest.fixture
def producing(broker: Any) -> Producing:
    return Producing(broker)


@pytest.fixture
def make_producing(make_broker: Callable[..., Any]) -> Callable[..., Producing]:
    return lambda **settings: Producing(make_broker(**settings))


@pytest.fixture
def props() -> Callable[..., str]:
    return block
