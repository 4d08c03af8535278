"""The JSON header of a frame, in C as msgspec reads it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trimq.codec.errors import CodecError
from trimq.codec.frames import heads, json_head
from trimq.codec.frames.heads import plain_head, plain_reply
from trimq.codec.frames.json_head import HeadValues, head_values

IN_C = pytest.mark.skipif(not heads.IN_C, reason="nothing is compiled")
NAMES = ("code", "opaque", "flag", "remark", "extFields", "language", "version")
JAVA = (
    b'{"code":310,"extFields":{"a":"PG","b":"T","e":"3","g":"1700000000000",'
    b'"i":"UNIQ_KEY\\u0001u\\u0002KEYS\\u0001\\"\\/\\\\\\n\\u0002"},"flag":0,"language":"JAVA",'
    b'"opaque":7,"serializeTypeCurrentRPC":"JSON","version":513}'
)

TEXT = st.text(max_size=4) | st.sampled_from(("JAVA", "a", "\x01\x02", 'x"\\/', "é", "\U0001f600"))
NUMBER = st.integers(-(2**31), 2**31 - 1) | st.integers(-(2**40), 2**40)
ODD: Any = st.none() | st.booleans() | st.floats() | st.lists(NUMBER, max_size=1)
WELL = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("code", "opaque", "flag", "version"), NUMBER),
        **dict.fromkeys(("language", "serializeTypeCurrentRPC"), TEXT),
        "remark": TEXT | st.none(),
        "extFields": st.dictionaries(TEXT, TEXT, max_size=4) | st.none(),
    },
)
STRANGE = st.dictionaries(
    st.sampled_from((*NAMES, "more")) | TEXT,
    NUMBER | TEXT | ODD | st.dictionaries(TEXT, TEXT | ODD, max_size=2),
    max_size=5,
)
HEADERS = st.builds(
    lambda head, ascii_only, spaced: json.dumps(
        head, ensure_ascii=ascii_only, separators=None if spaced else (",", ":")
    ).encode(errors="surrogatepass"),
    WELL | STRANGE,
    st.booleans(),
    st.booleans(),
)


@st.composite
def changed(draw: st.DrawFn) -> bytes:
    """With a byte or two that were not there."""
    header = bytearray(draw(HEADERS) or JAVA)
    for _ in range(draw(st.integers(1, 2))):
        at = draw(st.integers(0, len(header)))
        size = draw(st.integers(0, 2))
        header[at : at + size] = draw(
            st.sampled_from((*b'"\\{}:,u0-1 \n\x00\x1f\x80\xff',))
        ).to_bytes()
    return bytes(header)


def outcome(header: bytes) -> HeadValues | type[Exception]:
    try:
        return head_values(header)
    except CodecError as error:
        return type(error)


@given(header=HEADERS | changed())
@example(header=JAVA)
@example(header=b"{}")
@example(header=b'{"code":1,"code":2}')
@example(header=b'{"extFields":{"a":"1","a":"2"}}')
@example(header=b'{"code":01}')
@example(header=b'{"code":-0}')
@example(header=b'{"code":1.0}')
@example(header=b'{"remark":"\\ud83d\\ude00"}')
@example(header=b'{"remark":"\\')
@example(header=b'{"remark":"\\u00')
@example(header=b'{"remark":"\x7f"}  ')
@example(header=b'{"code":1} x')
@example(header=b"{" * 1000)
def test_what_is_ordinary_says_what_msgspec_finds(header: bytes) -> None:
    frame = len(header).to_bytes(4) + header + b"body"
    try:
        found = plain_head(frame, 4 + len(header))
    except CodecError:
        assert not heads.IN_C
        return
    assert found is None or found == outcome(header)


def test_what_java_sends() -> None:
    frame = bytes(4) + JAVA + b"body"
    found = plain_head(frame, 4 + len(JAVA))
    assert found is not None
    assert found == head_values(JAVA) == json_head.plain_head(frame, 4 + len(JAVA))
    assert found[:4] == (310, 7, 0, None)
    assert found[4] is not None
    assert found[4]["i"] == 'UNIQ_KEY\x01u\x02KEYS\x01"/\\\n\x02'
    assert list(found[4]) == ["a", "b", "e", "g", "i"]
    assert found[5:] == ("JAVA", 513)


@IN_C
@given(header=HEADERS)
def test_well_formed_heads_are_read_in_c(header: bytes) -> None:
    head = json.loads(header)
    known = {name: head[name] for name in NAMES if name in head}
    texts = [known.get("language", ""), known.get("remark") or "", *(known.get("extFields") or ())]
    plain = (
        head.keys() - set(NAMES) <= {"serializeTypeCurrentRPC"}
        and all(type(known.get(name, 0)) is int for name in ("code", "opaque", "flag", "version"))
        and all(abs(known.get(name, 0)) < 2**31 for name in ("code", "opaque", "flag", "version"))
        and all(isinstance(text, str) for text in texts)
        and b"\\u" not in header
        and isinstance(outcome(header), tuple)
        and len(head) > 0
    )
    if plain:
        assert plain_head(bytes(4) + header, 4 + len(header)) is not None


@IN_C
@pytest.mark.parametrize("end", [3, -1, 7, 1 << 62])
def test_a_header_ends_within_its_frame(end: int) -> None:
    with pytest.raises(ValueError, match="within the frame"):
        plain_head(b"000000", end)
    with pytest.raises(TypeError):
        plain_head(bytearray(6), 6)  # type: ignore[arg-type]


NUMBERS = st.tuples(*[NUMBER | st.sampled_from((-(2**63), 2**63 - 1, 0, 10))] * 4)


@given(
    numbers=NUMBERS,
    fields=st.none() | st.dictionaries(TEXT, TEXT, max_size=5),
    length=st.integers(0, 2**31 - 1),
)
@example(numbers=(0, 1, 7, 513), fields={"msgId": "7F", "k": ""}, length=0)
@example(numbers=(0, 1, 7, 513), fields={"\x7f": "1"}, length=0)
@example(numbers=(-(2**63), 1, 7, 2**63), fields={}, length=2**31 - 1)
@example(numbers=(0, 1, 7, 513), fields=None, length=0)
def test_replies(
    numbers: tuple[int, int, int, int], fields: dict[str, str] | None, length: int
) -> None:
    expected = json_head.plain_reply(*numbers, fields, length)
    found = plain_reply(*numbers, fields, length)
    text = "".join((*fields, *fields.values())) if fields else ""
    plain = text.isascii() and text.isprintable() and not {'"', "\\"} & set(text)
    if plain and all(-(2**63) <= number < 2**63 for number in numbers):
        assert found is not None
    assert found in (None, expected)
    assert expected is not None
    assert int.from_bytes(expected[:4]) == len(expected) - 4 + length
    if all(abs(number) < 2**31 for number in numbers):
        said = (*(numbers[0], numbers[2], numbers[1]), None, fields, "JAVA", numbers[3])
        assert head_values(expected[8:]) == said


def test_what_does_not_fit_a_frame() -> None:
    for one in (plain_reply, json_head.plain_reply):
        assert one(0, 1, 7, 513, {"k": "v" * (1 << 24)}, 0) is None
        assert one(0, 1, 7, 513, {}, 1 << 31) is None
        assert one(0, 1, 7, 513, {}, -1) is None


@IN_C
@pytest.mark.parametrize("at", range(6))
def test_what_is_no_reply(at: int) -> None:
    arguments: list[Any] = [0, 1, 7, 513, {}, 0]
    arguments[at] = "x"
    with pytest.raises(TypeError):
        plain_reply(*arguments)
