"""The write at the end of a receive."""

from typing import Any

import pytest

from trimq.broker.produce.puts.receive_end import write_receive
from trimq.remoting.contract import RemotingError
from trimq.store.errors import DiskFull, StoreError


@pytest.mark.parametrize(
    ("error", "code", "remark"),
    [
        (DiskFull("no room"), 14, "service not available now."),
        (StoreError("?"), 1, "UNKNOWN_ERROR"),
    ],
)
def test_a_failing_write_is_the_answer(
    producing: Any, monkeypatch: Any, error: StoreError, code: int, remark: str
) -> None:
    store, config = producing.broker.store, producing.broker.store_config

    def fail() -> None:
        raise error

    monkeypatch.setattr(store, "write_staged", fail)
    with pytest.raises(RemotingError) as raised:
        write_receive(store, config)
    assert raised.value.code == code
    assert raised.value.remark.startswith(remark)


def test_what_is_staged_is_written(producing: Any) -> None:
    store = producing.broker.store
    end = producing.sent().queue_offset + 1
    write_receive(store, producing.broker.store_config)
    assert store.max_offset("T", 0) == end
