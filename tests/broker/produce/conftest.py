"""Sends to a broker by its operations, and headers as clients send them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processors.conftest import Broker
from trimq.broker.config import BrokerConfig
from trimq.broker.produce.puts.outcomes import Refused, Sent
from trimq.broker.produce.returns.send_back import Retry, message_missing
from trimq.broker.records import NoRecord, check_sound, record_in_memory
from trimq.codec.headers.fast import SendHeader, decode_send_v2
from trimq.codec.headers.send import ConsumerSendMsgBackRequestHeader
from trimq.store.config import StoreConfig

FIELDS = dict(
    zip("abcdefghi", ("PG", "T", "TBW102", "4", "0", "0", "1600000000000", "0", ""), strict=True)
)


def header_of(**fields: Any) -> SendHeader:
    """Fields by the one-letter names of the V2 header."""
    return decode_send_v2(FIELDS | {key: str(value) for key, value in fields.items()})


class Producing:
    """Sends to one broker from one peer."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    def send(
        self, topic: str = "T", body: bytes = b"hello", version: int = 513, **fields: Any
    ) -> Sent | Refused:
        header = header_of(b=topic, **fields)
        return self.broker.sending.send(header, body, self.broker.peer, version)

    def sent(self, *where: Any, **what: Any) -> Sent:
        outcome = self.send(*where, **what)
        assert isinstance(outcome, Sent), outcome.remark
        return outcome

    def refused(self, *where: Any, **what: Any) -> Refused:
        outcome = self.send(*where, **what)
        assert isinstance(outcome, Refused)
        return outcome

    def send_back(
        self, offset: int, group: str = "CG", version: int = 513, **fields: Any
    ) -> Refused | None:
        """As the processor does; None: it is staged, or the group wants no retries."""
        header = ConsumerSendMsgBackRequestHeader(
            offset=offset, group=group, **{"delay_level": 0, "max_reconsume_times": 16, **fields}
        )
        retry = self.broker.back.admit(header)
        if not isinstance(retry, Retry):
            return retry
        try:
            record = record_in_memory(self.broker.store, offset)
            check_sound(record)
        except NoRecord:
            return message_missing(offset)
        return self.broker.back.stage(header, version, retry, record)


@pytest.fixture
def make_producing(tmp_path: Path) -> Iterator[Callable[..., Producing]]:
    """Settings are those of the broker and of its store."""
    made: list[Broker] = []

    def make(**settings: Any) -> Producing:
        known = StoreConfig.__dataclass_fields__
        store = {key: settings.pop(key) for key in list(settings) if key in known}
        broker = Broker(tmp_path / f"store{len(made)}", BrokerConfig(**settings), **store)
        broker.store.open()
        made.append(broker)
        return Producing(broker)

    yield make
    for broker in made:
        broker.store.close()


@pytest.fixture
def producing(make_producing: Callable[..., Producing]) -> Producing:
    return make_producing()


def block(**properties: str) -> str:
    return "".join(f"{key}\x01{value}\x02" for key, value in properties.items())


@pytest.fixture
def props() -> Callable[..., str]:
    return block
