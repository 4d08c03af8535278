"""Clocks that are set, and a broker's services under one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import trio

from tests.broker.produce.conftest import block, header_of
from tests.processors.conftest import Broker
from trimq.base.clock import Clock, TrioClock
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.clients.record import Client
from trimq.broker.produce.puts.outcomes import Sent
from trimq.codec.codes import RequestCode
from trimq.codec.headers.base import encode_header
from trimq.codec.headers.transactions import EndTransactionRequestHeader
from trimq.codec.records.record import parse_record
from trimq.process.supervision import Supervisor
from trimq.processors.transactions.end_transaction import EndTransaction
from trimq.remoting.contract import Response
from trimq.remoting.testing import RecordingPeer
from trimq.store.messages.message import Dispatched

SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000
JUMPS = {"-10 min": -10 * MINUTE, "-30 d": -30 * DAY, "+25 d": 25 * DAY, "+400 d": 400 * DAY}


class HandClock(Clock):
    """`millis` and `steady_millis` stand still; time passes in both, the wall clock jumps alone."""

    def __init__(self) -> None:
        self.wall = self.steady = 1_700_000_000_000

    def millis(self) -> int:
        return self.wall

    def steady_millis(self) -> int:
        return self.steady

    def later(self, millis: int) -> None:
        self.wall += millis
        self.steady += millis

    def jump(self, millis: int) -> None:
        self.wall += millis


class RealClock(Clock):
    """This machine's, set by `jumped`."""

    jumped = 0

    def millis(self) -> int:
        return super().millis() + self.jumped


class Jumping:
    """All services of a broker on Trio's mock clock; whatever consumers get is noted."""

    def __init__(self, root: Path, nursery: trio.Nursery) -> None:
        self.clock = TrioClock()
        config = BrokerConfig(transaction_check_interval=1000)
        self.broker = Broker(root, config, self.clock)
        self.store = self.broker.store
        self.store.open()
        self.broker.parts.load()
        self.store.add_listener(self._note)
        self.delivered: list[str] = []
        self.producer = RecordingPeer()
        client = Client(self.producer, "c1", 0, 513, self.clock.steady_millis())
        self.broker.producers.register("PG", client)
        self.supervisor = Supervisor()
        self.scope = trio.CancelScope()
        nursery.start_soon(self._run)

    async def _run(self) -> None:
        with self.scope:
            async with trio.open_nursery() as nursery:
                for name, service in self.broker.parts.services.items():
                    if name == "connections to other brokers":
                        # There are none.
                        continue
                    nursery.start_soon(self.supervisor.keep, name, service)

    def _note(self, records: list[Dispatched]) -> None:
        for one in records:
            if one.topic == "T":
                data = self.store.record_at(one.physical_offset)
                assert data is not None
                self.delivered.append(parse_record(data).body.decode())

    def stop(self) -> None:
        """No service may have failed."""
        self.scope.cancel()
        assert not self.supervisor.failures
        assert not self.store.failures
        self.store.close()

    def send(self, body: str, **properties: str) -> None:
        # Its producer's clock is not this broker's.
        header = header_of(b="T", e=1, i=block(**properties), g=self.clock.millis())
        sent = self.broker.sending.send(header, body.encode(), self.broker.peer, 513)
        assert isinstance(sent, Sent), sent.remark
        self.store.write_staged()

    def send_for(self, body: str, seconds: int) -> None:
        """A timer message, due so much later by the wall clock."""
        due = str(self.clock.millis() + seconds * SECOND)
        self.send(body, TIMER_DELIVER_MS=due, UNIQ_KEY=f"U {body}")

    def half(self, body: str) -> int:
        """Its place in the commit log."""
        at = self.store.max_physical_offset
        self.send(body, TRAN_MSG="true", PGROUP="PG", UNIQ_KEY=f"U {body}")
        return at

    async def commit(self, offset: int, at: int) -> int:
        """The code of the answer."""
        header = EndTransactionRequestHeader(
            topic="T",
            producer_group="PG",
            tran_state_table_offset=offset,
            commit_log_offset=at,
            commit_or_rollback=8,
            from_transaction_check=True,
            msg_id="",
        )
        ending: Any = self.broker.processor(EndTransaction)
        decoded = ending.decode_header(encode_header(header))
        request = self.broker.request(RequestCode.END_TRANSACTION, decoded)
        response = ending.handle(request)
        if not isinstance(response, Response):
            response = await response.answer(request)
        self.broker.parts.end_of_receive()
        return int(response.code)

    def asked(self) -> int:
        """How often the producer was asked since the last time."""
        count = len(self.producer.notices)
        self.producer.notices.clear()
        return count
