import json

import pytest
from construct import Array
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.entries.index import (
    ENTRY_SIZE,
    HEADER_SIZE,
    IndexHeader,
    iter_entries,
    pack_entries,
    pack_header,
    parse_entry,
    parse_header,
    parse_slot,
)
from trimq.codec.errors import CodecError
from trimq.codec.java.hashes import ascii_hashes, string_hash
from trimq.codec.layouts.index import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)


@given(INT64, INT64, INT64, INT64, INT32, st.integers(1, 2**31 - 1))
def test_the_fast_header_equals_its_declaration(begin, end, first, last, used, count):
    header = IndexHeader(begin, end, first, last, used, count)
    data = pack_header(header)
    declared = INDEX_HEADER.parse(data)
    fields = (begin, end, first, last, used, count)
    assert (
        declared.begin_timestamp,
        declared.end_timestamp,
        declared.begin_physical_offset,
        declared.end_physical_offset,
        declared.used_slots,
        declared.count,
    ) == fields
    assert INDEX_HEADER.build(declared) == data
    assert pack_header(parse_header(data)) == data


@given(st.lists(st.tuples(INT32, INT64, INT32, INT32)))
def test_the_fast_entries_equal_their_declaration(entries):
    columns = [list(column) for column in zip(*entries, strict=True)] or [[], [], [], []]
    data = pack_entries(*columns)
    declared = Array(len(entries), INDEX_ENTRY).parse(data)
    assert Array(len(entries), INDEX_ENTRY).build(declared) == data
    for number, fields in enumerate(entries):
        entry = parse_entry(data, number * ENTRY_SIZE)
        seen = declared[number]
        assert (seen.key_hash, seen.physical_offset, seen.seconds, seen.previous_entry) == fields
        assert (entry.key_hash, entry.physical_offset, entry.seconds, entry.previous) == fields


def test_a_real_header(vectors):
    data = bytes.fromhex(json.loads((vectors / "index.json").read_text())["header"])
    assert pack_header(parse_header(data)) == data


def test_a_file_of_zeros_has_no_entries():
    assert parse_header(bytes(HEADER_SIZE)).count == 1


def test_short_input():
    with pytest.raises(CodecError, match="an index header has 40 bytes, not 39"):
        parse_header(bytes(39))
    with pytest.raises(CodecError, match="no whole index entry at byte 1 of 20"):
        parse_entry(bytes(20), 1)


@given(st.integers(0, 40), st.data())
def test_hashes_of_many_texts_at_once(length, data):
    some = st.text(st.characters(max_codepoint=127), max_size=20)
    texts = st.text(st.characters(max_codepoint=127), min_size=length, max_size=length)
    pairs = data.draw(st.lists(st.tuples(some, texts), min_size=1, max_size=10))
    starts = [string_hash(start) & 0xFFFFFFFF for start, _ in pairs]
    hashes = ascii_hashes(starts, [text.encode() for _, text in pairs])
    assert hashes == [string_hash(start + text) & 0xFFFFFFFF for start, text in pairs]


@given(INT32)
def test_a_slot_equals_its_declaration(number):
    assert parse_slot(INDEX_SLOT.build(number)) == number


@given(st.lists(st.tuples(INT32, INT64, INT32, INT32), max_size=5))
def test_many_entries_equal_their_declarations(entries):
    names = [field.name for field in INDEX_ENTRY.subcons]
    built = [INDEX_ENTRY.build(dict(zip(names, entry, strict=True))) for entry in entries]
    assert list(iter_entries(b"".join(built))) == entries
