"""Elastic topics in a broker: where messages go, changes, and what is found again after a stop."""

from collections.abc import Callable

import pytest

from tests.broker.elastic.conftest import TOPIC, ElasticBroker
from trimq.broker.config import BrokerConfig
from trimq.broker.elastic import log
from trimq.broker.elastic.model import Move, PlanError, new_topic
from trimq.broker.elastic.state_records import record_of
from trimq.codec.bodies.elastic import ElasticRecord, encode_record, encode_short
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.names import ELASTIC_MAP_TOPIC
from trimq.store.errors import MessageTooLarge, StoreError
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Appended, Message


def test_partitions_are_placed_and_other_topics_stay_as_they_are(elastic: ElasticBroker) -> None:
    assert [elastic.maps.place(TOPIC, lp) for lp in range(8)] == [0, 1] * 4
    assert elastic.maps.place("Other", 7) == 7
    elastic.move(p2=2)
    assert elastic.maps.place(TOPIC, 2) == 2
    # Of an older topic of that name.
    assert elastic.maps.place(TOPIC, 10) == 2


def test_name_servers_are_told_all_partitions_and_the_table_keeps_queues(
    elastic: ElasticBroker,
) -> None:
    told = elastic.announcement
    topic = elastic.topic()
    assert (topic.read_queue_nums, topic.write_queue_nums) == (4, 2)
    assert topic.attributes == {}
    assert (told.queues(topic).read_queue_nums, told.queues(topic).write_queue_nums) == (4, 8)
    (body,) = told.all_topics()
    assert b'"writeQueueNums":8' in body


def test_an_operators_update_changes_permissions_only(elastic: ElasticBroker) -> None:
    elastic.topics.update(
        TopicConfig(topic_name=TOPIC, read_queue_nums=8, write_queue_nums=8, perm=4)
    )
    topic = elastic.topic()
    assert (topic.read_queue_nums, topic.write_queue_nums, topic.perm) == (4, 2, 4)


def test_a_change_reads_ends_behind_what_is_staged(elastic: ElasticBroker) -> None:
    elastic.put(0, 3)
    elastic.store.stage(Message(TOPIC, 0, b"staged"))
    change = elastic.move(p0=2)
    assert (change.ends, change.starts) == ({0: 4}, {2: 0})


def test_a_change_that_cannot_be_written_leaves_the_map(
    elastic: ElasticBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StoreError("the disk is away")

    before = elastic.maps.state(TOPIC)
    with monkeypatch.context() as patch:
        patch.setattr(MessageStore, "put", fail)
        with pytest.raises(StoreError):
            elastic.move(p0=2)
    assert elastic.maps.state(TOPIC) == before
    assert elastic.move(p0=2).version == 1


def test_what_is_staged_by_others_and_lost_with_a_change_is_told_to_them(
    elastic: ElasticBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StoreError("the disk is away")

    elastic.store.stage(Message(TOPIC, 0, b"staged"))
    with monkeypatch.context() as patch:
        patch.setattr("trimq.store.appending.appender.Appender.write", fail)
        with pytest.raises(StoreError):
            elastic.move(p0=2)
    with pytest.raises(StoreError, match="lost with another write"):
        elastic.store.write_staged()


def test_a_receiver_must_be_announced(elastic: ElasticBroker) -> None:
    with pytest.raises(PlanError, match="announce it first"):
        elastic.maps.change(TOPIC, Move({0: 4}))


def test_read_queues_in_use_stay(elastic: ElasticBroker) -> None:
    elastic.move(p0=2)
    with pytest.raises(PlanError, match="3 queues are in use"):
        elastic.maps.resize(TOPIC, 2, 2)


@pytest.mark.parametrize(
    ("attributes", "says"),
    [
        ({"+queue.type": "BatchCQ"}, "BatchCQ"),
        ({"+message.type": "PRIORITY"}, "PRIORITY"),
        ({"+message.type": "LITE"}, "LITE"),
        ({"+cleanup.policy": "COMPACTION"}, "compacted"),
    ],
)
def test_topics_that_cannot_be_elastic(
    elastic: ElasticBroker, attributes: dict[str, str], says: str
) -> None:
    elastic.topics.update(
        TopicConfig(topic_name="Odd", read_queue_nums=2, write_queue_nums=2, attributes=attributes)
    )
    with pytest.raises(PlanError, match=f"{says}.*: create another topic"):
        elastic.maps.create("Odd", new_topic(2))


@pytest.mark.parametrize("name", [TOPIC, "%RETRY%CG", "rmq_sys_ELASTIC_MAP", "a b", "TBW102"])
def test_names_that_cannot_be_elastic(elastic: ElasticBroker, name: str) -> None:
    with pytest.raises(PlanError, match=r": (scale it|choose another name)$"):
        elastic.maps.create(name, new_topic(2))


def test_a_map_must_fit_an_existing_topic(elastic: ElasticBroker) -> None:
    elastic.topics.create_if_absent(
        TopicConfig(topic_name="Old", read_queue_nums=3, write_queue_nums=3)
    )
    with pytest.raises(PlanError, match="3 write queues, not 2"):
        elastic.maps.create("Old", new_topic(2))
    elastic.maps.create("Old", new_topic(3))
    assert elastic.maps.topics() == [TOPIC, "Old"]


def test_maps_are_found_again_after_a_kill(elastic: ElasticBroker) -> None:
    elastic.put(0, 3)
    elastic.move(p0=2)
    elastic.move(p1=3, p3=3)
    before = elastic.maps.state(TOPIC)
    elastic.kill()
    elastic.start()
    assert elastic.maps.state(TOPIC) == before
    assert elastic.maps.place(TOPIC, 0) == 2
    assert elastic.announcement.queues(elastic.topic()).write_queue_nums == 8
    elastic.maps.forget_topic(TOPIC)
    assert elastic.maps.place(TOPIC, 0) == 0
    elastic.kill()
    elastic.start()
    assert elastic.maps.topics() == []


def test_a_record_that_nobody_understands_changes_nothing(
    elastic: ElasticBroker, caplog: pytest.LogCaptureFixture
) -> None:
    before = elastic.maps.state(TOPIC)
    elastic.store.put(Message(ELASTIC_MAP_TOPIC, 0, b'{"kind":"new","format":1}'))
    assert elastic.maps.state(TOPIC) == before
    assert "elastic record not understood" in caplog.text


def test_without_elastic_topics_there_is_no_topic_for_them(
    make_elastic: Callable[..., ElasticBroker],
) -> None:
    ordinary = make_elastic()
    assert ELASTIC_MAP_TOPIC not in ordinary.topics
    ordinary.create()
    assert ELASTIC_MAP_TOPIC in ordinary.topics
    assert ordinary.topics.is_system_topic(ELASTIC_MAP_TOPIC)


def test_a_state_that_does_not_fit_into_a_message_is_refused(
    make_elastic: Callable[..., ElasticBroker],
) -> None:
    elastic = make_elastic(max_message_size=2048)
    elastic.create()
    with pytest.raises(PlanError, match=r"would not fit into a message .*wait until retention"):
        _change_for_ever(elastic)
    after = elastic.maps.state(TOPIC)
    assert after is not None
    assert after.version == len(after.changes) > 10
    assert elastic.maps.place(TOPIC, 0) == after.queues[0]
    elastic.kill()
    elastic.start()
    assert elastic.maps.state(TOPIC) == after


def test_a_plan_that_would_not_fit_into_a_message_is_refused_before_it_begins(
    make_elastic: Callable[..., ElasticBroker],
) -> None:
    elastic = make_elastic(max_message_size=2048)
    elastic.create()
    elastic.put(0)
    there_and_back = [Move({0: 2}), Move({0: 0})]
    elastic.maps.check_moves(TOPIC, there_and_back)
    with pytest.raises(PlanError, match=r"would not fit into a message .*wait until retention"):
        elastic.maps.check_moves(TOPIC, there_and_back * 50)
    with pytest.raises(PlanError, match="at most"):
        elastic.maps.check_moves(TOPIC, there_and_back * 501)
    state = elastic.maps.state(TOPIC)
    assert state is not None
    assert state.version == 0


def test_queues_that_left_the_route_with_messages_are_known(elastic: ElasticBroker) -> None:
    assert elastic.maps.left_queues("Other") == elastic.maps.left_queues(TOPIC) == []
    elastic.put(0)
    elastic.move(p0=3)
    elastic.put(0)
    assert elastic.maps.left_queues(TOPIC) == []
    elastic.move(p0=0)
    elastic.maps.resize(TOPIC, 2, 2)
    assert elastic.maps.left_queues(TOPIC) == [3]


def _change_for_ever(elastic: ElasticBroker) -> None:
    while True:
        for queue in (2, 0):
            # A change of an empty queue is forgotten at once.
            elastic.put(0)
            elastic.move(p0=queue)


def test_the_map_of_a_topic_is_appended_anew_before_its_file_goes(elastic: ElasticBroker) -> None:
    elastic.move(p0=2)
    end = elastic.store.max_physical_offset
    elastic.maps.keep(end)
    assert elastic.store.max_physical_offset > end
    after = elastic.store.max_physical_offset
    elastic.maps.keep(end)
    assert elastic.store.max_physical_offset == after


def test_a_kill_before_the_table_is_written_leaves_no_map_without_a_topic(
    elastic: ElasticBroker,
) -> None:
    elastic.store.abandon()
    elastic.start()
    assert TOPIC not in elastic.topics
    assert elastic.maps.topics() == []


def test_queues_in_use_can_be_read_after_a_kill_before_the_table_is_written(
    elastic: ElasticBroker,
) -> None:
    elastic.topics.close()
    elastic.maps.resize(TOPIC, 6, 2)
    elastic.move(p0=5)
    elastic.store.abandon()
    # Whatever limit is set now.
    elastic.start(config=BrokerConfig(max_topic_queues=1))
    assert elastic.topic().read_queue_nums == 6


def test_a_state_that_only_fits_with_bare_keys_is_written_so(
    make_elastic: Callable[..., ElasticBroker], monkeypatch: pytest.MonkeyPatch
) -> None:
    elastic = make_elastic()
    elastic.create()
    changed = elastic.move(p0=2)
    state = elastic.maps.state(TOPIC)
    assert state is not None
    record = record_of(TOPIC, state.apply(Move({2: 2}), lambda _: 0))
    between = (len(encode_short(record)) + len(encode_record(record))) // 2
    put = MessageStore.put

    def limited(store: MessageStore, message: Message) -> Appended:
        if len(message.body) > between:
            raise MessageTooLarge("too large")
        return put(store, message)

    monkeypatch.setattr(MessageStore, "put", limited)
    assert elastic.move(p2=2).version == changed.version + 1
    running = elastic.maps.state(TOPIC)
    elastic.kill()
    elastic.start()
    assert elastic.maps.state(TOPIC) == running


def test_what_is_appended_is_not_decoded_again(
    elastic: ElasticBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A topic's state may have a thousand changes, and each change writes it."""

    def decode(_: bytes) -> ElasticRecord:
        raise AssertionError("decoded")

    with monkeypatch.context() as patch:
        patch.setattr(log, "decode_record", decode)
        elastic.move(p0=2)
        elastic.groups.gate("G", TOPIC)
    running = elastic.maps.state(TOPIC)
    assert running is not None
    assert running.version == 1
    elastic.kill()
    elastic.start()
    assert elastic.maps.state(TOPIC) == running
    assert elastic.groups.is_gated("G", TOPIC)
