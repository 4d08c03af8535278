from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.errors import CodecError
from trimq.codec.layouts.record import BATCH_ITEM
from trimq.codec.records.batch import BatchItem, join_batch, split_batch

ITEMS = st.lists(
    st.tuples(st.integers(-(2**31), 2**31 - 1), st.binary(max_size=30), st.binary(max_size=30)),
    max_size=5,
)


@given(items=ITEMS)
def test_the_fast_path_equals_its_declaration(items):
    declared = b"".join(
        BATCH_ITEM.build(
            {"size": 22 + len(body) + len(kept), "flag": flag, "body": body, "properties": kept}
        )
        for flag, body, kept in items
    )
    assert join_batch([BatchItem(*item) for item in items]) == declared
    found = split_batch(declared)
    assert [(item.flag, item.body, item.properties) for item in found] == items


def test_a_golden_item():
    data = bytes.fromhex("0000001f0000000000000000000000000000000568656c6c6f0004") + b"a\x01b\x02"
    (item,) = split_batch(data)
    assert (item.flag, item.body, item.properties) == (0, b"hello", b"a\x01b\x02")
    assert join_batch([item]) == data


@given(items=ITEMS.filter(bool), data=st.data())
def test_a_batch_cut_inside_an_item_is_refused(items, data):
    whole = join_batch([BatchItem(*item) for item in items])
    last = 22 + len(items[-1][1]) + len(items[-1][2])
    cut = data.draw(st.integers(1, last - 1))
    with pytest.raises(CodecError, match="batch"):
        split_batch(whole[:-cut])


@given(data=st.binary(max_size=100))
def test_random_bytes_give_items_or_one_typed_error(data):
    with suppress(CodecError):
        assert join_batch(split_batch(data))[:4] == data[:4]
