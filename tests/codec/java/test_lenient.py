"""JSON that only fastjson2 takes for JSON: compat_tests/wire/cases/unlike_json.py has the same forms from 5.5.1."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.bodies.heartbeat import HeartbeatData
from trimq.codec.errors import CodecError
from trimq.codec.java.fastjson import loads, loads_as
from trimq.codec.java.json_scan import SMALL, BeyondLimits
from trimq.codec.java.lenient import LenientReader
from trimq.codec.java.lenient_texts import text_of

TEXTS: dict[bytes, str] = {
    rb"a\ud83db": "a?b",
    rb"a\udc00b": "a?b",
    rb"a\ud83d\ude00b": "a😀b",
    rb"\ude00\ud83d": "??",
    rb"\\ud83d": "\\ud83d",
    b"a\tb\0c\x01": "a\tb\0c\x01",
    b"\xed\xa0\xbd\xed\xb8\x80": "😀",
    b"a\xed\xa0\xbdb": "a?b",
    b"\\n\xed\xa0\xbd\xed\xb8\x80": "\n😀",
    b"\\n\xed\xa0\xbd": "\n?",
    b"\\n\xc0\x80": "\n\0",
    b"\xc0\x80": "\0",
    b"\xe0\x80\xaf": "/",
    b"\xe9bcd": "\u98a3d",
    b"a\xdfbcd": "a\u07e2cd",
    b"\\n\xe9bcd": "\n\u98a3d",
    b"\\n\xf0\x9f\x98\x80": "\n😀",
    b"\\n\xe4\xb8\xad\xc3\xa9": "\n中é",
    rb"\x41\v\0\7\F\'\~\ ": "A\v\0\7\f'~ ",
    rb"\u00zz": "3",
    rb"\u004A\u004a": "JJ",
}


@pytest.mark.parametrize(("inside", "text"), TEXTS.items())
def test_texts(inside: bytes, text: str) -> None:
    assert text_of(inside) == text
    assert loads(b'{"k":"' + inside + b'"}', SMALL) == {"k": text}


@pytest.mark.parametrize(
    ("form", "value"),
    [
        (b"'it\\'s'", "it's"),
        (b"""'say "x"'""", 'say "x"'),
        (b"+1", 1),
        (b"007", 7),
        (b"-0", 0),
        (b"5.", 5),
        (b"12L", 12),
        (b"3F", 3.0),
        (b"+1.5e2", 150.0),
        (b"[1,2,]", [1, 2]),
        (b'["a" "b"]', ["a", "b"]),
        (b'{"a":1,}', {"a": 1}),
        (b'{"a":1 "b":2}', {"a": 1, "b": 2}),
        (b'{"a":1},', {"a": 1}),
        (b'Set["a"]', ["a"]),
        (b'{"s":Set[]}', {"s": []}),
        (b'/* a */{"a":/* b **/1,// c\n"b":\x0c2}\0', {"a": 1, "b": 2}),
        (b"{'a':{0:+1,1:2,},}", {"a": {"0": 1, "1": 2}}),
        (b"{{'b':'x',}:+1}", {'{"b":"x"}': 1}),
        (b"\0[true,false,null,]", [True, False, None]),
    ],
)
def test_forms(form: bytes, value: object) -> None:
    assert loads(form, SMALL) == value


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (b'{"a":"\xb6\xa9"}', "the text that begins at byte 5 is no text in UTF-8: byte 6 is b6"),
        (b'{"a":"x\\qy"}', r"byte 7 begins the escape \\q"),
        (b'{"a":"\\xg0"}', r"byte 6 begins the escape \\x without"),
        (b'{"a":"\\n\xf4\x90\x80\x80"}', "the bytes from 8 on are no text"),
        (b'{"a":"\xe9"}', "the text that begins at byte 5 is without an end"),
        (b'{"a":NaN}', "here is no value, at byte 5"),
        (b'{"a":1,,"b":2}', "a key is neither a text nor a number, at byte 7"),
        (b'{"a" 1,}', "a key has no colon behind it, at byte 5"),
        (b"{a:1}", "a key is neither"),
        (b"{'a':1}x", "something follows the value, at byte 7"),
        (b"{'a':1", "a key is neither"),
        (b"'", "without an end"),
        (b"", "the text ends where a value belongs, at byte 0"),
        (b"[" * 33 + b"'" + b"]" * 33, "nests deeper than 32"),
    ],
)
def test_a_refusal_says_what_is_wrong_where(form: bytes, said: str) -> None:
    with pytest.raises(CodecError, match=said):
        loads(form, SMALL)


def test_a_heartbeat_of_a_client_that_cuts_characters_in_two() -> None:
    body = (
        rb'{"clientID":"c\ud83d","consumerDataSet":Set[{"groupName":"g","consumeType":1,'
        rb'"subscriptionDataSet":[{"topic":"t","subString":"*","subVersion":+1}],}],}'
    )
    found = loads_as(HeartbeatData, body, SMALL)
    assert found.client_id == "c?"
    assert found.consumer_data_set[0].consume_type == "CONSUME_PASSIVELY"


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    ),
    indent=st.sampled_from((None, 1)),
    plain=st.booleans(),
)
def test_json_is_read_as_json(value: object, indent: int | None, plain: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=plain).encode("utf-8", "replace")
    assert json.loads(LenientReader(text).strict()) == json.loads(text)


@given(data=st.binary(max_size=80), at=st.integers(0, 60))
def test_no_bytes_are_too_strange(data: bytes, at: int) -> None:
    good = rb'{"code":38,"extFields":{"a":"b\u0001\ud83d","c":[1,+2,"\x41"]},"x":{{"a":1}:2}}'
    try:
        strict = LenientReader(good[:at] + data + good[at:]).strict()
    except CodecError:
        return
    strict.decode()


@pytest.mark.parametrize(
    "piece",
    [
        b"'',",
        b"[],",
        b'"\\x41",',
        b"/**/1 ",
        b"+1,",
        b"{1:1,},",
        b'"' + b"\\v" * 100 + b'",',
        b'"\\n' + b"\xe9aa" * 99 + b'",',
    ],
)
def test_most_steps(piece: bytes) -> None:
    text = (
        b"[" + piece * (SMALL.values // 2 // max(1, piece.count(b",") + piece.count(b"["))) + b"]"
    )
    with pytest.raises(BeyondLimits, match="to be read"):
        LenientReader(text[: 1 << 20], SMALL.steps // 8).strict()


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 200_000,
        b"{" * 200_000,
        b"/*" * 300_000,
        b"//" * 300_000,
        b"'" + b"\\" * 500_001,
        b'"' + b"\xe9" * 500_000,
        b"\0" * 500_000,
        b'{"a":' + b"1" * 500_000,
        b"[" + b"1," * 300_000,
        b"Set" * 200_000,
        b'"' + b"a" * 500_000,
        (b'{"a":"b" ' * 60_000),
    ],
)
def test_no_text_is_looked_at_again_and_again(text: bytes) -> None:
    """Patterns that look back would take minutes for each of these."""
    reader = LenientReader(text, SMALL.steps // 8)
    with pytest.raises(CodecError):
        reader.strict()
    assert reader.steps <= SMALL.steps // 8 + len(text) // 4 + 1
