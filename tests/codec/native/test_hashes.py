"""The hashes of keys: C and Python find the same, and leave the same messages alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec import native
from trimq.codec.java.hashes import string_hash
from trimq.codec.native import hashes

words = st.text("ab \x01\x02é", max_size=12).map(str.encode)
entry = st.tuples(
    st.sampled_from([b"UNIQ_KEY", b"KEYS", b"TAGS", b"XKEYS", b"KEYSX", b""]), words
).map(b"\x01".join)
blocks = (
    st.lists(entry, max_size=6).map(lambda entries: b"\x02".join([*entries, b""]))
    | st.lists(entry, max_size=6).map(b"\x02".join)
    | st.binary(max_size=20)
)


@given(st.lists(st.tuples(blocks, st.integers(0, 0xFFFFFFFF)), max_size=9))
def test_both_find_the_same(messages):
    properties = [block for block, _ in messages]
    starts = [start for _, start in messages]
    found = hashes.key_hashes(properties, starts, starts[::-1])
    assert native.key_hashes(properties, starts, starts[::-1]) == found
    assert len(found[0]) == sum(count for count in found[1] if count > 0)


@pytest.mark.parametrize("key_hashes", [native.key_hashes, hashes.key_hashes])
def test_they_are_those_of_java(key_hashes):
    start, tag_start = (string_hash(text) & 0xFFFFFFFF for text in ("T#", "T#T#"))
    block = b"UNIQ_KEY\x01U\x02KEYS\x01a  b\x02TAGS\x01x\x02"
    texts = ["T#U", "T#a", "T#b", "T#T#x"]
    expected = [abs(string_hash(text)) for text in texts]
    assert key_hashes([block, b"KEYS\x01\xc3\xa9\x02"], [start] * 2, [tag_start] * 2) == (
        expected,
        [4, -1],
    )
    with pytest.raises(ValueError, match="one length"):
        key_hashes([block], [start], [])
