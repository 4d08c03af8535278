"""When a question to a server that answers from records is one of those, and what moves between addresses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import trio

from compat_tests.comparing.records import Records
from compat_tests.mqadmin import recorded
from compat_tests.mqadmin.case import case
from compat_tests.mqadmin.exchanges import Exchange
from compat_tests.mqadmin.peers import open_peers
from compat_tests.mqadmin.places import RECORDED, Move, Places
from compat_tests.mqadmin.recorded import Recorded
from compat_tests.mqadmin.relay import RelayedTool
from compat_tests.mqadmin.replay import ByHeart
from compat_tests.mqadmin.tools import Printed
from trimq.admin.blocking import BlockingAdminClient
from trimq.codec.codes import RequestCode
from trimq.codec.frames.command import RESPONSE_BIT, RemotingCommand

THEN = 1_700_000_000_000
NOW = THEN + 86_400_000
ID, OTHER_ID = "0A" * 16, "0B" * 16
SEND, QUERY = RequestCode.SEND_MESSAGE_V2, RequestCode.QUERY_MESSAGE
ORDER = case("updateOrderConf", "updateOrderConf -t T -m get")
ORDER_TEXT = "get orderConf success. topic=[T], orderConf=[b:4] "


def exchange(
    code: int, fields: dict[str, str], body: bytes = b"", answer: bytes = b"{}"
) -> Exchange:
    question = RemotingCommand(code, 1, ext_fields=fields, body=body)
    return Exchange("namesrv", THEN, question, RemotingCommand(0, 1, RESPONSE_BIT, body=answer))


@pytest.mark.parametrize(
    ("code", "then", "now", "same"),
    [
        (QUERY, "key", "key", True),
        (QUERY, "key", "other", False),
        (QUERY, str(THEN), str(NOW), True),
        (QUERY, str(THEN - 3_600_000), str(NOW - 3_601_000), True),
        (QUERY, str(THEN - 3_600_000), str(NOW), False),
        # A time that the tool was told.
        (QUERY, str(THEN - 77), str(THEN - 77), True),
        (QUERY, str(THEN), "now", False),
        (QUERY, ID, ID, True),
        (QUERY, ID, OTHER_ID, False),
        # An id that it gives itself.
        (SEND, f"UNIQ_KEY\1{ID}\2", f"UNIQ_KEY\1{OTHER_ID}\2", True),
        (SEND, f"UNIQ_KEY\1{ID}\2", "UNIQ_KEY\1\2", False),
    ],
)
def test_a_question_is_the_same(code: int, then: str, now: str, same: bool) -> None:
    by_field = exchange(code, {"a": then})
    asked = RemotingCommand(code, 9, ext_fields={"a": now})
    assert by_field.is_asked_by("namesrv", NOW, asked) == same
    by_body = exchange(code, {}, then.encode())
    assert by_body.is_asked_by("namesrv", NOW, RemotingCommand(code, 9, body=now.encode())) == same


def test_who_is_asked_and_which_fields_there_are_counts() -> None:
    one = exchange(QUERY, {"a": "1"})
    assert not one.is_asked_by("broker", NOW, RemotingCommand(QUERY, 9, ext_fields={"a": "1"}))
    more = RemotingCommand(QUERY, 9, ext_fields={"a": "1", "b": ""})
    assert not one.is_asked_by("namesrv", NOW, more)
    assert not one.is_asked_by("namesrv", NOW, RemotingCommand(SEND, 9, ext_fields={"a": "1"}))


def test_a_record_holds_what_was_said() -> None:
    for answer in (b"", b"text", b"\x00\xff"):
        one = exchange(QUERY, {"a": "1"}, b"\xfe", answer)
        one.answer.remark = "why"
        again = Exchange.of(json.loads(json.dumps(one.value())))
        assert again.value() == one.value()
        assert (again.answer.body, again.answer.remark) == (answer, "why")
        assert (again.question.body, again.answer.flag) == (b"\xfe", RESPONSE_BIT)


def test_addresses_move_in_texts_ids_and_records() -> None:
    run = Places("127.0.0.1:40001", "127.0.0.1:40002")
    move, back = Move(run, RECORDED, [("/here", "/stage")]), Move(RECORDED, run)
    # 40002 is 9C42, 20911 is 51AF.
    text = "127.0.0.1:40002 7F00000100009C420000000000000007 /here"
    moved = "127.0.0.1:20911 7F000001000051AF0000000000000007 /stage"
    assert move.text(text) == moved
    assert back.text(moved) == text.replace("/here", "/stage")
    record = b"\xda\x7f\0\0\1\0\0\x9c\x42 127.0.0.1:40002"
    assert move.data(record) == b"\xda\x7f\0\0\1\0\0\x51\xaf 127.0.0.1:40002"
    assert move.data(b"127.0.0.1:40002") == b"127.0.0.1:20911"


def order(value: str = "b:4") -> Exchange:
    fields = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T"}
    one = exchange(RequestCode.GET_KV_CONFIG, fields, answer=b"")
    one.answer.ext_fields = {"value": value}
    return one


def played(tmp_path: Path, *heard: Exchange) -> None:
    recorded.check(ORDER, Recorded({}, [heard], ORDER_TEXT), tmp_path)


def test_the_same_answers_give_the_same_text(tmp_path: Path) -> None:
    played(tmp_path, order())


def test_another_answer_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="b:5"):
        played(tmp_path, order("b:5"))


def test_what_is_not_recorded_or_not_asked_fails(tmp_path: Path) -> None:
    question = "namesrv: GET_KV_CONFIG key=T namespace=ORDER_TOPIC_CONFIG"
    with pytest.raises(AssertionError, match=f"asked, and not recorded: {question}"):
        played(tmp_path)
    with pytest.raises(AssertionError, match=f"recorded, and not asked: {question}"):
        played(tmp_path, order(), order())


def test_answers_to_one_question_come_in_their_order(tmp_path: Path) -> None:
    """Each line has its own; within one, the first that is left counts."""
    twice = case("updateOrderConf", *ORDER.lines, *ORDER.lines)
    heard = [[order("b:1")], [order("b:2")]]
    text = ORDER_TEXT.replace("b:4", "b:1") + ORDER_TEXT.replace("b:4", "b:2")
    recorded.check(twice, Recorded({}, heard, text), tmp_path)
    server = ByHeart([order("b:1"), order("b:2")])

    async def ask() -> str:
        question = order().question
        return (await server.answer("namesrv", question)).ext_fields["value"]

    assert [trio.run(ask), trio.run(ask)] == ["b:1", "b:2"]
    server.check()


class InProcess:
    """Prints the address of the first master, and a file's name that it was told."""

    def run(self, namesrv: str, words: Sequence[str]) -> Printed:
        with BlockingAdminClient(namesrv) as admin:
            (addr,) = admin.masters("C")
            folder = admin.broker_config(addr)["folder"]
        return Printed(f"{addr} {folder} {' '.join(words)}", "", 0)

    def interrupt(self, namesrv: str, words: Sequence[str], lines: int) -> Printed:
        raise NotImplementedError


async def test_what_a_relayed_tool_hears_is_noted_and_what_it_prints_is_unchanged(
    tmp_path: Path,
) -> None:
    info = (
        b'{"brokerAddrTable":{"b":{"brokerName":"b","cluster":"C","brokerAddrs":{"0":"%s"}}},'
        b'"clusterAddrTable":{"C":["b"]}}'
    )
    table = exchange(
        RequestCode.GET_BROKER_CLUSTER_INFO, {}, answer=info % RECORDED.broker_addr.encode()
    )
    config = exchange(RequestCode.GET_BROKER_CONFIG, {}, answer=f"folder={tmp_path}/x".encode())
    server = ByHeart([table, replace(config, role="broker")])
    async with open_peers(server.answer) as real:
        relayed = RelayedTool(InProcess(), real.places, tmp_path)
        words = ["-b", real.places.broker_addr]
        run = partial(relayed.run, real.places.namesrv_addr, words)
        printed = await trio.to_thread.run_sync(run)
    assert server.unknown == []
    addr = real.places.broker_addr
    assert printed.out == f"{addr} {tmp_path}/x -b {addr}"
    ((first, second),) = relayed.lines
    assert (first.role, first.answer.body) == ("namesrv", table.answer.body)
    assert (second.role, second.answer.body) == ("broker", b"folder=/stage/x")


def kept(folder: Path, answer: bytes, *names: str) -> None:
    records = Records(live=False, writing=True, folder=folder)
    for name in names:
        found = Recorded({}, [[exchange(QUERY, {}, answer=answer)]], "text\n")
        recorded.keep(records, case("queryMsgByKey", "queryMsgByKey", name=name), found)
    records.write()
    recorded.forget_unused(folder)


def test_a_long_answer_is_kept_once_and_forgotten_when_unused(tmp_path: Path) -> None:
    long, other = b"long " * 1000, b"other " * 1000
    kept(tmp_path, long, "a", "b")
    assert sum(file.read_bytes().count(long) for file in tmp_path.rglob("*.json")) == 1
    reading = Records(live=False, writing=False, folder=tmp_path)
    found = recorded.find(reading, case("queryMsgByKey", "queryMsgByKey", name="b"))
    assert found.heard[0][0].answer.body == long
    kept(tmp_path, other, "a", "b")
    texts = [file.read_bytes() for file in tmp_path.rglob("*.json")]
    assert (sum(text.count(long) for text in texts), sum(text.count(other) for text in texts)) == (
        0,
        1,
    )


def test_a_record_of_other_lines_does_not_count(tmp_path: Path) -> None:
    kept(tmp_path, b"{}", "a")
    reading = Records(live=False, writing=False, folder=tmp_path)
    with pytest.raises(AssertionError, match="compat-record"):
        recorded.find(reading, case("queryMsgByKey", "queryMsgByKey -t T", name="a"))
