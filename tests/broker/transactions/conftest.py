"""A broker's parts over a real store, half messages for them, and kills."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.broker.produce.conftest import block, header_of
from tests.processors.conftest import Broker
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.clients.record import Client
from trimq.broker.produce.puts.outcomes import Refused, Sent
from trimq.broker.transactions.pending import PendingHalves
from trimq.codec.codes import RequestCode
from trimq.codec.headers.base import encode_header
from trimq.codec.headers.transactions import (
    CheckTransactionStateRequestHeader,
    EndTransactionRequestHeader,
    ResumeCheckHalfMessageRequestHeader,
)
from trimq.codec.names import TRANS_GROUP, TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.record import Record, parse_record
from trimq.processors.transactions.end_transaction import EndTransaction
from trimq.processors.transactions.resume_check_half_message import ResumeCheckHalfMessage
from trimq.remoting.contract import RemotingError, Response
from trimq.remoting.testing import RecordingPeer, answer
from trimq.wiring.part import Parts

COMMIT, ROLLBACK, UNKNOWN = 8, 12, 0
SECOND = 1000


class Transacting:
    """One broker after another over the same store; a producer that may be asked."""

    def __init__(self, root: Path, **settings: Any) -> None:
        self.root = root
        self.settings = settings
        self.producer = RecordingPeer()
        self._now = 0
        self.start()

    def start(self) -> None:
        known = {
            "mapped_file_size_commit_log": 1 << 17,
            "max_hash_slot_num": 100,
            "max_index_num": 400,
        }
        store = {
            key: self.settings[key]
            for key in self.settings
            if key
            in (
                "enable_lmq",
                "enable_lmq_quota",
                "enable_multi_dispatch",
                "file_reserved_time",
                "flush_disk_type",
                "mapped_file_size_commit_log",
                "max_lmq_consume_queue_num",
                "max_message_size",
                "message_index_enable",
            )
        }
        config = {key: self.settings[key] for key in self.settings if key not in store}
        self.broker = Broker(self.root, BrokerConfig(**config), **(known | store))
        if self._now:
            self.broker.clock.now = self._now
        self.store = self.broker.store
        self.store.open()
        # Nothing is cold: a file system in memory cannot tell.
        setattr(self.store, "load", self.store.load_blocking)  # noqa: B010
        self.broker.parts.load()
        self.parts: Parts = self.broker.parts
        self.ending = self.broker.processor(EndTransaction)
        self.resuming = self.broker.processor(ResumeCheckHalfMessage)
        part = next(part for part in self.parts if part.name == "transactions")
        self.checking = part.master_services["check half messages"].__self__  # type: ignore[attr-defined]
        self.pending: PendingHalves = self.checking._pending
        keep = part.master_services["keep transaction positions"]
        self.positions = keep.args[0]  # type: ignore[attr-defined]
        self.producer.closed = False
        self.join()

    def join(self) -> None:
        client = Client(self.producer, "c1", 0, 513, self.broker.clock.now)
        self.broker.producers.register("PG", client)

    def later(self, millis: int) -> None:
        self.broker.clock.now += millis
        self._now = self.broker.clock.now

    def kill(self, persist: bool = False) -> None:
        """And start again; `persist`: the positions had been written before."""
        if persist:
            self.positions.keep()
            self.broker.offsets.file.persist()
        self.store.abandon()
        self._now = self.broker.clock.now
        self.start()

    def stop(self) -> None:
        self.store.close()

    # --- what clients do

    def send(self, body: bytes = b"hello", topic: str = "T", **properties: str) -> Sent | Refused:
        text = block(**{"TRAN_MSG": "true", "PGROUP": "PG", **properties})
        header = header_of(b=topic, e=1, i=text, g=self.broker.clock.now)
        return self.broker.sending.send(header, body, self.broker.peer, 513)

    def half(self, unique: str, body: bytes = b"hello", **properties: str) -> Record:
        """A half message that is stored; its record."""
        sent = self.send(body, UNIQ_KEY=unique, **properties)
        assert isinstance(sent, Sent), sent.remark
        self.write()
        return self.records(TRANS_HALF_TOPIC)[-1]

    def write(self) -> None:
        self.parts.end_of_receive()

    def ask_end(self, half: Record, how: int = COMMIT, **other: Any) -> Response:
        """In the middle of a receive."""
        header = EndTransactionRequestHeader(
            **{
                "topic": "T",
                "producer_group": "PG",
                "tran_state_table_offset": half.queue_offset,
                "commit_log_offset": half.physical_offset,
                "commit_or_rollback": how,
                "msg_id": "",
                **other,
            }
        )
        decoded = self.ending.decode_header(encode_header(header))
        request = self.broker.request(RequestCode.END_TRANSACTION, decoded)
        response = self.ending.handle(request)
        if not isinstance(response, Response):
            # The index is asked, in a thread: outside of an event loop only.
            response = trio.run(response.answer, request)
        return response

    def end(self, half: Record, how: int = COMMIT, **other: Any) -> int:
        """The code of the answer, after the receive."""
        try:
            response = self.ask_end(half, how, **other)
        except RemotingError as error:
            return int(error.code)
        finally:
            self.write()
        return int(response.code)

    def refused(self, half: Record, how: int = COMMIT, **other: Any) -> tuple[int, str]:
        with pytest.raises(RemotingError) as refused:
            self.ask_end(half, how, **other)
        assert not self.store.claims
        return int(refused.value.code), refused.value.remark

    async def resume(self, record: Record) -> None:
        identity = self.broker.identity
        place = identity.packed_store_host.hex().upper() + f"{record.physical_offset:016X}"
        header = ResumeCheckHalfMessageRequestHeader(topic=record.topic, msg_id=place)
        request = self.broker.request(RequestCode.RESUME_CHECK_HALF_MESSAGE, header)
        assert (await answer(self.resuming, request)).code == 0

    # --- what is there

    def records(self, topic: str, queue_id: int = 0) -> list[Record]:
        entries = range(
            self.store.min_offset(topic, queue_id), self.store.max_offset(topic, queue_id)
        )
        found = []
        for offset in entries:
            entry = self.store.queue_entry(topic, queue_id, offset)
            data = None if entry is None else self.store.record_at(entry.physical_offset)
            if data is not None:
                found.append(parse_record(data))
        return found

    @property
    def halves(self) -> list[Record]:
        return self.records(TRANS_HALF_TOPIC)

    @property
    def ops(self) -> list[bytes]:
        return [record.body for record in self.records(TRANS_OP_HALF_TOPIC)]

    @property
    def delivered(self) -> list[bytes]:
        """The bodies of what consumers get."""
        return [record.body for queue in range(8) for record in self.records("T", queue)]

    def questions(self) -> list[tuple[dict[str, str], Record]]:
        """Taken by the producer since the last time."""
        asked = []
        for code, header, body in self.producer.notices:
            assert code == RequestCode.CHECK_TRANSACTION_STATE
            assert isinstance(header, CheckTransactionStateRequestHeader)
            assert isinstance(body, bytes)
            asked.append((encode_header(header), parse_record(body)))
        self.producer.notices.clear()
        return asked

    @property
    def stored_positions(self) -> tuple[int, int]:
        self.positions.keep()
        halves, ops = (
            self.broker.offsets.query(TRANS_GROUP, topic, 0)
            for topic in (TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC)
        )
        return halves, ops


def properties_of(record: Record) -> dict[str, str]:
    return parse_properties(record.properties)


@pytest.fixture
def make(memory_path: Path) -> Iterator[Callable[..., Transacting]]:
    made: list[Transacting] = []

    def one(**settings: Any) -> Transacting:
        made.append(Transacting(memory_path / f"store{len(made)}", **settings))
        return made[-1]

    yield one
    for transacting in made:
        transacting.stop()


@pytest.fixture
def trans(make: Callable[..., Transacting]) -> Transacting:
    return make()


__all__ = ["COMMIT", "ROLLBACK", "SECOND", "UNKNOWN", "Transacting", "properties_of"]
