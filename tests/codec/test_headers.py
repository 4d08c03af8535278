import importlib
import pkgutil

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trimq.codec.headers
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.frames.command import decode_command
from trimq.codec.headers import clients, groups, messages, namesrv, offsets, pop, pull, send, topics
from trimq.codec.headers import transactions as tx
from trimq.codec.headers.base import Header, Integer, Long, decode_header, encode_header
from trimq.codec.headers.fast import (
    decode_end,
    decode_pull,
    decode_send,
    decode_send_v2,
    encode_pull_response,
    encode_send_response,
)
from trimq.codec.headers.fast_pop import decode_ack, decode_pop, encode_pop_response

ALL = sorted(
    (
        found
        for module in pkgutil.iter_modules(trimq.codec.headers.__path__)
        for found in vars(importlib.import_module(f"trimq.codec.headers.{module.name}")).values()
        if isinstance(found, type) and issubclass(found, Header) and found is not Header
    ),
    key=lambda cls: cls.__name__,
)
REQUESTS = {
    RequestCode.SEND_MESSAGE: send.SendMessageRequestHeader,
    RequestCode.PULL_MESSAGE: pull.PullMessageRequestHeader,
    RequestCode.LITE_PULL_MESSAGE: pull.PullMessageRequestHeader,
    RequestCode.QUERY_MESSAGE: messages.QueryMessageRequestHeader,
    RequestCode.QUERY_CONSUMER_OFFSET: offsets.QueryConsumerOffsetRequestHeader,
    RequestCode.UPDATE_CONSUMER_OFFSET: offsets.UpdateConsumerOffsetRequestHeader,
    RequestCode.UPDATE_AND_CREATE_TOPIC: topics.CreateTopicRequestHeader,
    RequestCode.GET_ALL_TOPIC_CONFIG: topics.GetAllTopicConfigRequestHeader,
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: offsets.SearchOffsetRequestHeader,
    RequestCode.GET_MAX_OFFSET: offsets.GetMaxOffsetRequestHeader,
    RequestCode.GET_MIN_OFFSET: offsets.GetMinOffsetRequestHeader,
    RequestCode.GET_EARLIEST_MSG_STORETIME: offsets.GetEarliestMsgStoretimeRequestHeader,
    RequestCode.VIEW_MESSAGE_BY_ID: messages.ViewMessageRequestHeader,
    RequestCode.HEART_BEAT: clients.HeartbeatRequestHeader,
    RequestCode.UNREGISTER_CLIENT: clients.UnregisterClientRequestHeader,
    RequestCode.CONSUMER_SEND_MSG_BACK: send.ConsumerSendMsgBackRequestHeader,
    RequestCode.END_TRANSACTION: tx.EndTransactionRequestHeader,
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: clients.GetConsumerListByGroupRequestHeader,
    RequestCode.NOTIFY_CONSUMER_IDS_CHANGED: clients.NotifyConsumerIdsChangedRequestHeader,
    RequestCode.PUT_KV_CONFIG: namesrv.PutKVConfigRequestHeader,
    RequestCode.GET_KV_CONFIG: namesrv.GetKVConfigRequestHeader,
    RequestCode.DELETE_KV_CONFIG: namesrv.DeleteKVConfigRequestHeader,
    RequestCode.REGISTER_BROKER: namesrv.RegisterBrokerRequestHeader,
    RequestCode.UNREGISTER_BROKER: namesrv.UnRegisterBrokerRequestHeader,
    RequestCode.GET_ROUTEINFO_BY_TOPIC: namesrv.GetRouteInfoRequestHeader,
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: groups.GetAllSubscriptionGroupRequestHeader,
    RequestCode.GET_TOPIC_STATS_INFO: topics.GetTopicStatsInfoRequestHeader,
    RequestCode.WIPE_WRITE_PERM_OF_BROKER: namesrv.WipeWritePermOfBrokerRequestHeader,
    RequestCode.ADD_WRITE_PERM_OF_BROKER: namesrv.AddWritePermOfBrokerRequestHeader,
    RequestCode.GET_CONSUME_STATS: groups.GetConsumeStatsRequestHeader,
    RequestCode.DELETE_TOPIC_IN_BROKER: topics.DeleteTopicRequestHeader,
    RequestCode.DELETE_TOPIC_IN_NAMESRV: namesrv.DeleteTopicFromNamesrvRequestHeader,
    RequestCode.GET_KVLIST_BY_NAMESPACE: namesrv.GetKVListByNamespaceRequestHeader,
    RequestCode.GET_TOPICS_BY_CLUSTER: topics.GetTopicsByClusterRequestHeader,
    RequestCode.SEND_MESSAGE_V2: send.SendMessageRequestHeaderV2,
    RequestCode.SEND_BATCH_MESSAGE: send.SendMessageRequestHeaderV2,
    RequestCode.GET_TOPIC_CONFIG: topics.GetTopicConfigRequestHeader,
    RequestCode.POP_MESSAGE: pop.PopMessageRequestHeader,
}
# Ext fields that hooks and tools add beside the header.
BESIDE_HEADERS = {"ReqT", "_UNIQUE_KEY_QUERY"}
WITHOUT_HEADER = {
    RequestCode.GET_BROKER_CLUSTER_INFO,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
    RequestCode.LOCK_BATCH_MQ,
    RequestCode.UNLOCK_BATCH_MQ,
}


def test_golden_requests_hold_their_headers_fields_and_no_others(golden_frame):
    command = decode_command(golden_frame[4:])
    if command.is_response or command.code in WITHOUT_HEADER:
        return
    if command.code == RequestCode.POP_MESSAGE & 0xFFFF and command.coding == 1:
        return  # a code of more than 16 bits, cut off by the binary coding
    sent = {key: text for key, text in command.ext_fields.items() if key not in BESIDE_HEADERS}
    encoded = encode_header(decode_header(REQUESTS[command.code], command.ext_fields))
    assert {key: encoded.get(key) for key in sent} == sent
    # What we would add are Java's own defaults of fields the client left out.
    assert set(encoded.values()) - set(sent.values()) <= {"0", "false", "true", "-1"}


def wire_text(field: msgspec.structs.FieldInfo) -> st.SearchStrategy[str]:
    """Good and bad text for a field of that type."""
    annotation = str(field.type)
    good = st.text(max_size=5)
    if "Integer" in annotation:
        good = st.integers(-(2**31), 2**31 - 1).map(str)
    elif "Long" in annotation:
        good = st.integers(-(2**63), 2**63 - 1).map(str)
    elif "bool" in annotation:
        good = st.sampled_from(["true", "false", "TRUE", "", "1"])
    return st.one_of(good, good, good, st.sampled_from(["x", "", "9" * 30, "+1", "-", "1_0", " 1"]))


def ext_fields(cls: type[Header]) -> st.SearchStrategy[dict[str, str]]:
    fields = msgspec.structs.fields(cls)
    return st.fixed_dictionaries(
        {}, optional={field.encode_name: wire_text(field) for field in fields}
    ) | st.fixed_dictionaries({field.encode_name: wire_text(field) for field in fields})


def outcome(decode, *arguments):
    try:
        return decode(*arguments)
    except CodecError as error:
        return str(error)


# What the twins leave out: a broker does not look at it.
NOT_IN_TWINS = {"ns", "nsd", "bname", "oway", "lo", "broker_name"}
NOT_IN_END = {"topic", "msg_id", "transaction_id"}


def same(twin, struct) -> bool:
    if isinstance(twin, str) or isinstance(struct, str):
        return twin == struct
    names = set(struct.__struct_fields__) - NOT_IN_TWINS
    if isinstance(struct, tx.EndTransactionRequestHeader):
        names -= NOT_IN_END
    return all(getattr(twin, name) == getattr(struct, name) for name in names)


@pytest.mark.parametrize(
    ("twin", "cls"),
    [
        (decode_send, send.SendMessageRequestHeader),
        (decode_send_v2, send.SendMessageRequestHeaderV2),
        (decode_pull, pull.PullMessageRequestHeader),
        (decode_end, tx.EndTransactionRequestHeader),
        (decode_pop, pop.PopMessageRequestHeader),
        (decode_ack, pop.AckMessageRequestHeader),
    ],
    ids=["send", "send_v2", "pull", "end", "pop", "ack"],
)
@given(data=st.data())
def test_twins_equal_their_structs_errors_included(twin, cls, data):
    fields = data.draw(ext_fields(cls))
    assert same(outcome(twin, fields), outcome(decode_header, cls, fields))


INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
MAYBE_TEXT = st.none() | st.text(max_size=4)


@given(
    msg_id=st.text(max_size=4),
    queue_id=INT32,
    queue_offset=INT64,
    transaction_id=MAYBE_TEXT,
    batch_uniq_id=MAYBE_TEXT,
    recall_handle=MAYBE_TEXT,
)
def test_the_send_response_twin(**values):
    expected = encode_header(send.SendMessageResponseHeader(**values))
    assert list(encode_send_response(**values).items()) == list(expected.items())


@given(
    suggest_which_broker_id=INT64,
    next_begin_offset=INT64,
    min_offset=INT64,
    max_offset=INT64,
    offset_delta=st.none() | INT64,
    topic_sys_flag=st.none() | INT32,
    group_sys_flag=st.none() | INT32,
    forbidden_type=st.none() | INT32,
)
def test_the_pull_response_twin(**values):
    expected = encode_header(pull.PullMessageResponseHeader(**values))
    assert list(encode_pull_response(**values).items()) == list(expected.items())


@given(
    pop_time=INT64,
    invisible_time=INT64,
    revive_qid=INT32,
    rest_num=INT64,
    start_offset_info=MAYBE_TEXT,
    msg_offset_info=MAYBE_TEXT,
    order_count_info=MAYBE_TEXT,
)
def test_the_pop_response_twin(**values):
    expected = encode_header(pop.PopMessageResponseHeader(**values))
    assert list(encode_pop_response(**values).items()) == list(expected.items())


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
@settings(max_examples=8)
@given(data=st.data())
def test_every_header_reads_what_it_writes(cls, data):
    header = outcome(decode_header, cls, data.draw(ext_fields(cls)))
    if not isinstance(header, str):
        assert decode_header(cls, encode_header(header)) == header


class Sample(Header, kw_only=True):
    needed: str
    number: Integer
    long_number: Long = 5
    truth: bool | None = None


class StrictSample(Sample, kw_only=True):
    strict = True


def test_a_missing_field_is_named():
    with pytest.raises(CodecError, match="Sample needs the field 'number'"):
        decode_header(Sample, {"needed": "x"})


def test_an_unreadable_number_is_named():
    with pytest.raises(CodecError, match="Sample: 'number' is not of type Integer: '2147483648'"):
        decode_header(Sample, {"needed": "x", "number": "2147483648"})


def test_an_unreadable_optional_number_counts_as_absent_unless_java_is_strict():
    fields = {"needed": "x", "number": "+7", "longNumber": "x"}
    assert decode_header(Sample, fields) == Sample(needed="x", number=7, long_number=5)
    with pytest.raises(CodecError, match="StrictSample: 'longNumber' is not of type Long"):
        decode_header(StrictSample, fields)


@pytest.mark.parametrize(("text", "expected"), [("TRUE", True), ("1", False), ("yes", False)])
def test_a_boolean_is_true_only_when_it_says_so(text, expected):
    header = decode_header(Sample, {"needed": "x", "number": "1", "truth": text})
    assert header.truth is expected


def test_absent_values_are_not_written():
    assert encode_header(Sample(needed="x", number=1)) == {
        "needed": "x",
        "number": "1",
        "longNumber": "5",
    }


def test_codes_have_the_protocols_numbers():
    assert RequestCode.SEND_MESSAGE_V2 == 310
    assert RequestCode(200050).name == "POP_MESSAGE"
    assert ResponseCode(21).name == "PULL_OFFSET_MOVED"
