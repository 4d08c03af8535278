"""The properties texts that operators have: comments, separators, continuations, escapes."""

import pytest

from trimq.properties_file import parse_properties_text


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
    assert parse_properties_text(text) == found


def test_a_broken_character_is_named() -> None:
    with pytest.raises(ValueError, match="is no character"):
        parse_properties_text("a=\\u12")
