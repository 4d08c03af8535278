"""Handles of timer messages, as Java's decoder of URL-safe base64 takes them."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.errors import CodecError
from trimq.codec.records.recall_handle import (
    BadHandle,
    RecallHandle,
    build_recall_handle,
    parse_recall_handle,
)

UNIQUE = "7F00000100002A9F0000000000000000"
HANDLE = "djEgVCBicm9rZXItYSAxNzk1MjUzNTczMDAxIDdGMDAwMDAxMDAwMDJBOUYwMDAwMDAwMDAwMDAwMDAw"  # as recorded


def handle(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


def test_a_recorded_one() -> None:
    assert build_recall_handle("T", "broker-a", "1795253573000", UNIQUE) == HANDLE
    assert parse_recall_handle(HANDLE) == RecallHandle("T", "broker-a", "1795253573001", UNIQUE)


@given(st.text(st.characters(exclude_characters=" ", exclude_categories=["Cs"]), min_size=1))
def test_whatever_the_names_are(name: str) -> None:
    found = parse_recall_handle(build_recall_handle(name, name, "5000", name))
    assert found == RecallHandle(name, name, "5001", name)


def test_padding_may_be_left_out() -> None:
    for unique in ("U", "UU", "UUU"):
        built = build_recall_handle("T", "b", "5000", unique)
        assert parse_recall_handle(built.rstrip("=")) == parse_recall_handle(built)


def test_more_fields_are_ignored() -> None:
    assert parse_recall_handle(handle("v1 T b x U more")) == RecallHandle("T", "b", "x", "U")
    assert parse_recall_handle(handle("v1  b x U")).topic == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A",
        "not base64!",
        "djEg\nVA",
        "djEgVCBi=",
        "djEgVCB=",
        "dj==EgVC",
        "+/==",
        "ä" * 4,
        handle("v2 T b 1 U"),
        handle("v1 T b 1"),
        handle("v1 T b 1 "),
        handle("v1"),
        handle(" v1 T b 1 U"),
    ],
)
def test_no_handle(text: str) -> None:
    with pytest.raises(BadHandle):
        parse_recall_handle(text)


def test_what_the_real_broker_fails_on() -> None:
    with pytest.raises(CodecError, match="blanks"):
        parse_recall_handle(handle("   "))
    with pytest.raises(CodecError, match="TIMER_OUT_MS"):
        build_recall_handle("T", "b", "soon", "U")
