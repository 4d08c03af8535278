"""What a receive is filtered by."""

import pytest

from trimq.proxy.filters import Filter, filter_of
from trimq.proxy.protos.definition_pb2 import Code, FilterExpression, FilterType
from trimq.proxy.statuses import ProxyError


def of(text, kind=FilterType.TAG):
    return filter_of(FilterExpression(expression=text, type=kind))


@pytest.mark.parametrize("text", ["", "*"])
def test_everything(text):
    found = of(text)
    assert found == Filter("TAG", "*")
    assert found.matches(None)


def test_tags():
    found = of(" A || B||")
    assert (found.kind, found.expression, found.tags) == ("TAG", " A || B||", {"A", "B"})
    assert found.matches("A")
    assert not found.matches("C")
    assert not found.matches(None)


def test_tags_that_are_none_match_everything():
    assert of(" || ").matches("X")


def test_another_kind_means_tags():
    assert of("A", FilterType.FILTER_TYPE_UNSPECIFIED).kind == "TAG"


def test_sql_is_the_brokers_to_understand():
    found = of("a > 1", FilterType.SQL)
    assert found == Filter("SQL92", "a > 1")
    assert found.matches("whatever")


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        ("||", FilterType.TAG, "subString split error"),
        ("||||", FilterType.TAG, "subString split error"),
        ("", FilterType.SQL, "Expression can't be null! SQL92"),
    ],
)
def test_refused(text, kind, told):
    with pytest.raises(ProxyError) as error:
        of(text, kind)
    assert (error.value.code, error.value.text) == (Code.ILLEGAL_FILTER_EXPRESSION, told)
