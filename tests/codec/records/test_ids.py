import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.errors import CodecError
from trimq.codec.java.hashes import crc32_31, string_hash
from trimq.codec.records.addresses import pack_host, unpack_host
from trimq.codec.records.message_id import offset_message_id, parse_offset_message_id
from trimq.codec.records.unique_id import id_end, id_start


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("TagA", 2598919),
        ("polygenelubricants", -(2**31)),
        ("ü", 252),
        ("\U0001f600", 1772899),
    ],
)
def test_strings_hash_as_in_java(text, expected):
    assert string_hash(text) == expected


def test_the_top_bit_of_the_checksum_is_cleared():
    assert crc32_31(b"hello") == 0x3610A686
    assert crc32_31(b"second") == 0x361F1169


@pytest.mark.parametrize(
    ("text", "packed"),
    [
        ("127.0.0.1:10911", "7f00000100002a9f"),
        ("[::1]:9", "00000000000000000000000000000001" + "00000009"),
    ],
)
def test_hosts(text, packed):
    assert pack_host(text).hex() == packed
    assert unpack_host(bytes.fromhex(packed)) == text


@pytest.mark.parametrize("text", ["", "1.2.3.4", "1.2.3.4:", "1.2.3:5", "host:5", "1.2.3.4:65536"])
def test_no_host(text):
    with pytest.raises(CodecError):
        pack_host(text)


def test_a_packed_host_has_one_of_two_sizes():
    with pytest.raises(CodecError, match="8 or 20"):
        unpack_host(bytes(9))


def test_a_golden_message_id():
    text = "7F00000100002A9F00000000000000FF"
    assert offset_message_id(pack_host("127.0.0.1:10911"), 255) == text
    assert parse_offset_message_id(text) == (pack_host("127.0.0.1:10911"), 255)


@given(
    host=st.sampled_from([8, 20]).flatmap(lambda n: st.binary(min_size=n, max_size=n)),
    offset=st.integers(0, 2**63 - 1),
)
def test_message_ids_come_back(host, offset):
    text = offset_message_id(host, offset)
    assert text == text.upper()
    assert parse_offset_message_id(text.lower()) == (host, offset)


@pytest.mark.parametrize("text", ["", "7F", "x" * 32, "7F " + "0" * 29])
def test_no_message_id(text):
    with pytest.raises(CodecError):
        parse_offset_message_id(text)


def test_the_parts_of_a_producers_id():
    start = id_start(b"\x0a\x00\x00\x01", 0x1ABCD, b"\x01\x02\x03\x04")
    assert start == "0A000001ABCD01020304"
    assert id_end(0x1_0000_0001, 0x1_0002) == "000000010002"
