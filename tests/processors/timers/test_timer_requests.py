"""What is asked about timer messages, by slaves and operators."""

from typing import Any

import pytest

from trimq.processors.timers.get_timer_check_point import GetTimerCheckPoint
from trimq.processors.timers.get_timer_metrics import GetTimerMetrics
from trimq.processors.timers.switch_timer_engine import SwitchTimerEngine
from trimq.remoting.contract import RemotingError, Request
from trimq.remoting.testing import RecordingPeer, answered
from trimq.store.config import StoreConfig


class Wheel:
    def checkpoint(self) -> bytes:
        return bytes(56)

    def metrics(self) -> bytes:
        return b'{"timingCount":{}}'


def asked(processor: Any, **fields: str) -> tuple[int, str | None, bytes]:
    header = processor.decode_header(fields) if processor.header else None
    try:
        response = answered(processor, Request(0, header, RecordingPeer()))
    except RemotingError as error:
        return error.code, error.remark, b""
    return response.code, response.remark, response.body


def test_how_far_it_is() -> None:
    assert asked(GetTimerCheckPoint(Wheel())) == (0, None, bytes(56))
    assert asked(GetTimerCheckPoint(None)) == (1, "The checkpoint is null", b"")


def test_what_waits() -> None:
    assert asked(GetTimerMetrics(Wheel())) == (0, None, b'{"timingCount":{}}')
    assert asked(GetTimerMetrics(None)) == (1, "The timer message store is null", b"")


NO_ROCKSDB = "timerRocksDBEnable must be configured true when broker start"


@pytest.mark.parametrize(
    ("fields", "code", "remark"),
    [
        ({"E_T": "F"}, 0, "switch timer engine success"),
        ({"E_T": "R"}, 29, NO_ROCKSDB),
        ({"E_T": "X"}, 29, "param error"),
        ({"E_T": ""}, 29, "param error"),
        ({"engineType": "F"}, 29, "param error"),
        ({}, 29, "param error, extFields is null"),
    ],
)
def test_the_engine_is_the_wheel(fields: dict[str, str], code: int, remark: str) -> None:
    assert asked(SwitchTimerEngine(StoreConfig(), Wheel()), **fields) == (code, remark, b"")


def test_a_wheel_that_is_not_fed() -> None:
    stopped = SwitchTimerEngine(StoreConfig(timer_stop_enqueue=True), Wheel())
    assert asked(stopped, E_T="F") == (1, "switch timer engine error", b"")
    assert asked(stopped, E_T="R") == (29, NO_ROCKSDB, b"")
    without = (29, "broker timerWheelEnable is false", b"")
    off = StoreConfig(timer_wheel_enable=False)
    assert asked(SwitchTimerEngine(off, Wheel()), E_T="F") == without
    assert asked(SwitchTimerEngine(StoreConfig(), None)) == without
