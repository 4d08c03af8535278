"""QUERY_MESSAGE: what is found by key, by unique key and by tag, and how it is answered."""

from typing import Any

import pytest

from trimq.broker.records import fetch_buffers
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.base import decode_header
from trimq.codec.headers.messages import QueryMessageRequestHeader
from trimq.codec.records.record import parse_record
from trimq.processors.messages.query_message import LARGEST_BODY, QueryMessage
from trimq.remoting.contract import RemotingError, Response
from trimq.remoting.testing import answer
from trimq.store.index import entries as index_entries
from trimq.store.messages.message import Message


class Querying:
    """Asks one broker as the dispatcher would hand it on."""

    def __init__(self, broker: Any) -> None:
        self.broker = broker
        self.processor = broker.processor(QueryMessage)

    def put(self, body: bytes, keys: str = "", unique: str = "", tags: str = "") -> int:
        pairs = {"KEYS": keys, "UNIQ_KEY": unique, "TAGS": tags}
        packed = "".join(f"{name}\x01{text}\x02" for name, text in pairs.items() if text)
        self.broker.clock.now += 1000
        put = self.broker.store.put(Message("T", 0, body, packed.encode()))
        return put.physical_offset

    async def ask(self, **fields: Any) -> Response:
        ext = {
            "topic": "T",
            "key": "k",
            "maxNum": 32,
            "beginTimestamp": 0,
            "endTimestamp": 1 << 62,
            **fields,
        }
        texts = {key: str(value) for key, value in ext.items()}
        header = decode_header(QueryMessageRequestHeader, texts)
        request = self.broker.request(RequestCode.QUERY_MESSAGE, header)
        request.ext_fields = texts
        return await answer(self.processor, request)

    async def bodies(self, **fields: Any) -> list[bytes]:
        response = await self.ask(**fields)
        if response.code == ResponseCode.QUERY_NOT_FOUND:
            return []
        assert response.code == ResponseCode.SUCCESS
        return [parse_record(bytes(one)).body for one in response.body]


@pytest.fixture
def querying(broker: Any) -> Querying:
    return Querying(broker)


async def test_by_key_unique_key_and_tag(querying: Querying) -> None:
    querying.put(b"0", keys="k other", unique="U0", tags="tag")
    querying.put(b"1", keys="k", unique="U1")
    querying.put(b"2", keys="more", unique="U2", tags="tag")
    assert await querying.bodies() == [b"0", b"1"]
    assert await querying.bodies(indexType="K") == [b"0", b"1"]
    assert await querying.bodies(key="U2", indexType="U") == [b"2"]
    assert await querying.bodies(key="tag", indexType="T") == [b"0", b"2"]
    assert await querying.bodies(key="tag") == []
    assert await querying.bodies(topic="Other") == []


async def test_a_unique_key_is_one_whatever_type_is_said(querying: Querying) -> None:
    querying.put(b"0", unique="U0", tags="U0")
    for flag in ("true", "TRUE"):
        found = await querying.bodies(
            key="U0", maxNum=-1, indexType="T", _UNIQUE_KEY_QUERY=flag, lastKey="x"
        )
        assert found == [b"0"]


async def test_the_reply_says_how_far_the_index_is(querying: Querying) -> None:
    querying.put(b"0", keys="k")
    last = querying.put(b"1", keys="other")
    response = await querying.ask()
    assert response.header.index_last_update_phyoffset == last
    assert response.header.index_last_update_timestamp == querying.broker.clock.now


async def test_nothing_found(querying: Querying) -> None:
    querying.put(b"0", keys="k")
    response = await querying.ask(key="none")
    assert response.code == ResponseCode.QUERY_NOT_FOUND
    assert response.remark == "can not find message, maybe time range not correct"
    assert response.header.index_last_update_phyoffset == 0
    assert response.header.index_last_update_timestamp == 0
    assert (await querying.ask(maxNum=0)).code == ResponseCode.QUERY_NOT_FOUND
    later = querying.broker.clock.now + 1
    assert (await querying.ask(beginTimestamp=later)).code == ResponseCode.QUERY_NOT_FOUND


async def test_at_most_64_messages_and_32_of_a_unique_key(querying: Querying) -> None:
    for number in range(70):
        querying.put(b"%d" % number, keys="k")
    everything = [b"%d" % number for number in range(70)]
    assert await querying.bodies(maxNum=3) == everything[-3:]
    assert await querying.bodies(maxNum=1000) == everything[-64:]
    assert await querying.bodies(maxNum=1000, _UNIQUE_KEY_QUERY="true") == everything[-32:]


async def test_a_negative_number_of_messages(querying: Querying) -> None:
    with pytest.raises(RemotingError, match="maxNum is -1") as caught:
        await querying.ask(maxNum=-1)
    assert caught.value.code == ResponseCode.SYSTEM_ERROR


async def test_no_reply_is_larger_than_clients_take(querying: Querying) -> None:
    for number in range(6):
        querying.put(bytes([number]) * (4 * 1024 * 1024 - 200), keys="k")
    bodies = await querying.bodies()
    assert [body[0] for body in bodies] == [0, 1, 2]


async def test_what_is_no_longer_in_the_log_is_left_out(querying: Querying) -> None:
    here = querying.put(b"0", keys="k")
    store = querying.broker.store
    outside = [here, store.max_physical_offset, 1 << 40, -1]
    found = await fetch_buffers(store, outside, LARGEST_BODY)
    assert [parse_record(bytes(one)).body for one in found] == [b"0"]


async def test_a_disk_that_fails(querying: Querying, monkeypatch: pytest.MonkeyPatch) -> None:
    querying.put(b"0", keys="k")

    def fail(*_: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(index_entries.EntryReader, "entry", fail)
    with pytest.raises(RemotingError, match="the disk is gone") as caught:
        await querying.ask()
    assert caught.value.code == ResponseCode.SYSTEM_ERROR
