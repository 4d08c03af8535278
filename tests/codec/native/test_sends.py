"""What a send costs for its one message: in C and in Python the same."""

import struct
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trimq.codec import native
from trimq.codec.errors import CodecError
from trimq.codec.java.hashes import string_hash
from trimq.codec.native import encode_record, halves, message_id, sends, sent_properties
from trimq.codec.records import record
from trimq.codec.records.message_id import offset_message_id
from trimq.codec.records.properties import find_property, format_properties, parse_properties

ADDED = b"CLUSTER\x01c\x02"
DECIDING = (b"DELAY", b"CLUSTER")
IN_C = pytest.mark.skipif(not native.IN_C, reason="nothing is compiled")

# Broken blocks, and whole ones whose keys are now and then those that count.
PIECE = st.sampled_from(
    ["\x01", "\x02", "TAGS", "UNIQ_KEY", "DELAY", "a", "DELAYED", "é", "\ud800"]
)
BLOCK = st.lists(PIECE, max_size=12).map("".join)
ENTRY = st.tuples(st.sampled_from(["TAGS", "UNIQ_KEY", "K", "DELAYS"]), st.text("xyé", min_size=1))
WHOLE = st.lists(ENTRY.map("\x01".join), max_size=4).map("\x02".join)


@pytest.mark.parametrize(
    ("text", "block", "unique", "tag"),
    [
        ("", b"", None, ""),
        ("K\x01v", b"K\x01v\x02", None, ""),
        ("UNIQ_KEY\x01u\x02TAGS\x01t\x02", b"UNIQ_KEY\x01u\x02TAGS\x01t\x02" + ADDED, "u", "t"),
        (
            "MY_TAGS\x01t\x02UNIQ_KEY\x01ü",
            "MY_TAGS\x01t\x02UNIQ_KEY\x01ü\x02".encode() + ADDED,
            "ü",
            "",
        ),
    ],
)
def test_one_look_at_what_was_sent(text: str, block: bytes, unique: str | None, tag: str) -> None:
    assert sent_properties(text, ADDED, DECIDING) == (block, unique, string_hash(tag))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "K\x01v\x02DELAY\x011",
            "K",
            "K\x01",
            "\x01v",
            "K\x01v\x02\x02",
            "K\x01v\x01w",
            "TAGS\x01é",
        ),
        *("UNIQ_KEY\x01a\x02UNIQ_KEY\x01b", "K\x01a\x02TAGS\x01t\x02K\x01a\x02"),
        "\x02".join(f"key{number}\x01v" for number in range(129)),
    ],
)
def test_what_has_to_be_parsed(text: str) -> None:
    assert sent_properties(text, ADDED, DECIDING) is None


@given(text=WHOLE)
def test_the_tag_is_the_one_that_readers_find(text: str) -> None:
    found = sent_properties(text, ADDED, DECIDING)
    if found is not None:
        assert parse_properties(found[0]).items() >= parse_properties(text).items()
        assert found[2] == string_hash(parse_properties(text).get("TAGS", ""))


@IN_C
@given(text=BLOCK | WHOLE)
@example(text="UNIQ_KEY\x01a\x02UNIQ_KEY\x01b")
def test_looking_in_c(text: str) -> None:
    assert native.sent_properties(text, ADDED, DECIDING) == sends.sent_properties(
        text, ADDED, DECIDING
    )


@given(text=BLOCK | WHOLE)
def test_tags_in_c(text: str) -> None:
    block = text.encode(errors="replace")
    tag = find_property(block, b"TAGS")
    plain = tag is None or tag.isascii()
    expected = string_hash((tag or b"").decode()) if plain else None
    assert native.tag_hash(block) == sends.tag_hash(block) == expected


@given(text=BLOCK | WHOLE)
@example(text="TAGS\x01a\x02TAGS\x01")
@example(text="xTAGS\x01a")
def test_one_property(text: str) -> None:
    block = text.encode(errors="replace")
    expected = parse_properties(block).get("TAGS")
    for one in (native.property_text, sends.property_text):
        assert one(block, b"TAGS\x01") == expected
        assert one(b"TAGS\x01\xff\x02", b"TAGS\x01") == "\ufffd"


@given(text=BLOCK | WHOLE)
@example(text="K\x01a\x02K\x01")
def test_several_properties(text: str) -> None:
    block = text.encode(errors="replace")
    names = (b"TAGS\x01", b"K\x01", b"absent\x01")
    expected = tuple(find_property(block, name[:-1]) for name in names)
    for several in (native.property_values, halves.property_values):
        assert several(block, names) == expected


DROPPED, WANTED = (b"K",), (b"UNIQ_KEY", b"TAGS", b"absent", b"K")


@given(text=BLOCK | WHOLE)
@example(text="")
@example(text="K\x01a\x02TAGS\x01b")
@example(text="K\x01a\x02TAGS\x01b\x02K\x01c")
@example(text="\x02".join(f"{key}\x01v" for key in range(64)))
@example(text="\x02".join(f"{key}\x01v" for key in range(65)))
def test_what_an_ordinary_block_becomes(text: str) -> None:
    """What parsing, removing and formatting gives; or nothing where that is not so simple."""
    block = text.encode(errors="replace")
    found = native.ordinary_properties(block, DROPPED, DECIDING, WANTED)
    assert found == halves.ordinary_properties(block, DROPPED, DECIDING, WANTED)
    for one in (native.ordinary_properties, halves.ordinary_properties):
        assert one(block.decode(), DROPPED, DECIDING, WANTED) == found
    if found is not None:
        properties = parse_properties(block)
        values = tuple(properties.get(key.decode()) for key in WANTED)
        assert tuple(None if one is None else one.decode() for one in found[1]) == values
        properties.pop("K", None)
        assert found[0] == format_properties(properties)


@pytest.mark.parametrize(
    "block",
    [
        *["K\x01v\x02DELAY\x011", "K", "K\x01", "\x01v", "K\x01v\x02\x02", "K\x01v\x01w"],
        *["K\x01v\x02K\x01v", "\ud800\x01v", b"K\x01\xff", b"\x02"],
        "\x02".join(f"{key}\x01v" for key in range(65)),
    ],
)
def test_what_is_not_ordinary(block: str | bytes) -> None:
    for one in (native.ordinary_properties, halves.ordinary_properties):
        assert one(block, DROPPED, DECIDING, WANTED) is None


@IN_C
@pytest.mark.parametrize("names", [[b"K"], ("K",), None])
def test_names_are_bytes(names: Any) -> None:
    with pytest.raises(TypeError):
        native.property_values(b"", names)
    for at in (1, 2, 3):
        arguments: list[Any] = [b"", (), (), ()]
        arguments[at] = names
        with pytest.raises(TypeError):
            native.ordinary_properties(*arguments)


@given(host=st.binary(min_size=8, max_size=8), offset=st.integers(0, 2**63 - 1))
def test_ids(host: bytes, offset: int) -> None:
    assert message_id(host.hex().upper(), offset) == offset_message_id(host, offset)


INT = st.integers(-(2**31), 2**31 - 1)
LONG = st.integers(-(2**63), 2**63 - 1)


@IN_C
@given(
    topic=st.binary(max_size=200),
    ints=st.tuples(INT, INT, INT, INT),
    longs=st.tuples(LONG, LONG, LONG, LONG, LONG),
    hosts=st.tuples(st.sampled_from([8, 20]), st.sampled_from([8, 20])),
    body=st.binary(max_size=300),
    properties=st.binary(max_size=300),
)
def test_records_in_c(
    topic: bytes, ints: Any, longs: Any, hosts: Any, body: bytes, properties: bytes
) -> None:
    queue_id, flag, sys_flag, times = ints
    sys_flag = sys_flag & ~0x30 | (0x10 if hosts[0] == 20 else 0) | (0x20 if hosts[1] == 20 else 0)
    fields = (
        *(topic, queue_id, flag, longs[0], longs[1], sys_flag, longs[2], b"b" * hosts[0]),
        *(longs[3], b"s" * hosts[1], times, longs[4], body, properties),
    )
    assert encode_record(*fields) == record.encode_record(*fields)


@pytest.mark.parametrize("change", [{7: bytes(20)}, {9: bytes(20)}, {13: bytes(32768)}])
def test_what_does_not_fit_a_record(change: dict[int, Any]) -> None:
    fields: list[Any] = [b"T", 0, 0, 0, 0, 0, 0, bytes(8), 0, bytes(8), 0, 0, b"x", b""]
    for at, value in change.items():
        fields[at] = value
    with pytest.raises(CodecError):
        encode_record(*fields)


@IN_C
@pytest.mark.parametrize(
    ("at", "value"), [(1, 2**31), (5, -(2**31) - 1), (4, 2**63), (0, bytes(65536))]
)
def test_python_says_what_does_not_fit(at: int, value: Any) -> None:
    fields: list[Any] = [b"T", 0, 0, 0, 0, 0, 0, bytes(8), 0, bytes(8), 0, 0, b"x", b""]
    fields[at] = value
    with pytest.raises((CodecError, struct.error)) as in_c:
        encode_record(*fields)
    with pytest.raises(type(in_c.value)) as plain:
        record.encode_record(*fields)
    assert str(in_c.value) == str(plain.value)
