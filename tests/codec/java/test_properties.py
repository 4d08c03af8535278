"""The properties texts that operators have: comments, separators, continuations, escapes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.java.properties import (
    change_properties,
    decode_properties,
    read_properties,
    write_properties,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("brokerName=broker-a", {"brokerName": "broker-a"}),
        ("brokerName = broker-a ", {"brokerName": "broker-a"}),
        ("brokerName: broker-a", {"brokerName": "broker-a"}),
        ("brokerName broker-a", {"brokerName": "broker-a"}),
        ("# a\n! b\n\nkey=1", {"key": "1"}),
        ("key=1 # not a comment", {"key": "1 # not a comment"}),
        ("levels=1s \\\n   5s", {"levels": "1s 5s"}),
        ("path=C:\\\\data", {"path": "C:\\data"}),
        ("name=caf\\u00e9", {"name": "café"}),
        ("a\\=b=c", {"a=b": "c"}),
        ("key=", {"key": ""}),
        ("key", {"key": ""}),
        ("key=1\nkey=2", {"key": "2"}),
    ],
)
def test_reads_what_java_reads(text: str, found: dict[str, str]) -> None:
    assert read_properties(text) == found


def test_a_broken_character_is_named() -> None:
    with pytest.raises(ValueError, match="is not a character"):
        read_properties("a=\\u12")


def test_a_form_feed_is_a_blank_and_ends_no_line() -> None:
    assert read_properties("a=1\f2\x85\u2028b=3\rc=4") == {"a": "1\f2\x85\u2028b=3", "c": "4"}


def test_a_file_that_is_not_utf_8_is_read_as_java_reads_it() -> None:
    assert read_properties(decode_properties(b"a=\xe9\n# \xd6\xd0\n")) == {"a": "\xe9"}
    assert read_properties(decode_properties("a=\u00e9".encode())) == {"a": "\xe9"}


@given(st.dictionaries(st.text(min_size=1), st.text().map(str.strip)))
def test_what_is_written_is_read_again(values: dict[str, str]) -> None:
    text = write_properties(values)
    assert text.isascii()
    assert len(text.splitlines()) == len(values)
    assert read_properties(text) == values


def test_usual_values_are_written_as_they_are() -> None:
    values = {"namesrvAddr": "a:9876;b:9876", "messageDelayLevel": "1s 5s", "x": "#a=b!"}
    assert (
        write_properties(values) == "namesrvAddr=a:9876;b:9876\nmessageDelayLevel=1s 5s\nx=#a=b!\n"
    )


def test_a_change_leaves_comments_and_other_lines() -> None:
    text = "# mine\na = 1\nb: 2 \\\n  3\n\nc=4\na=5"
    changed = change_properties(text, {"a": "6", "b": "x\ny", "d": "7"})
    assert changed == "# mine\na=6\nb=x\\ny\n\nc=4\nd=7\n"
    assert change_properties(text, {"d": "7"}) == text + "\nd=7\n"
