"""Topics and groups with much below them: deleted in steps, to the end, whoever waits for it and whatever comes."""

from collections.abc import Callable
from typing import Any

import pytest
import trio
import trio.testing

from tests.processors.conftest import Broker
from trimq.broker.produce.puts.rules import PutRefused
from trimq.broker.services.detached_work import DetachedWork
from trimq.broker.services.topic_deletion import TopicDeletion
from trimq.broker.steps import Steps, in_steps
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.groups import DeleteSubscriptionGroupRequestHeader
from trimq.codec.headers.topics import DeleteTopicRequestHeader
from trimq.processors.groups.delete_subscriptiongroup import DeleteSubscriptiongroup
from trimq.processors.topics.delete_topic_in_broker import DeleteTopicInBroker
from trimq.remoting.contract import Later, Response
from trimq.store.errors import StoreError
from trimq.store.messages.message import Message

COUNT = 100


class Parent:
    """A topic with lite topics, read by a group."""

    def __init__(self, broker: Any) -> None:
        self.broker = broker
        broker.topics.update(TopicConfig(topic_name="T", attributes={"+message.type": "LITE"}))
        bound = {"+lite.bind.topic": "T"}
        broker.groups.update(SubscriptionGroupConfig(group_name="G", attributes=bound))
        for number in range(COUNT):
            self.put(f"n{number}")
            broker.offsets.commit("c", "G", f"%LMQ%$T$n{number}", 0, 1)
        self.detached: DetachedWork = broker.processor(DeleteTopicInBroker)._detached
        self.deletion: TopicDeletion = broker.processor(DeleteTopicInBroker)._deletion

    def put(self, name: str) -> None:
        message = Message("T", 0, b"x")
        message.properties = f"INNER_MULTI_DISPATCH\1%LMQ%$T${name}\2".encode()
        self.broker.store.stage(message)
        self.broker.store.write_staged()

    @property
    def left(self) -> int:
        return len(self.broker.store.lite_queues("T"))

    def delete(self) -> Response | Later:
        header = DeleteTopicRequestHeader(topic="T")
        processor = self.broker.processor(DeleteTopicInBroker)
        answer: Response | Later = processor.handle(
            self.broker.request(RequestCode.DELETE_TOPIC_IN_BROKER, header)
        )
        return answer


@pytest.fixture
def parent(make_broker: Callable[..., Broker]) -> Parent:
    return Parent(make_broker(enable_lmq=True, enable_multi_dispatch=True))


async def test_a_parent_goes_when_its_lite_topics_have_gone(parent: Parent) -> None:
    asked = parent.delete()
    assert isinstance(asked, Later)
    assert 0 < parent.left < COUNT
    assert "T" in parent.broker.topics
    async with trio.open_nursery() as nursery:
        nursery.start_soon(parent.detached.run)
        answer = await asked.answer(asked.request)
        nursery.cancel_scope.cancel()
    assert answer.code == ResponseCode.SUCCESS
    assert (parent.left, "T" in parent.broker.topics) == (0, False)
    assert parent.broker.offsets.topics_of("G") == set()
    assert parent.broker.topics.leaving == set()


async def test_it_goes_on_when_nobody_waits_any_more(parent: Parent) -> None:
    asked = parent.delete()
    assert isinstance(asked, Later)
    with trio.move_on_after(0):
        await asked.answer(asked.request)
    again = parent.delete()
    assert isinstance(again, Later)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(parent.detached.run)
        await again.answer(again.request)
        # Both were the same deletion: what is made now stays.
        parent.broker.topics.update(TopicConfig(topic_name="T"))
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert "T" in parent.broker.topics


def test_after_a_kill_in_between_a_second_one_deletes_the_rest(
    make_broker: Callable[..., Broker], parent: Parent
) -> None:
    assert isinstance(parent.delete(), Later)
    # All that a kill leaves is what is in the files and the table: the parent, and some of its lite topics.
    assert 0 < parent.left < COUNT
    steps = parent.deletion.delete("T")
    next(steps)
    steps.close()
    assert parent.broker.topics.leaving == set()
    left = parent.left
    trio.run(in_steps, parent.deletion.delete("T"))
    assert left > 0
    assert (parent.left, "T" in parent.broker.topics) == (0, False)


def test_what_is_being_deleted_gets_no_lite_message(parent: Parent) -> None:
    """Otherwise it might have no end. What is delayed is stored all the same, and goes, too."""
    steps = parent.deletion.delete("T")
    next(steps)
    check = parent.broker.sending._rules.check_light
    message = Message("T", 0, b"x")
    properties = {"INNER_MULTI_DISPATCH": "%LMQ%$T$new"}
    with pytest.raises(PutRefused, match="being deleted"):
        check(message, properties)
    parent.put("delayed")
    trio.run(in_steps, steps)
    assert (parent.left, "T" in parent.broker.topics) == (0, False)
    check(message, properties)


def test_files_that_stay_end_nothing(parent: Parent) -> None:
    store = parent.broker.store
    while store.write_derived():
        pass
    # A folder in it is nothing of ours, and cannot be removed as a file.
    (parent.broker.store_config.consume_queue / "%LMQ%$T$n7" / "0" / "strange").mkdir()
    trio.run(in_steps, parent.broker.lite.life.delete_topic("T"))
    assert store.lite_queues("T") == ["%LMQ%$T$n7"]


def test_a_damaged_lite_topic_ends_nothing(
    make_broker: Callable[..., Broker], parent: Parent
) -> None:
    broker = parent.broker
    broker.topics.close()
    broker.store.close()
    root = broker.store_config.root
    [file] = (root / "consumequeue" / "%LMQ%$T$n7" / "0").iterdir()
    file.write_bytes(bytes(file.stat().st_size + 20))
    again = make_broker(enable_lmq=True, enable_multi_dispatch=True)
    again.parts.load()
    trio.run(in_steps, again.lite.life.delete_topic("T"))
    assert again.store.lite_queues("T") == ["%LMQ%$T$n7"]


def test_a_group_of_many_topics_is_deleted_in_steps(parent: Parent) -> None:
    header = DeleteSubscriptionGroupRequestHeader(group_name="G", clean_offset=True)
    processor = parent.broker.processor(DeleteSubscriptiongroup)
    asked = processor.handle(parent.broker.request(RequestCode.DELETE_SUBSCRIPTIONGROUP, header))
    assert isinstance(asked, Later)

    async def play() -> Response:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(parent.detached.run)
            answer = await asked.answer(asked.request)
            nursery.cancel_scope.cancel()
        return answer

    assert trio.run(play).code == ResponseCode.SUCCESS
    assert parent.broker.offsets.topics_of("G") == set()
    assert "G" not in parent.broker.groups.all()


async def test_work_that_fails_fails_for_whoever_waits_and_the_next_goes_on() -> None:
    detached, done = DetachedWork(), []

    def some(name: str, error: Exception | None) -> Steps[None]:
        for _ in range(20):
            yield
        if error is not None:
            raise error
        done.append(name)

    failing, good = (
        detached.begin("a", some("a", StoreError("no"))),
        detached.begin("b", some("b", None)),
    )
    assert failing is not None
    assert good is not None
    assert detached.begin("a", some("a", None)) is failing
    async with trio.open_nursery() as nursery:
        nursery.start_soon(detached.run)
        with pytest.raises(StoreError, match="no"):
            await detached.wait(failing)
        await detached.wait(good)
        nursery.cancel_scope.cancel()
    assert done == ["b"]


def test_little_is_done_at_once_and_fails_at_once() -> None:
    detached = DetachedWork()

    def little() -> Steps[None]:
        yield
        raise StoreError("no")

    with pytest.raises(StoreError):
        detached.begin("a", little())
    assert detached.begin("a", iter_of_nothing()) is None


def iter_of_nothing() -> Steps[None]:
    yield
