"""The pull processors of a broker, messages to read and headers as clients send them."""

from collections.abc import Callable
from typing import Any

import pytest

from trimq.broker.groups.clients.record import Client
from trimq.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from trimq.codec.codes import RequestCode
from trimq.codec.headers.fast import decode_pull
from trimq.processors.consume.lite_pull_message import LitePullMessage
from trimq.processors.consume.pull_message import PullMessage
from trimq.remoting.contract import Response
from trimq.remoting.errors import RemotingError
from trimq.remoting.testing import answer
from trimq.store.messages.message import Message

COMMIT, SUSPEND, SUBSCRIPTION, CLASS_FILTER = 1, 2, 4, 8


class Consuming:
    """Pulls from one broker as the dispatcher would hand it on."""

    def __init__(self, broker: Any) -> None:
        self.broker = broker
        self.arrivals = broker.arrivals
        self.pull_message = broker.processor(PullMessage)
        self.lite_pull_message = broker.processor(LitePullMessage)
        broker.topics.create_in_send("T", "TBW102", "1.2.3.4:5", 4, 0)

    def put(self, tags: str = "", body: bytes = b"x", topic: str = "T", queue_id: int = 0) -> None:
        properties = f"TAGS\x01{tags}\x02".encode() if tags else b""
        self.broker.store.put(Message(topic, queue_id, body, properties))

    def ext_fields(self, **fields: Any) -> dict[str, str]:
        """A pull's header as it comes over the wire; a field of None is left out."""
        ext = {
            "consumerGroup": "CG",
            "topic": "T",
            "queueId": 0,
            "queueOffset": 0,
            "maxMsgNums": 32,
            "sysFlag": SUBSCRIPTION,
            "commitOffset": 0,
            "suspendTimeoutMillis": 15000,
            "subscription": "*",
            "subVersion": 0,
            **fields,
        }
        return {key: str(value) for key, value in ext.items() if value is not None}

    def request(self, code: int = RequestCode.PULL_MESSAGE, **fields: Any) -> Any:
        return self.broker.request(code, decode_pull(self.ext_fields(**fields)))

    def pull(self, code: int = RequestCode.PULL_MESSAGE, **fields: Any) -> Response | None:
        """The answer that is there at once."""
        lite = code == RequestCode.LITE_PULL_MESSAGE
        processor = self.lite_pull_message if lite else self.pull_message
        try:
            outcome = processor.handle(self.request(code, **fields))
        except RemotingError as error:
            return Response(error.code, error.remark)
        return outcome if isinstance(outcome, Response) else None

    async def wait(self, **fields: Any) -> Response:
        """The answer after being held."""
        return await answer(self.pull_message, self.request(**fields))

    def heartbeat(self, expression: str, codes: set[int], **settings: Any) -> None:
        """A member of CG joins that has subscribed T."""
        subscription = SubscriptionData(
            topic="T", sub_string=expression, code_set=codes, sub_version=100
        )
        for name in list(settings):
            if name in SubscriptionData.__struct_fields__:
                setattr(subscription, name, settings.pop(name))
        data = ConsumerData(
            group_name="CG",
            consume_type="CONSUME_PASSIVELY",
            message_model="CLUSTERING",
            subscription_data_set=[subscription],
        )
        for name, value in settings.items():
            setattr(data, name, value)
        client = Client(self.broker.peer, "client", 0, 513, self.broker.clock.millis())
        self.broker.consumers.register(client, data, False)
        filters = self.broker.filters
        for text in filters.table.unread("CG", data.subscription_data_set):
            filters.expressions.read_now(subscription.expression_type, text)
        filters.table.register("CG", data.subscription_data_set)


@pytest.fixture
def consuming(broker: Any) -> Consuming:
    return Consuming(broker)


@pytest.fixture
def make_consuming(make_broker: Callable[..., Any]) -> Callable[..., Consuming]:
    return lambda **settings: Consuming(make_broker(**settings))
