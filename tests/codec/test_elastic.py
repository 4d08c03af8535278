"""The records that elastic topics are rebuilt from."""

import msgspec
import pytest

from trimq.codec.bodies.elastic import (
    ElasticChange,
    ElasticDeletion,
    ElasticRecord,
    ElasticState,
    GatedGroup,
    GroupPasses,
    GroupReset,
    decode_record,
    encode_record,
    encode_short,
)
from trimq.codec.errors import CodecError

CHANGE = ElasticChange(version=1, ends={0: 1 << 40}, starts={2: 3}, moved=2)


@pytest.mark.parametrize(
    "record",
    [
        ElasticState(topic="t", version=1, queues=[0, 1, 2, 1], changes=[CHANGE]),
        GatedGroup(topic="t", group="g"),
        GroupPasses(topic="t", group="g", versions=[1, 7]),
        GroupReset(topic="t", group="g", moved={0: 1}, pending={0: 1, 2: 5}, settling=[2]),
        ElasticDeletion(topic="t"),
        ElasticDeletion(group="g"),
    ],
)
def test_a_record_comes_back(record: ElasticRecord) -> None:
    assert decode_record(encode_record(record)) == record


def test_states_are_written_so_that_any_reader_takes_them() -> None:
    """Strict JSON now, FastJSON's bare keys before: both are read, and say the same."""
    state = ElasticState(topic='ä"1":', version=1, queues=[0, 1], changes=[CHANGE])
    assert msgspec.json.decode(encode_record(state), type=ElasticState) == state
    assert b"{0:1099511627776}" in encode_short(state)
    assert decode_record(encode_short(state)) == state
    assert len(encode_short(state)) < len(encode_record(state))


def test_unknown_members_are_passed_over() -> None:
    data = b'{"kind":"gated","format":1,"topic":"t","group":"g","later":{"a":[1]}}'
    assert decode_record(data) == GatedGroup(topic="t", group="g")


@pytest.mark.parametrize(
    "data",
    [
        b'{"kind":"gated","format":2,"topic":"t","group":"g"}',
        b'{"kind":"other","format":1}',
        b'{"kind":"gated","format":1,"topic":"t"}',
        b'{"kind":"sta',
        b"",
    ],
)
def test_what_cannot_be_understood_is_an_error(data: bytes) -> None:
    with pytest.raises(CodecError):
        decode_record(data)
