"""The scanner of FastJSON's dialect: equal to the old reader, linear and bounded on what is hostile."""

import json
import re
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codec import old_dialect_reader
from trimq.codec.bodies.base import decode_request
from trimq.codec.bodies.heartbeat import HeartbeatData
from trimq.codec.bodies.locks import LockBatchRequestBody, MessageQueue
from trimq.codec.errors import CodecError
from trimq.codec.frames.command import decode_command
from trimq.codec.java import fastjson
from trimq.codec.java.json_scan import DEPTH, LARGE, SMALL, DialectScanner, JsonLimits, nests_little

MIB = 1 << 20
SMALLEST_STEP = 3

BLANK = st.sampled_from(["", "", " ", "\n", "\t\r "])
TEXT = st.text(st.sampled_from('aé1{}[]:,"\\ \n\t'), max_size=6).map(json.dumps)
SCALAR = (
    TEXT | st.integers(-(2**60), 2**60).map(str) | st.sampled_from(["null", "true", "-0.5", "1e3"])
)


@st.composite
def flat_objects(draw: st.DrawFn) -> str:
    """What may be a key: an object of scalars."""
    keys = draw(st.lists(TEXT | st.integers(-9, 99).map(str), max_size=3, unique=True))
    return "{" + ",".join(f"{draw(BLANK)}{key}:{draw(SCALAR)}" for key in keys) + "}"


def objects(value: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    member = st.builds(
        lambda *parts: "".join(parts),
        BLANK,
        TEXT | st.integers(-(10**9), 10**9).map(str) | flat_objects(),
        BLANK,
        st.just(":"),
        BLANK,
        value,
        BLANK,
    )
    return st.lists(member, max_size=4).map(lambda members: "{" + ",".join(members) + "}")


def arrays(value: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(st.builds("{}{}{}".format, BLANK, value, BLANK), max_size=4).map(
        lambda items: "[" + ",".join(items) + "]"
    )


DIALECT = st.recursive(SCALAR, lambda inner: objects(inner) | arrays(inner), max_leaves=25)


@given(text=DIALECT)
def test_the_dialect_is_read_as_the_old_reader_did(text: str) -> None:
    assert fastjson.loads(text) == old_dialect_reader.loads(text)


@given(text=DIALECT)
def test_the_scanner_says_the_same_with_and_without_the_short_way(text: str) -> None:
    """Texts with few brackets go to msgspec first; the scanner must not change plain JSON."""
    strict = DialectScanner(text.encode()).strict()
    try:
        json.loads(text)
    except ValueError:
        assert json.loads(strict) is not Ellipsis
    else:
        assert strict == text.encode()


@given(text=st.text(st.sampled_from('{}[]:,"a1- \\\n'), max_size=40))
def test_what_the_old_reader_took_is_read_alike_and_nothing_breaks(text: str) -> None:
    """Keys in other places or nested ones are refused now; what both read is equal."""
    try:
        found = fastjson.loads(text)
    except CodecError:
        return
    assert found == old_dialect_reader.loads(text)


def test_recorded_bodies_and_files_are_read_as_the_old_reader_did(vectors: Path) -> None:
    texts = [path.read_bytes() for path in (vectors / "config").glob("*.json")]
    for frame in json.loads((vectors / "frames.json").read_text()):
        body = decode_command(bytes.fromhex(frame["hex"])[4:]).body
        if body[:1] in (b"{", b"["):
            texts.append(body)
    assert len(texts) > 50
    assert any(re.search(rb"[{,]\d+:", text) for text in texts)
    assert any(b"}:" in text for text in texts)
    for text in texts:
        assert fastjson.loads(text) == old_dialect_reader.loads(text)


def nested(depth: int, begin: str, end: str) -> str:
    return begin * depth + "1" + end * depth


@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ('{"a":', "}"), ("{1:", "}")])
def test_so_many_levels_and_no_more(begin: str, end: str) -> None:
    fastjson.loads(nested(DEPTH, begin, end))
    with pytest.raises(CodecError, match="deeper than 32"):
        fastjson.loads(nested(DEPTH + 1, begin, end))


def test_keys_that_are_objects_are_flat() -> None:
    assert fastjson.loads('{"t":{ { "a" : 1 , 2:"}" } : 5}}') == {"t": {'{"a":1,"2":"}"}': 5}}
    for text in ('{{{"a":1}:1}:1}', '{{"a":[1]}:1}', '{{"a":{"b":1}}:1}'):
        with pytest.raises(CodecError, match="not a flat object"):
            fastjson.loads(text)


HOSTILE = {
    "keys in keys": b"{" * 40 + b'"a":1}' + b":1}" * 39,
    "escaped quotes without an end": b'"' + b'\\"' * (MIB // 2),
    "a late quote": b"{{}:1" + b" " * (MIB - 6) + b'"',
    "only opening": b"[" * MIB,
    "only closing": b"[]" + b"]" * MIB,
    "empty arrays": b"[" + b"[]," * (MIB // 3),
    "arrays in arrays": b"[" + b"[[]]," * (MIB // 5),
    "object keys": b"{" + b"{}:1," * (MIB // 5),
    "bare keys": b'{"a":{"b":[],' + b"1:1," * (MIB // 4),
    "numbers without an end": b"{" + b"1:1," * (MIB // 4) + b"1:1",
    "numbers in numbers": b"{1:" * 30 + b"{" + b"1:1," * (MIB // 4),
    "objects begun late": (b'{"a":1' + b',"a":1' * 1000 + b',"b":') * 170,
    "blanks behind objects": b"[" + (b"{}" + b" " * 1000) * (MIB // 1002),
    "commas and blanks": b'{"a":[[]],' + (b",1" + b" " * 100) * (MIB // 102),
    "texts": b"[[]," + b'"",' * (MIB // 3),
    "digits": b"[[]," + b"1" * MIB,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_texts_are_refused_in_few_steps(text: bytes) -> None:
    """Steps of Python: what a step passes over, patterns that never look back do."""
    for limits in (SMALL, LARGE):
        with pytest.raises(CodecError):
            fastjson.loads(text[: limits.size], limits)
    scanner = DialectScanner(text)
    with suppress(CodecError):
        assert len(scanner.strict()) <= 2 * len(text) + 2
    assert scanner.steps <= len(text) // 2 + SMALLEST_STEP


def test_limits_bound_the_steps_of_a_clients_text() -> None:
    assert fastjson.loads(b"[" + b"[[]]," * 16_000 + b"[]]", SMALL)
    worst = b"[" + b"[[]]," * 17_000 + b"[]]"
    with pytest.raises(CodecError, match="too many brackets"):
        fastjson.loads(worst, SMALL)
    scanner = DialectScanner(worst, SMALL.steps)
    with pytest.raises(CodecError, match="too many brackets"):
        scanner.strict()
    assert scanner.steps == SMALL.steps + 1
    with pytest.raises(CodecError, match="values is beyond"):
        fastjson.loads(b"[" + b"1," * SMALL.values + b"1]", SMALL)


def test_a_client_may_say_as_much_as_its_settings_let_it() -> None:
    """1,000 groups with four subscriptions each; 16,384 queues to lock."""
    wanted = {"topic": "T", "codeSet": [1], "tagsSet": ["a"], "subString": "a", "subVersion": 1}
    group = {"groupName": "g", "consumeType": 1, "subscriptionDataSet": [wanted] * 4}
    body = json.dumps({"clientID": "c", "consumerDataSet": [group] * 1000}).encode()
    assert len(decode_request(HeartbeatData, body).consumer_data_set) == 1000
    queues = [MessageQueue(topic="T", broker_name="b", queue_id=n) for n in range(16_384)]
    body = fastjson.dumps({"mqSet": queues})
    assert len(decode_request(LockBatchRequestBody, body).mq_set) == 16_384


def depth_of(value: object) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, dict | list) + max(map(depth_of, inside), default=0)


@given(
    value=st.recursive(
        st.integers() | st.text(st.characters(exclude_characters="{}[]"), max_size=3),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.just("k"), inner),
        max_leaves=60,
    ),
    around=st.integers(0, DEPTH + 2),
)
def test_how_deep_brackets_nest_is_known_without_a_scan(value: object, around: int) -> None:
    for _ in range(around):
        value = [value]
    assert nests_little(json.dumps(value).encode()) == (depth_of(value) <= DEPTH)


class Holder(msgspec.Struct):
    """Whatever else a text has, msgspec passes over it."""

    topic: str = ""


@pytest.mark.parametrize("levels", [40, 500, 5_000, 100_000])
def test_a_text_whose_brackets_in_texts_hide_how_deep_it_is_does_no_harm(levels: int) -> None:
    hidden = b'["]",' * levels + b"1" + b',"["]' * levels
    assert nests_little(hidden)
    text = b'{"topic":"T","more":%b}' % hidden
    try:
        assert fastjson.loads_as(Holder, text) == Holder("T")
    except CodecError:
        assert levels > DEPTH
    with pytest.raises(CodecError):
        fastjson.loads(text)


@given(text=DIALECT)
def test_what_comes_out_is_at_most_twice_as_long(text: str) -> None:
    raw = text.encode()
    scanner = DialectScanner(raw)
    assert len(scanner.strict()) <= 2 * len(raw) + 2
    assert (
        scanner.steps
        <= raw.count(b"{")
        + raw.count(b"[")
        + raw.count(b"}")
        + raw.count(b"]")
        + 2 * raw.count(b":")
        + 2
    )


def test_a_text_that_is_too_long_is_not_scanned() -> None:
    with pytest.raises(CodecError, match="4 bytes is beyond the 3"):
        fastjson.loads(b"[1,2", JsonLimits(3, 100, 100))


def test_a_clients_body_has_a_limit_of_a_mebibyte() -> None:
    body = b'{"clientID":"' + b"x" * MIB + b'"}'
    with pytest.raises(CodecError, match="beyond the 1048576 allowed"):
        decode_request(HeartbeatData, body)


def test_tables_as_large_as_servers_have_are_read() -> None:
    """100,000 topics, and the offsets of as many queues."""
    topic = '"T%d":{"attributes":{},"order":false,"perm":6,"topicName":"T%d"}'
    text = '{"topicConfigTable":{' + ",".join(topic % (n, n) for n in range(100_000)) + "}}"
    assert len(fastjson.loads(text, LARGE)["topicConfigTable"]) == 100_000
    queues = {MessageQueue(topic="T", broker_name="b", queue_id=n): n for n in range(20_000)}
    found = fastjson.loads(fastjson.dumps({"offsetTable": queues}), LARGE)
    assert len(found["offsetTable"]) == 20_000
