"""Codes, remarks and bodies of the NameServer's answers."""

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.namesrv.parts import ADDRESS, Parts, ask, register_header, reply_fields, text, topics
from tests.namesrv.parts import topic as topic_config
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.register import RegisterBrokerBody, decode_register, encode_register
from trimq.codec.bodies.route import QueueData, TopicRouteData
from trimq.codec.bodies.topics import (
    DataVersion,
    TopicConfigAndMappingSerializeWrapper,
    TopicConfigSerializeWrapper,
)
from trimq.codec.errors import CodecError
from trimq.codec.headers.base import encode_header
from trimq.processors.namesrv.kv_config.delete_kv_config import DeleteKvConfig
from trimq.processors.namesrv.kv_config.get_kv_config import GetKvConfig
from trimq.processors.namesrv.kv_config.get_kvlist_by_namespace import GetKvlistByNamespace
from trimq.processors.namesrv.kv_config.put_kv_config import PutKvConfig
from trimq.processors.namesrv.routes import register_broker
from trimq.processors.namesrv.routes.add_write_perm_of_broker import AddWritePermOfBroker
from trimq.processors.namesrv.routes.broker_heartbeat import BrokerHeartbeat
from trimq.processors.namesrv.routes.get_broker_cluster_info import GetBrokerClusterInfo
from trimq.processors.namesrv.routes.get_broker_member_group import GetBrokerMemberGroup
from trimq.processors.namesrv.routes.get_routeinfo_by_topic import GetRouteinfoByTopic
from trimq.processors.namesrv.routes.query_data_version import QueryDataVersion
from trimq.processors.namesrv.routes.register_broker import RegisterBroker
from trimq.processors.namesrv.routes.unregister_broker import UnregisterBroker
from trimq.processors.namesrv.routes.wipe_write_perm_of_broker import WipeWritePermOfBroker
from trimq.processors.namesrv.topics.delete_topic_in_namesrv import DeleteTopicInNamesrv
from trimq.processors.namesrv.topics.get_all_topic_list_from_nameserver import (
    GetAllTopicListFromNameserver,
)
from trimq.processors.namesrv.topics.get_has_unit_sub_topic_list import GetHasUnitSubTopicList
from trimq.processors.namesrv.topics.get_has_unit_sub_ununit_topic_list import (
    GetHasUnitSubUnunitTopicList,
)
from trimq.processors.namesrv.topics.get_system_topic_list_from_ns import GetSystemTopicListFromNs
from trimq.processors.namesrv.topics.get_topics_by_cluster import GetTopicsByCluster
from trimq.processors.namesrv.topics.get_unit_topic_list import GetUnitTopicList
from trimq.processors.namesrv.topics.register_topic_in_namesrv import RegisterTopicInNamesrv
from trimq.remoting.contract import Processor, RemotingError

BROKER = {
    "brokerName": "broker-a",
    "brokerAddr": ADDRESS,
    "clusterName": "c",
    "brokerId": "0",
}


def body_of(*names: str, version: int = 1) -> RegisterBrokerBody:
    return RegisterBrokerBody(
        topic_config_serialize_wrapper=TopicConfigAndMappingSerializeWrapper(
            data_version=DataVersion(counter=version),
            topic_config_table={each.topic_name: each for each in topics(*names)},
        )
    )


def refusal(processor: Processor[Any], *args: Any, **kwargs: Any) -> tuple[int, str]:
    with pytest.raises(RemotingError) as raised:
        ask(processor, *args, **kwargs)
    return int(raised.value.code), raised.value.remark


def route_processor(parts: Parts) -> GetRouteinfoByTopic:
    return parts.processor(GetRouteinfoByTopic)


@pytest.mark.parametrize("compressed", [False, True])
def test_register_broker(parts: Parts, compressed: bool) -> None:
    processor = parts.processor(RegisterBroker)
    body = encode_register(body_of("T", "U"), compressed)
    crc = zlib.crc32(body) & 0x7FFFFFFF
    header = encode_header(register_header(compressed=compressed, body_crc32=crc))
    answer = ask(processor, header, body)
    assert (answer.code, answer.body, reply_fields(answer)) == (0, b"", {})
    assert parts.routes.topics.topics() == ["T", "U"]
    wrong = {**header, "bodyCrc32": str(crc + 1)}
    assert refusal(processor, wrong, body) == (1, "crc32 not match")


def test_register_broker_decodes_the_same_topics_once(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[bytes] = []

    def noting(body: bytes, compressed: bool, version: int) -> RegisterBrokerBody:
        decoded.append(body)
        return decode_register(body, compressed, version)

    monkeypatch.setattr(register_broker, "decode_register", noting)
    processor = RegisterBroker(parts.routes, parts.kv, parts.config)
    header = encode_header(register_header())
    body, other = (encode_register(body_of(*names), False) for names in (("T", "U"), ("T", "V")))
    for sent in (body, bytes(bytearray(body))):
        assert ask(processor, header, sent).code == 0
    assert decoded == [body]
    # Topics deleted here meanwhile are registered again all the same.
    parts.routes.delete_topic("U", None)
    ask(processor, header, body)
    assert parts.routes.topics.topics() == ["T", "U"]
    ask(processor, header, other)
    assert decoded == [body, other]
    assert parts.routes.topics.serves("broker-a", "V")


def test_register_broker_without_body_and_by_an_ancient_broker(parts: Parts) -> None:
    processor = parts.processor(RegisterBroker)
    header = encode_header(register_header())
    assert ask(processor, header).code == 0
    ancient = TopicConfigSerializeWrapper(
        data_version=DataVersion(counter=3), topic_config_table={"T": topic_config("T")}
    )
    assert ask(processor, header, encode_body(ancient), version=36).code == 0
    assert parts.routes.topics.topics() == ["T"]


def test_register_broker_refuses_a_single_topic_of_a_stranger(parts: Parts) -> None:
    processor = parts.processor(RegisterBroker)
    header = encode_header(register_header())
    body = encode_register(body_of("T"), False)
    assert refusal(processor, header, body) == (1, "register broker failed")


def test_register_broker_tells_ordered_topics(parts: Parts) -> None:
    processor = parts.processor(RegisterBroker)
    header = encode_header(register_header())
    parts.kv.put("ORDER_TOPIC_CONFIG", "T", "broker-a:4")
    body = encode_register(body_of("T", "U"), False)
    assert text(ask(processor, header, body)) == '{"table":{"T":"broker-a:4"}}'
    parts.change(return_order_topic_config_to_broker=False)
    assert text(ask(processor, header, body)) == ""


def test_register_broker_tells_a_slave_its_master(parts: Parts) -> None:
    processor = parts.processor(RegisterBroker)
    parts.register(topics("T", "U"))
    header = encode_header(register_header(broker_id=1, broker_addr="10.0.0.2:10911"))
    answer = ask(processor, header, encode_register(body_of("T", "U"), False))
    assert reply_fields(answer) == {"haServerAddr": "10.0.0.1:10912", "masterAddr": ADDRESS}


@pytest.mark.parametrize("name", ["brokerName", "brokerAddr", "clusterName"])
def test_register_broker_refuses_what_has_no_name(parts: Parts, name: str) -> None:
    fields = {key: value for key, value in BROKER.items() if key != name}
    with pytest.raises(CodecError, match=f"needs the field '{name}'"):
        ask(parts.processor(RegisterBroker), fields, encode_register(body_of("T"), False))
    assert parts.routes.groups() == {}


@pytest.mark.parametrize("body", [b"{", b"\x78\x9c\x00", b"[1]"])
def test_register_broker_refuses_an_unreadable_body(parts: Parts, body: bytes) -> None:
    processor = parts.processor(RegisterBroker)
    for compressed in (False, True):
        with pytest.raises(CodecError):
            ask(processor, encode_header(register_header(compressed=compressed)), body)


def test_unregister_broker(parts: Parts) -> None:
    parts.register(topics("T", "U"))
    assert ask(parts.processor(UnregisterBroker), BROKER).code == 0
    assert parts.routes.route("T") is None


def test_query_data_version_compares_and_is_a_sign_of_life(parts: Parts) -> None:
    processor = parts.processor(QueryDataVersion)
    version = b'{"counter":1,"stateVersion":0,"timestamp":0}'
    unknown = ask(processor, BROKER, version)
    assert (reply_fields(unknown), text(unknown)) == ({"changed": "true"}, "")
    parts.register(topics("T", "U"))
    parts.time.now += 100_000
    same = ask(processor, BROKER, version)
    assert (reply_fields(same), same.body) == ({"changed": "false"}, version)
    other = ask(processor, BROKER, version.replace(b"1", b"2"))
    assert reply_fields(other) == {"changed": "true"}
    parts.time.now += 100_000
    parts.routes.drop_silent()
    assert parts.routes.route("T") is not None


def test_broker_heartbeat_is_a_sign_of_life(parts: Parts) -> None:
    parts.register(topics("T", "U"))
    parts.time.now += 100_000
    assert ask(parts.processor(BrokerHeartbeat), BROKER).code == 0
    parts.time.now += 100_000
    parts.routes.drop_silent()
    assert parts.routes.route("T") is not None


def test_route_in_the_dialect_of_the_caller(parts: Parts) -> None:
    parts.register(topics("T", "U"))
    processor = route_processor(parts)
    bare = '"brokerAddrs":{0:"10.0.0.1:10911"}'
    quoted = '"brokerAddrs":{"0":"10.0.0.1:10911"}'
    assert bare in text(ask(processor, {"topic": "T"}, version=400))
    assert quoted in text(ask(processor, {"topic": "T"}, version=401))
    standard = {"topic": "T", "acceptStandardJsonOnly": "true"}
    assert quoted in text(ask(processor, standard, version=317))
    # Compact, without nulls: the Go client cuts it with plain text search.
    assert text(ask(processor, {"topic": "T"})) == (
        '{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.1:10911"},"brokerName":"broker-a",'
        '"cluster":"c","enableActingMaster":false}],"filterServerTable":{},"queueDatas":['
        '{"brokerName":"broker-a","perm":6,"readQueueNums":4,"topicSysFlag":0,'
        '"writeQueueNums":4}]}'
    )


def test_route_of_an_unknown_topic(parts: Parts) -> None:
    assert refusal(route_processor(parts), {"topic": "T"}) == (
        17,
        "No topic route info in name server for the topic: T\n"
        "See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.",
    )


def test_route_with_ordered_topic_configuration(tmp_path: Path) -> None:
    parts = Parts(tmp_path, order_message_enable=True)
    parts.register(topics("T", "U"))
    parts.kv.put("ORDER_TOPIC_CONFIG", "T", "broker-a:4")
    processor = route_processor(parts)
    assert json.loads(text(ask(processor, {"topic": "T"})))["orderTopicConf"] == "broker-a:4"
    assert "orderTopicConf" not in json.loads(text(ask(processor, {"topic": "U"})))


def test_route_is_refused_while_waiting_for_brokers(tmp_path: Path) -> None:
    parts = Parts(tmp_path, need_wait_for_service=True)
    processor = route_processor(parts)
    parts.register(topics("T", "U"))
    parts.time.now += 44_999
    assert refusal(processor, {"topic": "T"}) == (1, "name server not ready")
    parts.time.now += 1
    assert ask(processor, {"topic": "T"}).code == 0


def test_route_of_the_callers_zone(parts: Parts) -> None:
    parts.register(topics("T", "U"), zone="east", filter_servers=["f:1"])
    parts.register(topics("T", "U"), broker_name="b", broker_addr="10.0.0.2:1", zone="West")
    parts.register(topics("T", "U"), broker_name="s", broker_addr="10.0.0.3:1", broker_id=1)
    west = {"topic": "T", "__ZONE_MODE": "true", "__ZONE_NAME": "west"}
    answer = text(ask(route_processor(parts), west))
    assert '"brokerAddrs":{0:"10.0.0.2:1"}' in answer
    assert "broker-a" not in answer
    assert ADDRESS not in answer
    assert '"brokerName":"s"' in answer
    everywhere = text(ask(route_processor(parts), {**west, "__ZONE_MODE": "false"}))
    assert "broker-a" in everywhere


def test_cluster_info_has_bare_keys(parts: Parts) -> None:
    parts.register(topics("T", "U"))
    assert text(ask(parts.processor(GetBrokerClusterInfo))) == (
        '{"brokerAddrTable":{"broker-a":{"brokerAddrs":{0:"10.0.0.1:10911"},"brokerName":'
        '"broker-a","cluster":"c","enableActingMaster":false}},'
        '"clusterAddrTable":{"c":["broker-a"]}}'
    )


def test_member_group(parts: Parts) -> None:
    parts.register(topics("T", "U"))
    processor = parts.processor(GetBrokerMemberGroup)
    asked = {"clusterName": "c", "brokerName": "broker-a"}
    assert text(ask(processor, asked)) == (
        '{"brokerMemberGroup":{"brokerAddrs":{0:"10.0.0.1:10911"},"brokerName":"broker-a",'
        '"cluster":"c"}}'
    )
    assert '"brokerAddrs":{}' in text(ask(processor, {**asked, "brokerName": "x"}))
    assert ask(processor).remark == "not set any response code"


def test_write_permission(parts: Parts) -> None:
    parts.register(topics("T", "U"))
    asked = {"brokerName": "broker-a"}
    wiped = ask(parts.processor(WipeWritePermOfBroker), asked)
    assert reply_fields(wiped) == {"wipeTopicCount": "2"}
    added = ask(parts.processor(AddWritePermOfBroker), asked)
    assert reply_fields(added) == {"addTopicCount": "2"}


def test_topic_lists(parts: Parts) -> None:
    parts.register(
        [topic_config("P"), topic_config("U", flag=1), topic_config("S", flag=2),
         topic_config("B", flag=3)]
    )  # fmt: skip
    flags = parts.routes.topics, parts.config
    lists = {
        GetAllTopicListFromNameserver(*flags): ["P", "U", "S", "B"],
        GetUnitTopicList(*flags): ["U", "B"],
        GetHasUnitSubTopicList(*flags): ["S", "B"],
        GetHasUnitSubUnunitTopicList(*flags): ["S"],
    }
    for processor, expected in lists.items():
        assert json.loads(text(ask(processor))) == {"topicList": expected}
    by_cluster = parts.processor(GetTopicsByCluster)
    assert json.loads(text(ask(by_cluster, {"cluster": "x"}))) == {"topicList": []}
    in_c = json.loads(text(ask(by_cluster, {"cluster": "c"})))
    assert in_c == {"topicList": ["P", "U", "S", "B"]}
    system = json.loads(text(ask(parts.processor(GetSystemTopicListFromNs))))
    assert system == {"brokerAddr": ADDRESS, "topicList": ["c", "broker-a"]}
    parts.change(enable_topic_list=False, enable_all_topic_list=False)
    for processor in lists:
        assert refusal(processor) == (1, "disable")
    assert refusal(by_cluster, {"cluster": "c"}) == (1, "disable")


def test_system_topics_of_an_empty_name_server(parts: Parts) -> None:
    assert text(ask(parts.processor(GetSystemTopicListFromNs))) == '{"topicList":[]}'


def test_topic_registered_alone_and_deleted(parts: Parts) -> None:
    parts.register(topics("T", "U"))
    register = parts.processor(RegisterTopicInNamesrv)
    queues = [QueueData(broker_name="broker-a", perm=6, read_queue_nums=2, write_queue_nums=2)]
    body = encode_body(TopicRouteData(queue_datas=queues))
    assert ask(register, {"topic": "N"}, body).code == 0
    assert ask(register, {"topic": "M"}).code == 0
    assert parts.routes.topics.topics() == ["T", "U", "N"]
    delete = parts.processor(DeleteTopicInNamesrv)
    assert ask(delete, {"topic": "N"}).code == 0
    assert ask(delete, {"topic": "T", "clusterName": "c"}).code == 0
    assert parts.routes.topics.topics() == ["U"]


def test_key_values(parts: Parts) -> None:
    item = {"namespace": "n", "key": "k"}
    absent = (22, "No config item, Namespace: n Key: k")
    assert refusal(parts.processor(GetKvConfig), item) == absent
    assert refusal(parts.processor(GetKvlistByNamespace), item) == (
        22,
        "No config item, Namespace: n",
    )
    assert refusal(parts.processor(PutKvConfig), {"key": "k"}) == (1, "namespace or key is null")
    ask(parts.processor(PutKvConfig), {**item, "value": "v"})
    assert reply_fields(ask(parts.processor(GetKvConfig), item)) == {"value": "v"}
    assert text(ask(parts.processor(GetKvlistByNamespace), item)) == '{"table":{"k":"v"}}'
    ask(parts.processor(DeleteKvConfig), item)
    assert refusal(parts.processor(GetKvConfig), item) == absent
    assert text(ask(parts.processor(GetKvlistByNamespace), item)) == '{"table":{}}'


def test_requests_without_their_fields_get_the_real_answers(parts: Parts) -> None:
    parts.register(topics("T", "U"))
    assert refusal(route_processor(parts))[1].startswith(
        "No topic route info in name server for the topic: null\n"
    )
    assert refusal(parts.processor(GetKvConfig)) == (
        22,
        "No config item, Namespace: null Key: null",
    )
    assert refusal(parts.processor(GetKvlistByNamespace)) == (22, "No config item, Namespace: null")
    assert reply_fields(ask(parts.processor(WipeWritePermOfBroker)))["wipeTopicCount"] == "0"
    assert reply_fields(ask(parts.processor(AddWritePermOfBroker)))["addTopicCount"] == "0"
    assert text(ask(parts.processor(GetTopicsByCluster))) == '{"topicList":[]}'
    assert reply_fields(ask(parts.processor(QueryDataVersion), BROKER)) == {"changed": "true"}
    silent = [
        parts.processor(UnregisterBroker),
        parts.processor(DeleteTopicInNamesrv),
        parts.processor(RegisterTopicInNamesrv),
        parts.processor(DeleteKvConfig),
    ]
    for processor in silent:
        assert ask(processor, body=b"{}").code == 0
    assert parts.routes.topics.topics() == ["T", "U"]
