import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.errors import CodecError
from trimq.codec.java import fastjson

KEY = st.text(st.sampled_from('a1{}[]:,"\\ \n'), max_size=6) | st.integers(-5, 2**40)
TREE = st.recursive(
    st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEY, inner, max_size=4),
    max_leaves=12,
)


def with_text_keys(value):
    if isinstance(value, dict):
        return {str(key): with_text_keys(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_text_keys(item) for item in value]
    return value


def distinct_keys(value) -> bool:
    if isinstance(value, dict):
        return len({str(key) for key in value}) == len(value) and all(
            map(distinct_keys, value.values())
        )
    return not isinstance(value, list) or all(map(distinct_keys, value))


@given(value=TREE.filter(distinct_keys), pretty=st.booleans())
def test_what_is_written_is_read_with_text_keys(value, pretty):
    assert fastjson.loads(fastjson.dumps(value, pretty_tabs=pretty)) == with_text_keys(value)


@given(value=TREE.filter(distinct_keys), pretty=st.booleans())
def test_with_quoted_keys_it_is_plain_json(value, pretty):
    text = fastjson.dumps(value, int_keys_quoted=True, pretty_tabs=pretty)
    assert json.loads(text) == with_text_keys(value)


QUEUES = st.builds(
    MessageQueue,
    topic=st.text(st.sampled_from('T%{}:,"'), max_size=5),
    broker_name=st.just("b"),
    queue_id=st.integers(-1, 9),
)


@given(table=st.dictionaries(QUEUES, TREE.filter(distinct_keys), max_size=4))
def test_object_keys_come_back_as_their_text(table):
    found = fastjson.loads(fastjson.dumps({"offsetTable": table, "n": {1: 2}}))
    assert found["n"] == {"1": 2}
    expected = {fastjson.dumps(queue).decode(): with_text_keys(v) for queue, v in table.items()}
    assert found["offsetTable"] == expected


def test_a_golden_table_of_offsets():
    text = (
        b'{"consumeTps":0.0,"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:'
        b'{"brokerOffset":4,"pullOffset":4}}}'
    )
    (key,) = fastjson.loads(text)["offsetTable"]
    assert json.loads(key) == {"brokerName": "b", "queueId": 0, "topic": "T"}


def test_nulls_are_left_out_of_objects():
    assert fastjson.dumps({"a": None, "b": [None]}) == b'{"b":[null]}'


def test_pretty_text_is_indented_by_tabs():
    text = fastjson.dumps({"a": {0: 1}, "b": [], "c": {}, "d": [1, 2]}, pretty_tabs=True)
    assert text == (
        b'{\n\t"a":{\n\t\t0:1\n\t},\n\t"b":[],\n\t"c":{},\n\t"d":[\n\t\t1,\n\t\t2\n\t]\n}'
    )


def test_sorted_keys():
    assert fastjson.dumps({"b": 1, "a": {2: 0, 1: 0}}, sort_keys=True) == (b'{"a":{1:0,2:0},"b":1}')


@pytest.mark.parametrize(
    "text", [b"", b"{", b'{"a"}', b"{1}", b"{{}:}", b"\xff", b'{"a":"\xff"}', b"}:", b"[" * 5000]
)
def test_what_is_not_json_is_refused(text):
    with pytest.raises(CodecError, match="JSON"):
        fastjson.loads(text)


@given(text=st.text(st.sampled_from('{}[]:,"a1 \\'), max_size=25))
def test_random_text_gives_a_value_or_one_typed_error(text):
    try:
        value = fastjson.loads(text)
    except CodecError:
        return
    assert fastjson.loads(fastjson.dumps(value)) == value
