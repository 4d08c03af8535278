import importlib
import json
import pkgutil
import struct
import zlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trimq.codec.bodies
from trimq.codec.bodies.base import Body, decode_body, encode_body
from trimq.codec.bodies.clients import GetConsumerListByGroupResponseBody
from trimq.codec.bodies.cluster import ClusterInfo
from trimq.codec.bodies.groups import SubscriptionGroupConfig, SubscriptionGroupWrapper
from trimq.codec.bodies.heartbeat import HeartbeatData, SubscriptionData
from trimq.codec.bodies.kv import KVTable
from trimq.codec.bodies.locks import (
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageQueue,
    UnlockBatchRequestBody,
)
from trimq.codec.bodies.offsets import ConsumerOffsetSerializeWrapper, DelayOffsetSerializeWrapper
from trimq.codec.bodies.register import RegisterBrokerBody, decode_register, encode_register
from trimq.codec.bodies.route import BrokerData, QueueData, TopicRouteData, encode_route
from trimq.codec.bodies.topics import (
    DataVersion,
    TopicConfig,
    TopicConfigAndMappingSerializeWrapper,
    TopicConfigSerializeWrapper,
    TopicList,
    TopicQueueMappingInfo,
)
from trimq.codec.codes import RequestCode
from trimq.codec.errors import CodecError
from trimq.codec.frames.command import decode_command
from trimq.codec.java.fastjson import dumps
from trimq.codec.java.hashes import crc32_31

ALL = sorted(
    {
        found
        for module in pkgutil.iter_modules(trimq.codec.bodies.__path__)
        for found in vars(importlib.import_module(f"trimq.codec.bodies.{module.name}")).values()
        if isinstance(found, type) and issubclass(found, msgspec.Struct) and found is not Body
    },
    key=lambda cls: cls.__name__,
)
REQUEST_BODIES = {
    RequestCode.REGISTER_BROKER: RegisterBrokerBody,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: SubscriptionGroupConfig,
    RequestCode.HEART_BEAT: HeartbeatData,
    RequestCode.LOCK_BATCH_MQ: LockBatchRequestBody,
    RequestCode.UNLOCK_BATCH_MQ: UnlockBatchRequestBody,
}
# Answers do not say what they answer: the first of these keys in them does.
ANSWER_BODIES = {
    "mappingDataVersion": TopicConfigAndMappingSerializeWrapper,
    "forbiddenTable": SubscriptionGroupWrapper,
    "brokerAddrTable": ClusterInfo,
    "topicList": TopicList,
    "brokerDatas": TopicRouteData,
    "attributes": TopicConfig,
    "table": KVTable,
    "consumerIdList": GetConsumerListByGroupResponseBody,
    "lockOKMQSet": LockBatchResponseBody,
}


def body_class(command) -> type[Body] | None:
    if not command.body.startswith(b"{"):
        return None
    if not command.is_response:
        return REQUEST_BODIES.get(command.code)
    return next(
        (cls for key, cls in ANSWER_BODIES.items() if f'"{key}":'.encode() in command.body), None
    )


def test_golden_bodies_leave_as_they_came(golden_frame):
    command = decode_command(golden_frame[4:])
    cls = body_class(command)
    if cls is None:
        return
    value = decode_body(cls, command.body)
    if cls is TopicRouteData:
        assert encode_route(value, quoted_keys=True) == command.body
    else:
        assert encode_body(value) == command.body
    if cls is RegisterBrokerBody:
        assert crc32_31(command.body) == int(command.ext_fields["bodyCrc32"])
        compact = decode_register(encode_register(value, True), True, command.version)
        # The compact form does not carry the version of the static topics.
        wrapper = value.topic_config_serialize_wrapper
        compact.topic_config_serialize_wrapper.mapping_data_version = wrapper.mapping_data_version
        assert compact == value


@pytest.mark.parametrize(
    ("file", "cls"),
    [
        ("topics.json", TopicConfigSerializeWrapper),
        ("subscriptionGroup.json", SubscriptionGroupWrapper),
        ("consumerOffset.json", ConsumerOffsetSerializeWrapper),
        ("delayOffset.json", DelayOffsetSerializeWrapper),
    ],
)
def test_golden_config_files_leave_as_they_came(vectors, file, cls):
    text = (vectors / "config" / file).read_bytes()
    assert dumps(decode_body(cls, text), pretty_tabs=True) == text


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_properties_are_declared_in_the_order_they_leave_in(cls):
    names = [
        field.encode_name
        for field in msgspec.structs.fields(cls)
        if field.name in cls.__annotations__
    ]
    assert names == sorted(names)


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_every_property_may_be_absent_or_null(cls):
    nulls = {field.encode_name: None for field in msgspec.structs.fields(cls)}
    assert decode_body(cls, b"{}") == decode_body(cls, json.dumps(nulls).encode()) == cls()


def test_unknown_keys_and_text_for_numbers_are_accepted():
    data = decode_body(SubscriptionData, b'{"topic":"T","subVersion":"12","new":{"a":[1]}}')
    assert data == SubscriptionData(topic="T", sub_version=12)


@pytest.mark.parametrize("text", [b"", b"[]", b"1", b'{"mqSet":5}', b'{"mqSet":[[]]}', b"{a:1}"])
def test_what_does_not_fit_is_refused(text):
    with pytest.raises(CodecError):
        decode_body(LockBatchRequestBody, text)


def test_the_go_client_cuts_addresses_out_of_the_text():
    route = TopicRouteData(
        broker_datas=[
            BrokerData(broker_addrs={0: "1.1.1.1:1", 1: "1.1.1.2:1"}, broker_name="b", cluster="c")
        ],
        queue_datas=[QueueData(broker_name="b", perm=6, read_queue_nums=4, write_queue_nums=4)],
    )
    assert b'"brokerAddrs":{0:"1.1.1.1:1",1:"1.1.1.2:1"},' in encode_route(route, False)
    assert b'"brokerAddrs":{"0":"1.1.1.1:1","1":"1.1.1.2:1"},' in encode_route(route, True)
    for quoted in (False, True):
        assert decode_body(TopicRouteData, encode_route(route, quoted)) == route


def test_sets_of_queues():
    queues = {MessageQueue(topic="T", broker_name="b", queue_id=n) for n in (1, 0)}
    text = encode_body(LockBatchResponseBody(lock_ok_mq_set=queues))
    assert text == (
        b'{"lockOKMQSet":[{"brokerName":"b","queueId":0,"topic":"T"},'
        b'{"brokerName":"b","queueId":1,"topic":"T"}]}'
    )
    assert decode_body(LockBatchResponseBody, text).lock_ok_mq_set == queues


WORD = st.text("abT%-_", min_size=1, max_size=6)
TOPICS = st.builds(
    TopicConfig,
    topic_name=WORD,
    read_queue_nums=st.integers(0, 99),
    write_queue_nums=st.integers(0, 99),
    perm=st.integers(0, 15),
    attributes=st.dictionaries(WORD, st.text(" a{}:1", max_size=5), max_size=2),
)


@st.composite
def register_bodies(draw):
    topics = draw(st.lists(TOPICS, max_size=4))
    infos = draw(
        st.lists(
            st.builds(
                TopicQueueMappingInfo,
                topic=WORD,
                bname=WORD,
                total_queues=st.integers(0, 9),
                curr_id_map=st.dictionaries(st.integers(0, 9), st.integers(0, 9), max_size=3),
            ),
            max_size=2,
        )
    )
    return RegisterBrokerBody(
        filter_server_list=draw(st.lists(WORD, max_size=2)),
        topic_config_serialize_wrapper=TopicConfigAndMappingSerializeWrapper(
            data_version=DataVersion(counter=draw(st.integers(0, 2**40)), timestamp=7),
            topic_config_table={topic.topic_name: topic for topic in topics},
            topic_queue_mapping_info_map={info.topic: info for info in infos},
        ),
    )


@given(body=register_bodies(), compressed=st.booleans())
def test_register_bodies_come_back_in_both_forms(body, compressed):
    assert decode_register(encode_register(body, compressed), compressed, 513) == body


def test_older_brokers_compact_form_ends_before_static_topics():
    body = RegisterBrokerBody()
    inflated = zlib.decompress(encode_register(body, True))
    assert decode_register(zlib.compress(inflated[:-4]), True, 412) == body
    with pytest.raises(CodecError, match="breaks off"):
        decode_register(zlib.compress(inflated[:-4]), True, 413)


@given(body=register_bodies(), data=st.data())
def test_a_damaged_compact_form_gives_a_body_or_one_typed_error(body, data):
    inflated = bytearray(zlib.decompress(encode_register(body, True)))
    for _ in range(data.draw(st.integers(1, 3))):
        inflated[data.draw(st.integers(0, len(inflated) - 1))] = data.draw(st.integers(0, 255))
    try:
        decode_register(zlib.compress(bytes(inflated)), True, 513)
    except CodecError:
        return


def test_a_body_that_inflates_without_end_is_refused():
    with pytest.raises(CodecError, match="beyond"):
        decode_register(zlib.compress(bytes(1 << 27), 1), True, 513)


def test_a_broken_compact_form_is_refused():
    with pytest.raises(CodecError, match="broken"):
        decode_register(b"no zlib", True, 513)


def compact_form(topics: int, *words: bytes) -> bytes:
    """A deflated register body that claims this many topics and has these."""
    sized = [struct.pack(">i", len(word)) + word for word in (b'{"counter":1}', *words, b"[]")]
    return zlib.compress(b"".join((sized[0], struct.pack(">i", topics), *sized[1:])))


def test_a_register_body_has_a_bounded_number_of_topics_and_numbers_of_32_bits():
    read = decode_register(compact_form(1, b"T 4 4 6 SINGLE_TAG {}"), True, 412)
    assert read.topic_config_serialize_wrapper.topic_config_table["T"].perm == 6
    with pytest.raises(CodecError, match="topics in a register body"):
        decode_register(compact_form(1 << 19, b""), True, 412)
    for words in (b"T 4 4 99999999999 SINGLE_TAG {}", b"T 4 x 6 SINGLE_TAG {}", b"T 4 4 6 NONE {}"):
        with pytest.raises(CodecError, match="no topic"):
            decode_register(compact_form(1, words), True, 412)
