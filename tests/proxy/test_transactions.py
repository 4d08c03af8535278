"""Ends of transactions: by the place that is remembered, else by the brokers' index; each once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.proxy.fake_cluster import A, Asked, B, FakeLinks, answer, caller
from tests.proxy.stored import record
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.messages import QueryMessageResponseHeader
from trimq.codec.names import TRANS_HALF_TOPIC
from trimq.proxy.config import ProxyConfig
from trimq.proxy.half_messages import HalfMessages, Place
from trimq.proxy.protos.definition_pb2 import Code, Resource, TransactionResolution
from trimq.proxy.protos.service_pb2 import EndTransactionRequest, EndTransactionResponse
from trimq.proxy.routes import Routes
from trimq.proxy.rpcs.end_transaction import EndTransaction
from trimq.proxy.statuses import BrokerRefused, ProxyError
from trimq.proxy.transactions import Places, Transactions
from trimq.remoting.errors import RemotingConnectError

LOST = (
    Code.INTERNAL_SERVER_ERROR,
    "org.apache.rocketmq.proxy.common.ProxyException: cannot found transaction data",
)


class Ends:
    """`indexed`: records by broker address and topic, as its index finds them."""

    def __init__(self, nursery: Any) -> None:
        self.links = FakeLinks()
        self.indexed: dict[tuple[str, str], list[bytes]] = {}
        self.end_code: int = ResponseCode.SUCCESS
        self.links.answers[RequestCode.QUERY_MESSAGE] = self._query
        self.links.answers[RequestCode.END_TRANSACTION] = lambda _: answer(
            self.end_code, "Find prepared transaction message failed"
        )
        self.restart(nursery)

    def restart(self, nursery: Any) -> None:
        """A proxy that remembers nothing."""
        routes = Routes(self.links, ["n:1"], 20, nursery)
        halves = HalfMessages(self.links, routes)
        self.transactions = Transactions(ProxyConfig(), self.links, routes, halves)
        self._call = EndTransaction(self.transactions)

    def _query(self, asked: Asked) -> RemotingCommand:
        found = self.indexed.get((asked.addr, asked.fields["topic"]), [])
        header = QueryMessageResponseHeader(
            index_last_update_timestamp=0, index_last_update_phyoffset=0
        )
        if not found:
            return answer(ResponseCode.QUERY_NOT_FOUND, "can not find message", header)
        return answer(header=header, body=b"".join(found))

    def half(self, addr: str, unique: str, queue_offset: int, log_offset: int) -> None:
        properties = {"UNIQ_KEY": unique, "PGROUP": "T", "REAL_TOPIC": "T"}
        records = self.indexed.setdefault((addr, TRANS_HALF_TOPIC), [])
        records.append(record(TRANS_HALF_TOPIC, properties, queue_offset, log_offset))

    async def end(self, transaction_id: str = "m0", **fields: Any) -> EndTransactionResponse:
        request = EndTransactionRequest(
            topic=Resource(name="T"),
            transaction_id=transaction_id,
            message_id=transaction_id,
            **{"resolution": TransactionResolution.COMMIT, **fields},
        )
        return await self._call(caller(), request)

    async def refused(self, **fields: Any) -> tuple[Code, str]:
        with pytest.raises(ProxyError) as raised:
            await self.end(**fields)
        return raised.value.code, raised.value.text

    @property
    def told(self) -> list[Asked]:
        return self.links.of(RequestCode.END_TRANSACTION)


async def test_what_its_broker_is_told(nursery: Any) -> None:
    ends = Ends(nursery)
    ends.transactions.add("T", "m0", Place("b", 7, 1234))
    assert (await ends.end()).status.code == Code.OK
    (told,) = ends.told
    assert (told.addr, told.oneway) == (B, True)
    assert told.fields == {
        "topic": "T",
        "producerGroup": "T",
        "tranStateTableOffset": "7",
        "commitLogOffset": "1234",
        "commitOrRollback": "8",
        "fromTransactionCheck": "false",
        "msgId": "m0",
        "transactionId": "m0",
    }


@pytest.mark.parametrize(("resolution", "kind"), [(1, "8"), (2, "12"), (0, "0")])
async def test_resolutions(nursery: Any, resolution: int, kind: str) -> None:
    ends = Ends(nursery)
    ends.transactions.add("T", "m0", Place("b", 7, 1234))
    await ends.end(resolution=resolution, source=2)
    assert ends.told[0].fields["commitOrRollback"] == kind
    assert ends.told[0].fields["fromTransactionCheck"] == "true"


async def test_it_ends_once(nursery: Any) -> None:
    ends = Ends(nursery)
    ends.transactions.add("T", "m0", Place("a", 1, 100))
    ends.half(A, "m0", 1, 100)
    await ends.end()
    assert await ends.refused() == LOST
    assert len(ends.told) == 1
    assert not ends.links.of(RequestCode.QUERY_MESSAGE)


async def test_who_does_not_know_yet_may_know_later(nursery: Any) -> None:
    ends = Ends(nursery)
    ends.transactions.add("T", "m0", Place("a", 1, 100))
    await ends.end(resolution=TransactionResolution.TRANSACTION_RESOLUTION_UNSPECIFIED)
    await ends.end()
    assert [told.fields["commitOrRollback"] for told in ends.told] == ["0", "8"]


async def test_a_check_moves_it(nursery: Any) -> None:
    ends = Ends(nursery)
    ends.transactions.add("T", "m0", Place("a", 1, 100))
    ends.transactions.add("T", "m0", Place("a", 9, 900))
    await ends.end()
    assert ends.told[0].fields["commitLogOffset"] == "900"


async def test_it_is_found_by_the_index(nursery: Any) -> None:
    ends = Ends(nursery)
    ends.half(B, "other", 3, 300)
    ends.half(B, "m0", 1, 100)
    ends.half(B, "m0", 5, 500)
    await ends.end()
    (told,) = ends.told
    # The place may be old, so its broker has to say that it was right.
    assert (told.addr, told.oneway) == (B, False)
    assert told.fields["tranStateTableOffset"] == "5"
    assert told.fields["commitLogOffset"] == "500"


async def test_what_was_delivered_has_ended(nursery: Any) -> None:
    ends = Ends(nursery)
    ends.half(B, "m0", 1, 100)
    ends.indexed[B, "T"] = [record("T", {"UNIQ_KEY": "m0"})]
    assert await ends.refused() == LOST
    # Another message with the same hash says nothing about it.
    ends.indexed[B, "T"] = [record("T", {"UNIQ_KEY": "m1"})]
    await ends.end()
    assert len(ends.told) == 1


async def test_halves_of_others_are_not_ended(nursery: Any) -> None:
    ends = Ends(nursery)
    ends.indexed[A, TRANS_HALF_TOPIC] = [
        record(TRANS_HALF_TOPIC, {"UNIQ_KEY": "m0", "PGROUP": "other"})
    ]
    assert await ends.refused() == LOST


async def test_one_that_is_away_may_have_it(nursery: Any) -> None:
    ends = Ends(nursery)
    ends.links.away.add(B)
    with pytest.raises(RemotingConnectError):
        await ends.end()
    ends.half(A, "m0", 1, 100)
    assert (await ends.end()).status.code == Code.OK


async def test_nothing_is_lost_while_its_broker_is_away(nursery: Any) -> None:
    ends = Ends(nursery)
    ends.transactions.add("T", "m0", Place("a", 1, 100))
    ends.links.away.add(A)
    with pytest.raises(RemotingConnectError):
        await ends.end()
    ends.links.away.clear()
    await ends.end()
    assert [told.fields["commitLogOffset"] for told in ends.told] == ["100", "100"]


async def test_a_broker_may_refuse(nursery: Any) -> None:
    ends = Ends(nursery)
    ends.half(A, "m0", 1, 100)
    ends.end_code = ResponseCode.SYSTEM_ERROR
    with pytest.raises(BrokerRefused, match="Find prepared transaction message failed"):
        await ends.end()
    ends.end_code = ResponseCode.SUCCESS
    await ends.end()


async def test_bad_requests(nursery: Any) -> None:
    ends = Ends(nursery)
    text = "transaction id cannot be empty"
    assert await ends.refused(transaction_id=" ") == (Code.INVALID_TRANSACTION_ID, text)
    ends.transactions.add("T", "m0", Place("gone", 1, 100))
    code, text = await ends.refused()
    assert code == Code.BAD_REQUEST
    assert text.endswith("cannot find broker gone")


def test_tables_are_bounded() -> None:
    places = Places(most_each=2, most=3)
    for number in range(5):
        for copy in range(4):
            places.add(("T", str(number)), Place("a", copy, copy))
    assert [number for number in range(5) if places.newest(("T", str(number)))] == [2, 3, 4]
    for number in range(5):
        places.end(("T", str(number)))
    assert [number for number in range(5) if places.has_ended(("T", str(number)))] == [2, 3, 4]
    assert places.newest(("T", "4")) is None
