"""A broker's POP processors, asked as the dispatcher asks them; its receives end when a test says so."""

import errno
import os
from typing import Any

import pytest

from trimq.broker.pop.reading.result import records_in
from trimq.codec.headers.base import Header, decode_header
from trimq.codec.headers.pop import PopMessageResponseHeader
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.record import Record, parse_record
from trimq.processors.pop.ack_message import AckMessage
from trimq.processors.pop.batch_ack_message import BatchAckMessage
from trimq.processors.pop.change_message_invisible_time import ChangeMessageInvisibleTime
from trimq.processors.pop.pop_message import PopMessage
from trimq.remoting.contract import Processor, Response
from trimq.remoting.errors import RemotingError
from trimq.store.errors import StoreError
from trimq.store.messages.message import Message


def header_of(popped: Response) -> PopMessageResponseHeader:
    return decode_header(PopMessageResponseHeader, popped.ext_fields or {})


class PopClient:
    def __init__(self, broker: Any) -> None:
        self.broker = broker
        broker.topics.create_in_send("T", "TBW102", "1.2.3.4:5", 1, 0)
        self.reviving = broker.parts.services["put popped messages back"].__self__

    def put(self, *bodies: bytes, tags: str = "A", topic: str = "T") -> None:
        for body in bodies:
            self.broker.store.put(Message(topic, 0, body, f"TAGS\x01{tags}\x02".encode()))

    def ask(self, kind: type[Processor[Any]], body: bytes = b"", **fields: object) -> Any:
        """Response, or what has to be awaited."""
        processor = self.broker.processor(kind)
        texts = {key: str(value) for key, value in fields.items()}
        header = processor.decode_header(texts) if processor.header is not None else Header()
        request = self.broker.request(processor.codes[0], header, body)
        try:
            outcome = processor.handle(request)
        except RemotingError as error:
            return Response(error.code, error.remark)
        return outcome if isinstance(outcome, Response) else outcome.answer(request)

    def pop(self, **fields: object) -> Any:
        usual = {
            "consumerGroup": "G",
            "topic": "T",
            "queueId": -1,
            "maxMsgNums": 32,
            "invisibleTime": 60_000,
            "pollTime": 0,
            "bornTime": 0,
            "initMode": 0,
        }
        return self.ask(PopMessage, **{**usual, **fields})

    def handle(self, popped: Response, offset: int) -> str:
        header = header_of(popped)
        assert header.start_offset_info is not None
        kind, queue, first = header.start_offset_info.split(";")[0].split(" ")
        times = f"{header.pop_time} {header.invisible_time} {header.revive_qid}"
        return f"{first} {times} {kind} broker-a {queue} {offset}"

    def about(self, popped: Response, number: int, /, **fields: object) -> dict[str, object]:
        usual = {
            "consumerGroup": "G",
            "topic": "T",
            "queueId": 0,
            "extraInfo": self.handle(popped, number),
            "offset": number,
        }
        return {**usual, **fields}

    def ack(self, popped: Response, number: int, /, **fields: object) -> Response:
        response: Response = self.ask(AckMessage, **self.about(popped, number, **fields))
        return response

    def ack_batch(self, body: bytes) -> Response:
        response: Response = self.ask(BatchAckMessage, body)
        return response

    def change(self, popped: Response, number: int, millis: int, /, **fields: object) -> Response:
        about = self.about(popped, number, invisibleTime=millis, **fields)
        response: Response = self.ask(ChangeMessageInvisibleTime, **about)
        return response

    def write(self) -> None:
        self.broker.store.write_staged()

    def fail_to_write(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The end of a receive whose write fails on the disk."""

        def fail(*_: Any) -> int:
            raise OSError(errno.EIO, "the disk failed")

        with monkeypatch.context() as patch:
            patch.setattr(os, "pwritev", fail)
            with pytest.raises(StoreError):
                self.write()

    def records(self, popped: Response) -> list[Record]:
        body: Any = popped.body
        return [parse_record(data, check_crc=False) for data in records_in(body)]

    def bodies(self, popped: Response) -> list[bytes]:
        return [record.body for record in self.records(popped)]

    def properties(self, record: Record) -> dict[str, str]:
        return parse_properties(record.properties)

    def offset(self, topic: str = "T") -> int:
        found: int = self.broker.offsets.query("G", topic, 0)
        return found

    async def later(self, millis: int) -> None:
        """Time goes by, and what is due comes again."""
        self.broker.clock.now += millis
        await self.reviving.round()


@pytest.fixture
def pops(broker: Any) -> PopClient:
    return PopClient(broker)
