"""What is stored of a send, and what its producer is told.

The expected codes and remarks were read off a RocketMQ 5.5.0 broker that got the same requests.
"""

import pytest

from trimq.codec.codes import ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.flags import Perm, SysFlag
from trimq.codec.java.hashes import string_hash
from trimq.codec.names import TIMER_TOPIC
from trimq.codec.records.message_id import parse_offset_message_id
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.recall_handle import RecallHandle, parse_recall_handle

BROKER_ADDS = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true", "CLUSTER": "DefaultCluster"}
ILLEGAL = (
    "the message is illegal, maybe msg body or properties length not matched. msg body length "
    "limit 4194304B, msg properties length limit 32KB."
)
NOT_SO_LATE = (
    "timer message illegal, the delay time should not be bigger than the max delay 259200000ms; or if"
    " set del msg, the delay time should be bigger than the current time"
)
SEE_FAQ = "\nSee https://rocketmq.apache.org/docs/faq/ for further details."


def stored(producing, topic="T", queue_id=0):
    return [
        (record, parse_properties(record.properties))
        for record in producing.broker.records(topic, queue_id)
    ]


def test_a_message_is_stored_as_sent_plus_what_the_broker_adds(producing, props):
    response = producing.send(
        i=props(KEYS="k", UNIQ_KEY="U1", WAIT="true", TAGS="A"), h=5, f=1, j=2
    )
    [(record, properties)] = stored(producing)
    assert response.message_id == "7F00000100002A9F0000000000000000"
    assert (response.queue_id, response.queue_offset, response.unique) == (0, 0, "U1")
    assert producing.broker.sending.told == {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}
    assert properties == {"KEYS": "k", "UNIQ_KEY": "U1", "WAIT": "true", "TAGS": "A", **BROKER_ADDS}
    assert (record.body, record.flag, record.sys_flag, record.reconsume_times) == (
        b"hello",
        5,
        1,
        2,
    )
    assert record.born_timestamp == 1600000000000
    assert record.born_host == producing.broker.peer.packed_host
    assert record.store_host == producing.broker.identity.packed_store_host


@pytest.mark.parametrize("extra", ["", "DELAY\x010\x02"])
def test_its_queue_entry_has_the_tags_hash(producing, props, extra):
    """Whether the properties are only searched or parsed."""
    producing.sent(i=props(TAGS="TagA") + extra)
    producing.sent(i=props(NOTAGS="TagA") + extra)
    store = producing.broker.store
    store.write_staged()
    codes = [store.queue_entry("T", 0, at).tags_code for at in (0, 1)]
    assert codes == [string_hash("TagA"), 0]


def test_nothing_is_visible_before_it_is_written(producing):
    producing.send()
    assert producing.broker.store.max_offset("T", 0) == 0
    producing.broker.store.write_staged()
    assert producing.broker.store.max_offset("T", 0) == 1


def test_offsets_and_ids_go_on(producing):
    first, second = producing.sent(), producing.sent()
    assert (first.queue_offset, second.queue_offset) == (0, 1)
    [one, two] = producing.broker.records("T")
    assert parse_offset_message_id(second.message_id)[1] == two.physical_offset == one.total_size


def test_a_missing_unique_key_is_made_up(producing):
    ids = [producing.sent().unique for _ in range(3)]
    assert len(set(ids)) == 3
    assert {len(unique) for unique in ids} == {32}
    assert [properties["UNIQ_KEY"] for _, properties in stored(producing)] == ids


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({"MSG_REGION": "Mars", "TRACE_ON": "false", "CLUSTER": "C"}, {}),
        ({"POP_CK": "1 2 3", "K": "v"}, {"K": "v"}),
        ({"_SYS_MSG_PRIORITY_": "x"}, {"_SYS_MSG_PRIORITY_": "x"}),
        ({"_SYS_MSG_PRIORITY_": "-3"}, {"_SYS_MSG_PRIORITY_": "-3"}),
        ({"_SYS_MSG_PRIORITY_": "2", "__SHARDINGKEY": "k"}, {"__SHARDINGKEY": "k"}),
        ({"__LITE_TOPIC": "lt"}, {"__LITE_TOPIC": "lt", "INNER_MULTI_DISPATCH": "%LMQ%$T$lt"}),
        ({"DELAY": "-1"}, {"DELAY": "-1"}),
        ({"DELAY": "0"}, {"DELAY": "0"}),
        ({"NOT_DELAYED": "5"}, {"NOT_DELAYED": "5"}),
        ({"EXTEND_UNIQ_KEY": "q"}, {"EXTEND_UNIQ_KEY": "q"}),
        ({"TRAN_MSG": "false"}, {"TRAN_MSG": "false"}),
        ({"WAIT": "false"}, {"WAIT": "false"}),
    ],
)
def test_property_rules(producing, props, sent, kept):
    response = producing.send(i=props(**sent))
    [(_, properties)] = stored(producing)
    unique = response.unique
    assert properties == {**kept, "UNIQ_KEY": unique, **BROKER_ADDS}


def test_a_block_without_its_last_separator(producing):
    producing.send(i="K\x01v")
    assert stored(producing)[0][1]["K"] == "v"


@pytest.mark.parametrize("rubbish", ["abc\x02", "K\x01\x02", "abc", "\x01v\x02", "\x02\x02"])
def test_rubbish_between_entries_is_not_stored(producing, rubbish):
    producing.send(i=f"{rubbish}\x02A\x01b\x02TAGS\x01T\x02")
    [(record, properties)] = stored(producing)
    assert {key: properties[key] for key in ("A", "TAGS")} == {"A": "b", "TAGS": "T"}
    assert all(entry.count(b"\x01") == 1 for entry in record.properties.split(b"\x02")[:-1])


def test_a_priority_chooses_the_queue(producing, props):
    response = producing.send(i=props(_SYS_MSG_PRIORITY_="2"))
    assert response.queue_id == 2
    assert stored(producing, queue_id=2)[0][1]["_SYS_MSG_PRIORITY_"] == "2"
    assert producing.sent(i=props(_SYS_MSG_PRIORITY_="99")).queue_id == 3


def test_the_broker_chooses_a_queue_when_asked(producing):
    chosen = {producing.sent(e=-1).queue_id for _ in range(60)}
    assert chosen == {0, 1, 2, 3}


def test_topics_are_made_after_their_template(producing):
    producing.send("New", d=3)
    producing.send("Wide", d=30)
    made = producing.broker.topics.get("New")
    assert (made.read_queue_nums, made.write_queue_nums, made.perm) == (3, 3, 6)
    assert producing.broker.topics.get("Wide").write_queue_nums == 8
    assert producing.sent("Unit", k="true")
    assert producing.broker.topics.get("Unit").topic_sys_flag == 1


def test_multi_tag_topics_mark_their_messages(producing):
    producing.send()
    producing.broker.topics.get("T").topic_filter_type = "MULTI_TAG"
    producing.send()
    flags = [record.sys_flag for record, _ in stored(producing)]
    assert flags == [0, SysFlag.MULTI_TAGS]


def test_an_ipv6_producer_is_marked_as_one(producing):
    producing.broker.peer.packed_host = bytes(19) + b"\x01"
    producing.send()
    [(record, _)] = stored(producing)
    assert record.sys_flag == SysFlag.BORN_HOST_V6
    assert record.born_host == producing.broker.peer.packed_host


REFUSALS = [
    ({"topic": " "}, 29, "The specified topic is blank."),
    (
        {"topic": "a b"},
        29,
        "The specified topic: a b, contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$",
    ),
    (
        {"topic": "t" * 128},
        29,
        f"The specified topic: {'t' * 128}, is longer than topic max length: 127",
    ),
    (
        {"topic": "SCHEDULE_TOPIC_XXXX"},
        16,
        "Sending message to topic[SCHEDULE_TOPIC_XXXX] is forbidden.",
    ),
    (
        {"topic": "NOPE", "c": "UNKNOWN"},
        17,
        "topic[NOPE] not exist, apply first please!" + SEE_FAQ,
    ),
    (
        {"e": 9},
        29,
        "request queueId[9] is illegal, TopicConfig [topicName=T, readQueueNums=4, "
        "writeQueueNums=4, perm=RW-, topicFilterType=SINGLE_TAG, topicSysFlag=0, order=false, "
        "attributes={}] Producer: 10.0.0.7:4711",
    ),
    ({"i": "a\x01" + "x" * 32760 + "\x02"}, 13, ILLEGAL),
    ({"body": b"x" * (4194304 + 1)}, 13, ILLEGAL),
    ({"i": "INNER_NUM\x015\x02"}, 13, ILLEGAL),
    ({"f": 0x80}, 13, ILLEGAL),
    ({"i": "TIMER_DELAY_SEC\x01259201\x02"}, 13, NOT_SO_LATE),
    ({"i": "TIMER_DELIVER_MS\x01soon\x02"}, 13, NOT_SO_LATE),
    ({"topic": "%DLQ%" + "g" * 130}, 13, ILLEGAL),
]


@pytest.mark.parametrize(("fields", "code", "remark"), REFUSALS)
def test_refusals(producing, fields, code, remark):
    response = producing.refused(**fields)
    assert (response.code, response.remark) == (code, remark)
    assert not response.bare
    producing.broker.store.write_staged()
    assert producing.broker.store.max_physical_offset == 0


def test_the_longest_body_passes(producing):
    assert producing.sent(body=b"x" * 4194304)


def test_what_the_real_broker_fails_on_is_a_system_error(producing):
    refused = producing.refused(body=b"")
    assert (refused.code, refused.bare) == (ResponseCode.SYSTEM_ERROR, True)
    with pytest.raises(CodecError, match="DELAY"):
        producing.send(i="DELAY\x01abc\x02")


def test_a_closed_store_is_refused_as_not_open(producing):
    producing.send()
    producing.broker.store.close()
    response = producing.send()
    assert response.code == ResponseCode.SERVICE_NOT_AVAILABLE
    assert response.remark.startswith("service not available now. It may be caused by one of")
    assert "CL: " in response.remark


def test_a_broker_without_write_permission_refuses_ordered_topics_only(make_producing):
    producing = make_producing(broker_permission=Perm.READ)
    assert producing.sent()
    producing.broker.topics.get("T").order = True
    response = producing.send()
    assert response.code == ResponseCode.NO_PERMISSION
    assert response.remark == "the broker[127.0.0.1] sending message is forbidden"


def test_a_broker_that_accepts_later(make_producing):
    producing = make_producing(start_accept_send_request_time_stamp=1_700_000_000_001)
    response = producing.send()
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert response.remark.startswith("broker unable to service, until 2023-11-1")
    producing.broker.clock.now += 1
    assert producing.sent()


def test_compaction_topics_need_a_key(producing, props):
    producing.send()
    producing.broker.topics.get("T").attributes = {"cleanup.policy": "COMPACTION"}
    response = producing.send()
    assert (response.code, response.remark) == (13, "Required message key is missing")
    assert producing.sent(i=props(KEYS="k"))


def test_sync_flush_holds_the_reply_until_the_record_is_safe(make_producing, props):
    producing = make_producing(flush_disk_type="SYNC_FLUSH")
    first = producing.sent(i=props(UNIQ_KEY="U"))
    assert first.durable_at == producing.broker.records("T")[0].total_size
    assert producing.send(i=props(WAIT="false")).durable_at == -1
    assert producing.send(i=props(WAIT="true")).durable_at > 0
    assert producing.send(i=props(WAIT="nonsense", DELAY="0")).durable_at == -1


def test_delayed_messages_wait_in_their_level(producing, props):
    response = producing.send(e=1, i=props(DELAY="2", TIMER_DELAY_SEC="5", K="v"))
    assert response.queue_id == 1
    [(record, properties)] = stored(producing, "SCHEDULE_TOPIC_XXXX", 1)
    assert record.topic == "SCHEDULE_TOPIC_XXXX"
    assert properties == {
        "DELAY": "2",
        "K": "v",
        "REAL_TOPIC": "T",
        "REAL_QID": "1",
        "UNIQ_KEY": response.unique,
        **BROKER_ADDS,
    }
    producing.send(i=props(DELAY="99"))
    assert stored(producing, "SCHEDULE_TOPIC_XXXX", 17)[0][1]["DELAY"] == "18"


def test_retries_of_old_clients_pass_with_their_transaction_mark(producing, props):
    assert producing.sent(j=2, i=props(TRAN_MSG="true", DELAY="3"))
    assert stored(producing, "SCHEDULE_TOPIC_XXXX", 2)


def test_retry_topics_lead_to_the_dead_letters_in_the_end(producing):
    assert producing.sent("%RETRY%CG", j=16)
    assert producing.sent("%RETRY%CG", j=17)
    assert producing.sent("%RETRY%CG", j=3, l=2)
    assert producing.sent("%RETRY%CG", j=3, l=2, version=100)
    assert [record.reconsume_times for record, _ in stored(producing, "%RETRY%CG")] == [16, 3]
    dead = stored(producing, "%DLQ%CG")
    assert [(record.reconsume_times, properties["DELAY"]) for record, properties in dead] == [
        (17, "-1"),
        (3, "-1"),
    ]
    made = producing.broker.topics.get("%DLQ%CG")
    assert (made.write_queue_nums, made.perm) == (1, 6)


def test_a_group_that_holds_locks_gives_up_at_once(producing):
    from trimq.codec.bodies.locks import MessageQueue

    queue = MessageQueue(topic="T", broker_name="broker-a", queue_id=0)
    producing.broker.locks.lock("CG", {queue}, "client")
    producing.send("%RETRY%CG", j=0)
    assert len(stored(producing, "%DLQ%CG")) == 1


def test_a_retry_needs_a_group(make_producing):
    producing = make_producing(auto_create_subscription_group=False)
    response = producing.send("%RETRY%CG")
    assert response.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert response.remark == "subscription group not exist, CG " + SEE_FAQ


def test_a_wheel_that_is_switched_off_is_named_once_a_minute(make_producing, caplog):
    producing = make_producing(timer_wheel_enable=False)
    for _ in range(3):
        assert producing.send(i="TIMER_DELAY_SEC\x015\x02").code == 1
    (line,) = [one.getMessage() for one in caplog.records if "send refused" in one.getMessage()]
    assert "topic=T reason=WHEEL_TIMER_NOT_ENABLE: a timer message times=1" in line


BY_HAND = "TIMER_OUT_MS\x015000\x02REAL_TOPIC\x01{topic}\x02DELAY\x010\x02UNIQ_KEY\x01U1\x02"


def test_a_message_that_waits_has_a_recall_handle(producing):
    sent = producing.sent(e=2, i="TIMER_DELAY_SEC\x015\x02UNIQ_KEY\x01U1\x02")
    # Its producer is told the queue that it chose.
    assert (sent.queue_id, sent.queue_offset) == (2, 0)
    (record,) = producing.broker.records(TIMER_TOPIC)
    out_ms = int(parse_properties(record.properties)["TIMER_OUT_MS"])
    handle = RecallHandle("T", "broker-a", str(out_ms + 1), "U1")
    assert parse_recall_handle(sent.recall_handle) == handle
    # One that is due already has none.
    assert producing.sent(i="TIMER_DELAY_SEC\x010\x02").recall_handle is None
    assert producing.sent(i="DELAY\x011\x02TIMER_DELAY_SEC\x015\x02").recall_handle is None


def test_whatever_was_on_a_wheel_has_a_recall_handle(producing):
    """Also a message that its producer gave the properties of one."""
    sent = producing.sent(i=BY_HAND.format(topic="R"))
    assert parse_recall_handle(sent.recall_handle) == RecallHandle("R", "broker-a", "5001", "U1")
    assert producing.sent(i=BY_HAND.format(topic="%RETRY%G")).recall_handle is None
    for missing in ("TIMER_OUT_MS", "REAL_TOPIC"):
        text = BY_HAND.format(topic="R").replace(missing, "k")
        assert producing.sent(i=text).recall_handle is None
