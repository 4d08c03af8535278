"""What brokers ask of clients goes down their streams, and comes back."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from tests.proxy.fake_cluster import A, B, FakeLinks, FakeStream
from tests.proxy.stored import record
from trimq.base.clock import TrioClock
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.heartbeat import HeartbeatData
from trimq.codec.bodies.queue_tables import ConsumeMessageDirectlyResult, ConsumerRunningInfo
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.clients import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerRunningInfoRequestHeader,
)
from trimq.codec.headers.transactions import CheckTransactionStateRequestHeader
from trimq.proxy.clients import Client, Clients
from trimq.proxy.config import ProxyConfig
from trimq.proxy.half_messages import HalfMessages
from trimq.proxy.metadata import Metadata
from trimq.proxy.protos.definition_pb2 import (
    ClientType,
    Code,
    FilterExpression,
    FilterType,
    Publishing,
    Resource,
    Settings,
    Status,
    Subscription,
    SubscriptionEntry,
)
from trimq.proxy.protos.service_pb2 import TelemetryCommand, ThreadStackTrace, VerifyMessageResult
from trimq.proxy.questions.asking import Asking
from trimq.proxy.questions.check_transaction_state import CheckTransactionState
from trimq.proxy.questions.consume_message_directly import ConsumeMessageDirectly
from trimq.proxy.questions.get_consumer_running_info import GetConsumerRunningInfo
from trimq.proxy.routes import Routes
from trimq.proxy.transaction_producers import TransactionProducers
from trimq.proxy.transactions import Transactions
from trimq.remoting.contract import Request
from trimq.remoting.errors import RemotingError
from trimq.remoting.testing import RecordingPeer, answer

PEER = RecordingPeer(A)


class AnsweringStream(FakeStream):
    """A client that answers each question at once."""

    def __init__(self, asking: Asking, status: Code, nonce: str | None = None) -> None:
        super().__init__()
        self._asking = asking
        self._status = Status(code=status)
        self._nonce = nonce

    async def send(self, message: Any) -> None:
        await super().send(message)
        kind = message.WhichOneof("command")
        nonce = self._nonce or getattr(message, kind).nonce
        if kind == "verify_message_command":
            back = TelemetryCommand(
                status=self._status, verify_message_result=VerifyMessageResult(nonce=nonce)
            )
        else:
            stack = ThreadStackTrace(nonce=nonce, thread_stack_trace="main: waits")
            back = TelemetryCommand(status=self._status, thread_stack_trace=stack)
        self._asking.answered(nonce, back)


@pytest.fixture
def clients() -> Clients:
    return Clients()


@pytest.fixture
def asking(clients: Clients) -> Asking:
    return Asking(clients, 5)


def consumer(clients: Clients, stream: FakeStream | None) -> Client:
    client = clients.heard_of("c1", "10.0.0.1:50000")
    entry = SubscriptionEntry(
        topic=Resource(name="T"),
        expression=FilterExpression(type=FilterType.TAG, expression="A || B"),
    )
    settings = Settings(
        client_type=ClientType.SIMPLE_CONSUMER,
        subscription=Subscription(group=Resource(name="G"), subscriptions=[entry]),
    )
    clients.set_settings(client, settings)
    client.version, client.stream = "5.1.0", stream
    return client


async def info(asking: Asking, jstack: bool, client_id: str = "c1") -> ConsumerRunningInfo:
    header = GetConsumerRunningInfoRequestHeader(
        consumer_group="G", client_id=client_id, jstack_enable=jstack
    )
    request = Request(RequestCode.GET_CONSUMER_RUNNING_INFO, header, PEER)
    response = await answer(GetConsumerRunningInfo(asking, TrioClock()), request)
    assert isinstance(response.body, bytes)
    return decode_body(ConsumerRunningInfo, response.body)


async def test_what_is_known_is_not_asked_for(clients: Clients, asking: Asking) -> None:
    stream = FakeStream()
    consumer(clients, stream)
    found = await info(asking, jstack=False)
    assert not stream.sent
    assert found.jstack is None
    assert found.properties["PROP_CONSUME_TYPE"] == "CONSUME_ACTIVELY"
    assert found.properties["PROP_CLIENT_VERSION"] == "5.1.0"
    (wanted,) = found.subscription_set
    assert (wanted.topic, wanted.sub_string, wanted.tags_set) == ("T", "A || B", {"A", "B"})


async def test_threads_come_from_the_client(clients: Clients, asking: Asking) -> None:
    consumer(clients, AnsweringStream(asking, Code.OK))
    assert (await info(asking, jstack=True)).jstack == "main: waits"


@pytest.mark.parametrize(
    ("status", "code", "remark"),
    [
        (Code.VERIFY_FIFO_MESSAGE_UNSUPPORTED, 16, "forbidden to verify message"),
        (Code.INTERNAL_ERROR, 1, "verify message failed"),
    ],
)
async def test_a_client_that_will_not_say(
    clients: Clients, asking: Asking, status: Code, code: int, remark: str
) -> None:
    consumer(clients, AnsweringStream(asking, status))
    with pytest.raises(RemotingError) as raised:
        await info(asking, jstack=True)
    assert (raised.value.code, raised.value.remark) == (code, remark)


async def test_a_client_that_does_not_answer(
    clients: Clients, asking: Asking, autojump_clock: object
) -> None:
    consumer(clients, AnsweringStream(asking, Code.OK, nonce="another question"))
    with pytest.raises(RemotingError, match="call remote timeout") as raised:
        await info(asking, jstack=True)
    assert raised.value.code == ResponseCode.SYSTEM_BUSY
    assert trio.current_time() == pytest.approx(5)


async def test_nobody_to_ask(clients: Clients, asking: Asking) -> None:
    with pytest.raises(RemotingError, match="not online"):
        await info(asking, jstack=True)
    consumer(clients, None)
    with pytest.raises(RemotingError, match="has no stream"):
        await info(asking, jstack=True)
    with pytest.raises(RemotingError, match="not online"):
        await info(asking, jstack=True, client_id="c2")


@pytest.mark.parametrize(
    ("status", "result"),
    [
        (Code.OK, "CR_SUCCESS"),
        (Code.FAILED_TO_CONSUME_MESSAGE, "CR_LATER"),
        (Code.MESSAGE_CORRUPTED, "CR_RETURN_NULL"),
        (Code.INTERNAL_ERROR, None),
    ],
)
async def test_one_message_now(
    clients: Clients, asking: Asking, status: Code, result: str | None
) -> None:
    stream = AnsweringStream(asking, status)
    consumer(clients, stream)
    header = ConsumeMessageDirectlyResultRequestHeader(consumer_group="G", client_id="c1")
    body = record("T", {"UNIQ_KEY": "m0", "TAGS": "A", "p": "v"})
    request = Request(RequestCode.CONSUME_MESSAGE_DIRECTLY, header, PEER, body)
    response = await answer(ConsumeMessageDirectly(asking, TrioClock()), request)
    assert isinstance(response.body, bytes)
    told = decode_body(ConsumeMessageDirectlyResult, response.body)
    assert (told.consume_result, told.remark) == (result, "from gRPC client")
    message = stream.sent[0].verify_message_command.message
    assert (message.topic.name, message.body) == ("T", b"body")
    assert message.system_properties.message_id == "m0"
    assert dict(message.user_properties) == {"p": "v"}


class Checks:
    """A producer of the transactional topic T at two brokers."""

    def __init__(self, nursery: Any) -> None:
        self.nursery = nursery
        self.links = FakeLinks()
        self.links.types["T"] = "TRANSACTION"
        config = ProxyConfig()
        routes = Routes(self.links, ["n:1"], 20, nursery)
        metadata = Metadata(self.links, routes, "DefaultCluster", 20)
        self.clients = Clients()
        halves = HalfMessages(self.links, routes)
        self.transactions = Transactions(config, self.links, routes, halves)
        self.producers = TransactionProducers(config, self.clients, self.links, routes, metadata)
        self.check = CheckTransactionState(
            self.clients, self.transactions, self.producers, nursery, TrioClock()
        )

    def publish(self, client_id: str, *topics: str) -> FakeStream:
        client, stream = self.clients.heard_of(client_id, "10.0.0.1:50000"), FakeStream()
        client.stream = stream
        named = [Resource(name=topic) for topic in topics]
        settings = Settings(client_type=ClientType.PRODUCER, publishing=Publishing(topics=named))
        self.clients.set_settings(client, settings)
        return stream

    def ask(self, body: bytes | None = None, bname: str | None = "a") -> None:
        header = CheckTransactionStateRequestHeader(
            tran_state_table_offset=5, commit_log_offset=500, transaction_id="m0", bname=bname
        )
        if body is None:
            body = record("T", {"UNIQ_KEY": "m0", "PGROUP": "T", "TRAN_MSG": "true"}, 5, 500)
        request = Request(RequestCode.CHECK_TRANSACTION_STATE, header, PEER, body, oneway=True)
        assert self.check.handle(request).no_reply

    @property
    def beats(self) -> list[tuple[str, list[str]]]:
        """Who was told of which groups."""
        told = []
        for asked in self.links.of(RequestCode.HEART_BEAT):
            assert asked.oneway
            data = decode_body(HeartbeatData, bytes(asked.body))  # type: ignore[arg-type]
            assert data.client_id == "rmq-proxy-producer-client"
            told.append((asked.addr, [one.group_name for one in data.producer_data_set]))
        return sorted(told)


async def test_a_check_goes_to_a_producer_of_the_topic(nursery: Any) -> None:
    checks = Checks(nursery)
    other, stream = checks.publish("c1", "U"), checks.publish("c2", "T")
    checks.ask()
    await trio.testing.wait_all_tasks_blocked()
    assert not other.sent
    (command,) = stream.sent
    asked = command.recover_orphaned_transaction_command
    assert asked.transaction_id == "m0"
    assert asked.message.topic.name == "T"
    assert asked.message.system_properties.message_id == "m0"
    place = checks.transactions.place_of("T", "m0")
    assert place is not None
    assert (place.broker_name, place.queue_offset, place.log_offset) == ("a", 5, 500)


async def test_a_check_by_one_that_does_not_say_its_name(nursery: Any) -> None:
    checks = Checks(nursery)
    checks.publish("c1", "T")
    await checks.producers.tell()
    checks.ask(bname=None)
    place = checks.transactions.place_of("T", "m0")
    assert place is not None
    assert place.broker_name == "a"


async def test_checks_that_nobody_can_answer(nursery: Any) -> None:
    checks = Checks(nursery)
    checks.ask()
    checks.ask(b"no record")
    checks.ask(record("T", {"UNIQ_KEY": "m0"}))
    assert checks.transactions.place_of("T", "m0") is None


async def test_brokers_are_told_who_sends_transactions(nursery: Any) -> None:
    checks = Checks(nursery)
    await checks.producers.tell()
    assert checks.beats == []
    checks.publish("c1", "T", "CLUSTER-NOT-THERE", "a")
    await checks.producers.tell()
    # Topics of other types need no checks.
    assert checks.beats == [(A, ["T"]), (B, ["T"])]


async def test_one_that_is_away_does_not_hold_up_the_others(nursery: Any) -> None:
    checks = Checks(nursery)
    checks.publish("c1", "T")
    await checks.producers.tell()
    checks.links.away.add(A)
    checks.links.asked.clear()
    await checks.producers.tell()
    assert (B, ["T"]) in checks.beats


async def test_news_are_told_at_once_and_everything_again(
    nursery: Any, autojump_clock: object
) -> None:
    checks = Checks(nursery)
    checks.links.types["U"] = "TRANSACTION"
    checks.links.topics.add("U")
    nursery.start_soon(checks.producers.keep, TrioClock())
    checks.publish("c1", "T")
    await trio.sleep(1)
    assert len(checks.beats) == 2
    # A second producer of the same topic is no news.
    checks.publish("c2", "T")
    await trio.sleep(1)
    assert len(checks.beats) == 2
    checks.publish("c2", "T", "U")
    await trio.sleep(1)
    assert len(checks.beats) == 4
    await trio.sleep(20)
    assert len(checks.beats) == 6
    checks.clients.remove("c1")
    checks.clients.remove("c2")
    await trio.sleep(100)
    assert len(checks.beats) == 6
    nursery.cancel_scope.cancel()
