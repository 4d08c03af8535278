"""A broker's timers over a real store, on a mock clock: sends, deliveries, kills."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import trio

from trimq.base.clock import TrioClock
from trimq.broker.config import BrokerConfig
from trimq.broker.elastic.log import ElasticLog
from trimq.broker.elastic.maps import ElasticMaps
from trimq.broker.identity import BrokerIdentity
from trimq.broker.produce.puts.rules import PutRules
from trimq.broker.produce.puts.timer_copies import TimerPuts
from trimq.broker.timers.schedule_rule import TimerRule
from trimq.broker.timers.service import WheelTimers
from trimq.broker.topics.table import Topics
from trimq.codec.names import TIMER_TOPIC
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.record import parse_record
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Dispatched, Message

SECOND = 1000
BEGIN = 1_700_000_000_000


class Delivered:
    """A copy that was stored: when (milliseconds after BEGIN), where, and what."""

    def __init__(self, at: int, topic: str, queue_id: int, body: str, properties: Any) -> None:
        self.at = at
        self.topic = topic
        self.queue_id = queue_id
        self.body = body
        self.properties = properties


class Timing:
    """One store, and the timers over it; can be stopped and started in many ways."""

    def __init__(self, root: Path, nursery: trio.Nursery, **settings: Any) -> None:
        self.root = root
        self.nursery = nursery
        self.clock = TrioClock(BEGIN)
        self.settings: dict[str, Any] = {"file_reserved_time": 1000, **settings}
        self.delivered: list[Delivered] = []
        self.noted = trio.Event()
        self.sent = 0
        self.disk_use = 0.1

    @property
    def now(self) -> int:
        """Milliseconds after BEGIN."""
        return self.clock.millis() - BEGIN

    async def start(self, *, run: bool = True) -> WheelTimers:
        self.config = StoreConfig(
            root=self.root,
            mapped_file_size_commit_log=self.settings.get("file", 1 << 20),
            mapped_file_size_timer_log=5200,
            **{key: value for key, value in self.settings.items() if key != "file"},
        )
        self.store = MessageStore(self.config, self.clock.millis, lambda path: self.disk_use)
        self.store.open()
        self.timers = WheelTimers(self.config, self.store, self.clock)
        topics = Topics(BrokerConfig(), self.root / "config", self.clock)
        rule = TimerRule(self.config, self.clock, self.timers)
        self.rules = PutRules((1000,), self.store.check_writable, rule)
        identity = BrokerIdentity("cluster", "broker", 0, "127.0.0.1:10911", "127.0.0.1:10912")
        maps = ElasticMaps(ElasticLog(self.store, topics, identity, self.clock), topics, self.store)
        self.puts = TimerPuts(self.rules, topics, self.store, maps)
        self.timers.deliver_by(self.puts)
        self.timers.load()
        self.store.add_listener(self.note)
        self.scope = trio.CancelScope()
        if run:
            self.run()
        return self.timers

    def run(self) -> None:
        """Start the services."""
        self.nursery.start_soon(self._run, self.scope)

    async def _run(self, scope: trio.CancelScope) -> None:
        with scope:
            async with trio.open_nursery() as nursery:
                for service in (self.timers.feed, self.timers.deliver, self.timers.keep_flushed):
                    nursery.start_soon(service)

    def note(self, records: list[Dispatched]) -> None:
        for one in records:
            if one.topic != TIMER_TOPIC:
                data = self.store.record_at(one.physical_offset)
                assert data is not None
                record = parse_record(data)
                properties = parse_properties(record.properties)
                body = record.body.decode()
                at = self.now
                self.delivered.append(
                    Delivered(at, record.topic, record.queue_id, body, properties)
                )
        self.noted.set()

    def kill(self) -> None:
        """What was handed to the kernel stays. In a test, await a start before anything else."""
        self.scope.cancel()
        self.timers._files.close()
        self.store.abandon()

    def stop(self) -> None:
        self.scope.cancel()
        self.timers.close()
        self.store.close()

    def set(self, **settings: Any) -> None:
        """As an administrator does while the broker runs."""
        for key, value in settings.items():
            object.__setattr__(self.config, key, value)

    # --- what clients do

    def send(self, body: str, seconds: float, topic: str = "T", **properties: str) -> int:
        """Due that long from now; its place in the commit log. As a producer with TIMER_DELIVER_MS."""
        self.sent += 1
        block = {
            "UNIQ_KEY": f"U{self.sent}",
            "TIMER_DELIVER_MS": str(self.clock.millis() + int(seconds * SECOND)),
            **properties,
        }
        message = Message(topic, 2, body.encode(), b"", flag=3, born_timestamp=42)
        self.rules.apply(message, block, None)
        return self.store.put(message).physical_offset

    def recall(self, unique: str, seconds: float, **properties: str) -> None:
        self.send("0", seconds, UNIQ_KEY=unique, TIMER_DEL_UNIQKEY=unique, **properties)

    @property
    def bodies(self) -> list[str]:
        return [one.body for one in self.delivered]

    async def until(self, second: float) -> None:
        """Sleep until that many seconds after the begin, of the wall clock."""
        await trio.sleep(max(0, second - self.now / SECOND))
