from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.records.properties import (
    find_property,
    format_properties,
    parse_properties,
    without_property,
)

# Few letters, so that keys are often each other's tails and entries often broken.
BLOCK = st.text("ab\x01\x02", max_size=30)
KEY = st.text("ab", min_size=1, max_size=3)


def by_the_rule(text: str) -> dict[str, str]:
    """MessageDecoder.string2messageProperties, step by step."""
    found = {}
    index = 0
    while index < len(text):
        end = text.find("\x02", index)
        end = len(text) if end < 0 else end
        separator = text.find("\x01", index)
        if end - index >= 3 and index < separator < end - 1:
            found[text[index:separator]] = text[separator + 1 : end]
        index = end + 1
    return found


@given(text=BLOCK)
def test_reading_follows_the_rule(text):
    assert parse_properties(text) == parse_properties(text.encode()) == by_the_rule(text)


@given(text=BLOCK, key=KEY)
def test_finding_one_equals_reading_all(text, key):
    found = find_property(text.encode(), key.encode())
    assert (None if found is None else found.decode()) == parse_properties(text).get(key)


@given(text=BLOCK, key=KEY)
def test_removing_one_leaves_the_others(text, key):
    expected = parse_properties(text)
    expected.pop(key, None)
    assert parse_properties(without_property(text.encode(), key.encode())) == expected


PLAIN = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x01\x02"), min_size=1)


@given(properties=st.dictionaries(PLAIN, PLAIN, max_size=5))
def test_what_is_written_is_read(properties):
    block = format_properties(properties)
    assert parse_properties(block) == properties
    assert block.endswith(b"\x02") or not properties


def test_text_that_is_not_utf8_is_read_as_java_reads_it():
    assert parse_properties(b"a\x01\xff\x02") == {"a": "\ufffd"}


def test_a_block_without_the_key_is_left_alone():
    block = b"a\x01b"
    assert without_property(block, b"c") is block
