"""Topics: those there from the start, creation on demand, changes, the file."""

from pathlib import Path

import pytest

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.errors import CodecError
from trimq.codec.java import fastjson
from trimq.remoting.contract import RemotingError

VECTORS = Path(__file__).parents[1].parent / "vectors" / "config"
CONFIG = BrokerConfig(broker_name="broker-a")


@pytest.fixture
def topics(tmp_path: Path, clock: Clock) -> Topics:
    return Topics(CONFIG, tmp_path, clock)


def test_the_topics_of_a_new_broker(topics: Topics) -> None:
    found = {name: (topic.write_queue_nums, topic.perm) for name, topic in topics.all().items()}
    assert found == {
        "TBW102": (8, 7),
        "SELF_TEST_TOPIC": (1, 6),
        "BenchmarkTest": (1024, 6),
        "DefaultCluster": (16, 7),
        "broker-a": (1, 7),
        "OFFSET_MOVED_EVENT": (1, 6),
        "SCHEDULE_TOPIC_XXXX": (18, 6),
        "DefaultCluster_REPLY_TOPIC": (1, 6),
        "rmq_sys_REVIVE_LOG_DefaultCluster": (8, 6),
        "rmq_sys_SYNC_BROKER_MEMBER_broker-a": (1, 1),
        "RMQ_SYS_TRANS_HALF_TOPIC": (1, 6),
        "RMQ_SYS_TRANS_OP_HALF_TOPIC": (1, 6),
        "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC": (1, 6),
        "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC": (1, 6),
        "rmq_sys_wheel_timer": (1, 6),
    }
    assert topics.data_version.counter == 0
    assert topics.is_system_topic("broker-a")
    assert topics.is_system_topic("rmq_sys_x")
    assert not topics.is_system_topic("T")


@pytest.mark.parametrize(("wanted", "queues"), [(4, 4), (8, 8), (16, 8), (0, 0), (-1, 0)])
def test_a_send_creates_its_topic_after_the_template(
    topics: Topics, wanted: int, queues: int
) -> None:
    announced: list[str] = []
    topics.add_listener(lambda topic: announced.append(topic.topic_name))
    created = topics.create_in_send("T", "TBW102", "1.2.3.4:5", wanted, 0)
    assert created is not None
    assert (created.read_queue_nums, created.write_queue_nums, created.perm) == (queues, queues, 6)
    assert topics.data_version.counter == 1
    assert announced == ["T"]
    assert topics.create_in_send("T", "TBW102", "1.2.3.4:5", 2, 0) is created
    assert announced == ["T"]


def test_without_a_template_that_may_be_inherited_nothing_is_created(
    topics: Topics, tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    assert topics.create_in_send("T", "nothing", "1.2.3.4:5", 4, 0) is None
    assert topics.create_in_send("T", "SELF_TEST_TOPIC", "1.2.3.4:5", 4, 0) is None
    assert "no template" in caplog.text
    assert "may not be inherited" in caplog.text

    strict = Topics(BrokerConfig(auto_create_topic_enable=False), tmp_path, clock)
    assert strict.get("TBW102") is None
    strict.create_if_absent(TopicConfig(topic_name="TBW102", perm=7))
    assert strict.create_in_send("T", "TBW102", "1.2.3.4:5", 4, 0) is None


def test_a_retry_topics_order_follows_the_last_request(topics: Topics) -> None:
    announced: list[str] = []
    topics.add_listener(lambda topic: announced.append(topic.topic_name))
    made = topics.create_in_send_back("%RETRY%g", 1, 6, 0)
    assert (made.write_queue_nums, made.perm, made.order) == (1, 6, False)
    topics.create_in_send_back("%RETRY%g", 1, 6, 0, order=True)
    assert topics.is_order_topic("%RETRY%g")
    assert topics.data_version.counter == 2
    # NameServers hear of it with the next registration only.
    assert announced == ["%RETRY%g"]
    topics.create_in_send_back("%RETRY%g", 3, 6, 0, order=True)
    assert topics.data_version.counter == 2


def test_an_update_changes_attributes_as_it_is_told(topics: Topics) -> None:
    topics.update(TopicConfig(topic_name="T", attributes={"+message.type": "FIFO"}))
    topics.update(TopicConfig(topic_name="T", write_queue_nums=2))
    found = topics.get("T")
    assert found is not None
    assert (found.attributes, found.write_queue_nums) == ({"message.type": "FIFO"}, 2)
    with pytest.raises(RemotingError, match="unsupported key"):
        topics.update(TopicConfig(topic_name="T", attributes={"+x": "1"}))
    assert topics.data_version.counter == 2


def test_a_page_starts_again_when_topics_have_changed(topics: Topics) -> None:
    version = fastjson.dumps(topics.data_version).decode()
    names = sorted(topics.all())
    assert list(topics.page(None, 0, 2)) == names[:2]
    assert list(topics.page(version, 2, 2)) == names[2:4]
    assert list(topics.page(version, 14, 9)) == names[14:]
    assert list(topics.page("", 2, 2)) == names[:2]
    assert topics.page(version, 99, 2) == {}
    for asked, first, count in (("{", 2, 2), (version, -1, 2), (version, 0, 0)):
        with pytest.raises(CodecError):
            topics.page(asked, first, count)
    topics.create_in_send_back("%RETRY%g", 1, 6, 0)
    assert list(topics.page(version, 2, 1)) == sorted(topics.all())[:1]


def test_changes_are_there_after_a_restart(topics: Topics, tmp_path: Path, clock: Clock) -> None:
    topics.create_in_send("T", "TBW102", "1.2.3.4:5", 4, 0)
    topics.create_in_send("U", "TBW102", "1.2.3.4:5", 4, 0)
    topics.delete("U")
    topics.delete("U")
    topics.set_ordered(["T", "V"])
    again = Topics(CONFIG, tmp_path, clock)
    again.load()
    assert again.all() == topics.all()
    assert again.data_version == topics.data_version
    assert again.data_version.counter == 4
    assert again.is_order_topic("T")


def test_the_real_brokers_file_loads_and_is_written_the_same(tmp_path: Path, clock: Clock) -> None:
    real = (VECTORS / "topics.json").read_bytes()
    (tmp_path / "topics.json").write_bytes(real)
    topics = Topics(CONFIG, tmp_path, clock)
    topics.load()
    topics.persist()
    written = (tmp_path / "topics.json").read_bytes()
    assert fastjson.loads(written) == fastjson.loads(real)
    # Java writes a hash table's order, so the lines are compared, not their places.
    assert _lines(written) == _lines(real)


def _lines(text: bytes) -> list[bytes]:
    return sorted(line.rstrip(b",") for line in text.split(b"\n"))
