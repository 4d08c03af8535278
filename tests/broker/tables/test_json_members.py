"""Kept encodings are always those of the values as they are."""

import json

from hypothesis import given
from hypothesis import strategies as st

from trimq.broker.tables.json_members import JsonMembers, pretty, pretty_array, pretty_object

CHANGES = st.lists(st.tuples(st.integers(0, 99), st.one_of(st.none(), st.integers())), max_size=300)


@given(st.lists(CHANGES, max_size=4))
def test_the_text_is_the_table_after_any_changes(
    rounds: list[list[tuple[int, int | None]]],
) -> None:
    table: dict[str, int] = {}
    members = JsonMembers(lambda key: str(table[key]))
    for changes in rounds:
        for number, value in changes:
            key = f"k{number}"
            if value is None:
                if table.pop(key, None) is not None:
                    members.removed(key)
            else:
                table[key] = value
                members.changed(key)
        text = b"".join(members.object_pieces())
        assert json.loads(text) == table


def test_only_what_changed_is_encoded_again() -> None:
    encoded: list[str] = []

    def encode(key: str) -> str:
        encoded.append(key)
        return "1"

    members = JsonMembers(encode)
    for number in range(100):
        members.changed(str(number))
    whole = b"".join(members.object_pieces())
    assert len(encoded) == 100
    members.changed("40")
    assert b"".join(members.object_pieces()) == whole
    assert encoded[100:] == ["40"]


def test_pretty_forms() -> None:
    assert pretty({"a": {0: 1}, "b": [], "c": {}}, 1) == (
        '{\n\t\t"a":{\n\t\t\t0:1\n\t\t},\n\t\t"b":[],\n\t\t"c":{}\n\t}'
    )
    assert pretty_object([], 2) == "{}"
    assert pretty_object(["0:1", "1:2"], 2) == "{\n\t\t\t0:1,\n\t\t\t1:2\n\t\t}"
    assert pretty_array([], 2) == "[]"
    assert pretty_array(['"a"'], 0) == '[\n\t"a"\n]'
