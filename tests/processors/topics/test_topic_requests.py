"""Creating, reading and deleting topics."""

import json
from functools import partial
from typing import Any

import pytest

from tests.detached import finished
from trimq.broker.elastic.model import new_topic
from trimq.broker.services.detached_work import DetachedWork
from trimq.broker.services.topic_deletion import TopicDeletion
from trimq.broker.steps import DiskSteps, Steps
from trimq.codec.bodies.base import decode_body, encode_body
from trimq.codec.bodies.static_topics import TopicQueueMappingDetail
from trimq.codec.bodies.topics import (
    CreateTopicListRequestBody,
    TopicConfig,
    TopicConfigAndMappingSerializeWrapper,
)
from trimq.codec.codes import ResponseCode
from trimq.codec.headers import topics as headers
from trimq.codec.java import fastjson
from trimq.processors.topics.delete_topic_in_broker import DeleteTopicInBroker
from trimq.processors.topics.get_all_topic_config import GetAllTopicConfig
from trimq.processors.topics.get_system_topic_list_from_broker import GetSystemTopicListFromBroker
from trimq.processors.topics.get_topic_config import GetTopicConfig
from trimq.processors.topics.get_topic_stats_info import GetTopicStatsInfo
from trimq.processors.topics.update_and_create_static_topic import UpdateAndCreateStaticTopic
from trimq.processors.topics.update_and_create_topic import UpdateAndCreateTopic
from trimq.processors.topics.update_and_create_topic_list import UpdateAndCreateTopicList
from trimq.remoting.contract import RemotingError
from trimq.remoting.testing import answer, answered
from trimq.store.messages.message import Message

INVALID = ResponseCode.INVALID_PARAMETER
# The real broker leaves this remark behind when it succeeds.
DONE = (0, "not set any response code")


class Announcements:
    """Counts how often NameServers were waited for."""

    def __init__(self) -> None:
        self.waited = 0

    async def __call__(self) -> None:
        self.waited += 1


async def create(broker: Any, topic: str, **fields: Any) -> tuple[int, str | None]:
    values = {
        "default_topic": "TBW102",
        "read_queue_nums": 4,
        "write_queue_nums": 4,
        "perm": 6,
        "topic_filter_type": "SINGLE_TAG",
        **fields,
    }
    header = headers.CreateTopicRequestHeader(topic=topic, **values)
    processor = UpdateAndCreateTopic(broker.config, broker.topics, Announcements())
    try:
        response = await answer(processor, broker.request(17, header))
    except RemotingError as error:
        return error.code, error.remark
    return response.code, response.remark


async def test_create_and_change(broker: Any) -> None:
    announced: list[str] = []
    broker.topics.add_listener(lambda topic: announced.append(topic.topic_name))
    assert await create(broker, "T", topic_sys_flag=1, order=True) == DONE
    assert broker.topics.get("T") == TopicConfig(
        topic_name="T", read_queue_nums=4, write_queue_nums=4, topic_sys_flag=1, order=True
    )
    assert await create(broker, "T", topic_sys_flag=1, order=True) == DONE
    assert (broker.topics.data_version.counter, announced) == (1, ["T"])
    assert await create(broker, "T", perm=4, attributes="+message.type=FIFO") == DONE
    found = broker.topics.get("T")
    assert (found.perm, found.attributes, found.order) == (4, {"message.type": "FIFO"}, False)
    assert announced == ["T", "T"]


async def test_refused_topics(broker: Any) -> None:
    assert await create(broker, " ") == (INVALID, "The specified topic is blank.")
    for name in ("TBW102", "rmq_sys_x", "DefaultCluster"):
        remark = f"The topic[{name}] is conflict with system topic."
        assert await create(broker, name) == (INVALID, remark)
    assert await create(broker, "T", attributes="+message.type=MIXED") == (
        INVALID,
        "MIXED message type is not supported.",
    )
    assert await create(broker, "T", attributes="+x=1") == (
        ResponseCode.SYSTEM_ERROR,
        "unsupported key: x",
    )
    assert await create(broker, "T", topic_filter_type="X") == (
        ResponseCode.SYSTEM_ERROR,
        "topicFilterType = [X] value invalid",
    )
    assert broker.topics.data_version.counter == 0


@pytest.mark.parametrize("kind", ["PRIORITY", "LITE"])
async def test_an_elastic_topic_gets_no_messages_that_choose_their_queues_otherwise(
    broker: Any, kind: str
) -> None:
    broker.elastic.maps.create("T", new_topic(4))
    code, remark = await create(broker, "T", attributes=f"+message.type={kind}")
    assert code == INVALID
    assert remark is not None
    assert "is elastic" in remark
    assert "create another topic for them" in remark
    processor = UpdateAndCreateTopicList(broker.config, broker.topics, Announcements())
    wanted = TopicConfig(topic_name="T", attributes={"+message.type": kind})
    body = encode_body(CreateTopicListRequestBody(topic_config_list=[wanted]))
    with pytest.raises(RemotingError, match="is elastic"):
        await answer(processor, broker.request(18, None, body))
    assert not broker.topics.get("T").attributes
    assert await create(broker, "T", attributes="+message.type=FIFO") == DONE
    # Of an ordinary one that is its operator's business.
    assert await create(broker, "Other", attributes=f"+message.type={kind}") == DONE


async def test_an_elastic_topic_does_not_become_a_static_one(broker: Any) -> None:
    broker.elastic.maps.create("T", new_topic(4))
    header = headers.CreateTopicRequestHeader(
        topic="T",
        default_topic="TBW102",
        read_queue_nums=4,
        write_queue_nums=4,
        perm=6,
        topic_filter_type="SINGLE_TAG",
        force=True,
    )
    name = broker.config.broker_name
    body = encode_body(
        TopicQueueMappingDetail(topic="T", bname=name, total_queues=1, epoch=1, scope="__global__")
    )
    processor = UpdateAndCreateStaticTopic(broker.config, broker.topics, Announcements())
    with pytest.raises(RemotingError, match="mqadmin elasticTopic scale -t T"):
        await answer(processor, broker.request(513, header, body))
    assert broker.topics.mappings.get("T") is None


async def test_topics_that_keep_the_newest_of_each_key(broker: Any) -> None:
    assert await create(broker, "T", attributes="+cleanup.policy=COMPACTION") == DONE
    assert broker.topics.get("T").attributes == {"cleanup.policy": "COMPACTION"}
    # It cannot be changed later.
    assert (await create(broker, "T", attributes="+cleanup.policy=DELETE"))[0] == 1


async def test_system_topics_can_be_opened_to_change(make_broker: Any) -> None:
    broker = make_broker(validate_system_topic_when_update_topic=False)
    assert await create(broker, "BenchmarkTest") == DONE
    assert broker.topics.get("BenchmarkTest").write_queue_nums == 4


async def test_a_list_is_created_whole_or_not_at_all(broker: Any) -> None:
    announced = Announcements()
    processor = UpdateAndCreateTopicList(broker.config, broker.topics, announced)

    async def ask(*names: str) -> None:
        body = CreateTopicListRequestBody(
            topic_config_list=[TopicConfig(topic_name=name) for name in names]
        )
        await answer(processor, broker.request(18, None, encode_body(body)))

    with pytest.raises(RemotingError, match="contains illegal characters"):
        await ask("A", "b c")
    assert "A" not in broker.topics
    await ask("A", "B")
    assert "B" in broker.topics
    # The real one takes one unchanged topic for "nothing to do".
    await ask("A", "C")
    assert "C" not in broker.topics
    # An answer that creates something waits until NameServers know it, others do not.
    assert announced.waited == 1


class Deleted:
    def __init__(self) -> None:
        self.names: list[str] = []

    def forget_topic(self, topic: str) -> None:
        self.names.append(topic)

    def delete_in_steps(self, topic: str) -> DiskSteps[bool]:
        yield partial(self.names.append, topic)
        return True

    def write_others(self) -> None:
        assert not self.names


class DeletedInSteps:
    def __init__(self) -> None:
        self.names: list[str] = []

    def delete_topic(self, topic: str) -> Steps[None]:
        self.names.append(topic)
        yield

    forget_topic = delete_topic


async def test_delete_takes_queues_offsets_and_pop_retries_along(broker: Any) -> None:
    for name in ("T", "%RETRY%g_T", "%RETRY%g+T", "%RETRY%g"):
        broker.topics.create_in_send_back(name, 1, 6, 0)
        broker.offsets.commit("c", "g", name, 0, 1)
    store, timers, blocks, lite = Deleted(), Deleted(), DeletedInSteps(), DeletedInSteps()
    deletion = TopicDeletion(
        broker.config, broker.topics, broker.offsets, store, broker.traffic, timers, blocks, lite
    )
    processor = DeleteTopicInBroker(broker.config, broker.topics, deletion, DetachedWork())
    header = headers.DeleteTopicRequestHeader(topic="T")
    assert (await finished(processor, broker.request(215, header))).code == 0
    assert store.names == timers.names == blocks.names == ["T", "%RETRY%g+T", "%RETRY%g_T"]
    assert lite.names == ["T"]
    assert "T" not in broker.topics
    assert broker.offsets.topics_of("g") == {"%RETRY%g"}
    for name, remark in (
        (" ", "The specified topic is blank."),
        ("TBW102", "The topic[TBW102] is conflict with system topic."),
    ):
        with pytest.raises(RemotingError) as refused:
            processor.handle(broker.request(215, headers.DeleteTopicRequestHeader(topic=name)))
        assert (refused.value.code, refused.value.remark) == (INVALID, remark)


async def test_what_was_sent_before_goes_with_the_topic(broker: Any) -> None:
    """Also what is not written yet: the topic's next life begins with its own first message."""
    broker.topics.create_in_send_back("T", 1, 6, 0)
    store = broker.store
    store.stage(Message("T", 0, b"of the old one"))
    processor = broker.processor(DeleteTopicInBroker)
    header = headers.DeleteTopicRequestHeader(topic="T")
    assert (await finished(processor, broker.request(215, header))).code == 0
    broker.topics.create_in_send_back("T", 1, 6, 0)
    store.stage(Message("T", 0, b"of the new one"))
    store.write_staged()
    store.write_derived()
    assert store.max_offset("T", 0) == 1
    found = store.read("T", 0, 0, 32, 1 << 24, None)
    assert b"of the new one" in b"".join(store.load_blocking(found.extents))


async def all_topics(broker: Any, **asked: Any) -> TopicConfigAndMappingSerializeWrapper:
    processor = broker.processor(GetAllTopicConfig)
    header = headers.SlavesTopicConfigRequestHeader(**asked)
    response = await answer(processor, broker.request(21, header))
    assert response.header.total_topic_num == len(broker.topics)
    return decode_body(TopicConfigAndMappingSerializeWrapper, response.body)


async def test_all_topics_or_a_page(broker: Any) -> None:
    for number in range(120):
        broker.topics.create_in_send_back(f"T{number:03}", 1, 6, 0)
    whole = await all_topics(broker)
    assert whole.topic_config_table == broker.topics.all()
    assert whole.data_version == broker.topics.data_version
    names = sorted(broker.topics.all())
    version = fastjson.dumps(broker.topics.data_version).decode()
    page = await all_topics(broker, topic_seq=50, data_version=version, max_topic_num=60)
    assert list(page.topic_config_table) == names[50:110]
    assert list((await all_topics(broker, topic_seq=0)).topic_config_table) == names


def test_one_topic(broker: Any) -> None:
    processor = broker.processor(GetTopicConfig)
    with pytest.raises(RemotingError) as refused:
        processor.handle(broker.request(351, headers.GetTopicConfigRequestHeader(topic="T")))
    assert refused.value.code == ResponseCode.TOPIC_NOT_EXIST
    assert refused.value.remark == "No topic in this broker. topic: T"
    header = headers.GetTopicConfigRequestHeader(topic="TBW102")
    assert processor.handle(broker.request(351, header)).body == (
        b'{"attributes":{},"order":false,"perm":7,"readQueueNums":8,'
        b'"topicFilterType":"SINGLE_TAG","topicName":"TBW102","topicSysFlag":0,"writeQueueNums":8}'
    )


def test_system_topics(broker: Any) -> None:
    body = answered(broker.processor(GetSystemTopicListFromBroker), broker.request(305, None)).body
    names = json.loads(body)["topicList"]
    assert {"TBW102", "DefaultCluster", "RMQ_SYS_TRACE_TOPIC", "rmq_sys_wheel_timer"} <= set(names)


def test_topic_stats(broker: Any) -> None:
    broker.topics.create_in_send_back("T", 1, 6, 0)
    processor = broker.processor(GetTopicStatsInfo)
    header = headers.GetTopicStatsInfoRequestHeader(topic="T")
    name = broker.config.broker_name
    assert answered(processor, broker.request(202, header)).body.decode() == (
        f'{{"offsetTable":{{{{"brokerName":"{name}","queueId":0,"topic":"T"}}:'
        '{"lastUpdateTimestamp":0,"maxOffset":0,"minOffset":0}},"topicPutTps":0.0}'
    )
    with pytest.raises(RemotingError) as refused:
        answered(processor, broker.request(202, headers.GetTopicStatsInfoRequestHeader(topic="U")))
    assert refused.value.code == ResponseCode.TOPIC_NOT_EXIST
    assert refused.value.remark == "topic[U] not exist"
