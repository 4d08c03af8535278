"""Receipt handles, as Java reads them."""

import pytest

from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.receipt import parse_receipt
from trimq.proxy.statuses import ProxyError

GOOD = "5 1700000000000 60000 3 {kind} broker-a 2 7 900"


@pytest.mark.parametrize(
    ("kind", "topic"),
    [("0", "T"), ("1", "%RETRY%G_T"), ("2", "%RETRY%G+T"), ("7", "T"), ("", "T")],
)
def test_which_topic_it_lies_in(kind, topic):
    assert parse_receipt(GOOD.format(kind=kind)).topic("T", "G") == topic


def test_its_fields():
    found = parse_receipt(GOOD.format(kind="0"))
    assert found.place == ("broker-a", 2, 7)
    assert (found.log_offset, found.handle.due) == (900, 1700000060000)
    assert parse_receipt("5 1 2 3 0 b 2 7 ").log_offset == -1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "Parse failed, dataList size 1"),
        ("garbage", "Parse failed, dataList size 1"),
        ("1 2 3 4 0 b 5    ", "Parse failed, dataList size 7"),
        ("a 2 3 4 0 b 5 6", 'For input string: "a"'),
        ("1 2 3 99999999999 0 b 5 6", 'For input string: "99999999999"'),
        ("1 2 3 4 0 b 5 6 x", 'For input string: "x"'),
    ],
)
def test_what_is_none(text, told):
    with pytest.raises(ProxyError) as error:
        parse_receipt(text)
    assert (error.value.code, error.value.text) == (Code.INTERNAL_SERVER_ERROR, told)
