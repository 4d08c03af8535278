"""SWITCH_TIMER_ENGINE (5001): keep timer messages in files or in RocksDB. There are only files.

The real broker without RocksDB knows two answers for files: success when it puts messages on the wheel
anyway, and an error when that was stopped, since it asks RocksDB where to go on.
"""

from typing import Final

from trimq.broker.timers.interface import Timers
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.brokers import SwitchTimerEngineRequestHeader
from trimq.remoting.contract import Processor, RemotingError, Request, Response
from trimq.store.config import StoreConfig

_FILES: Final = "F"
_ROCKSDB: Final = "R"


class SwitchTimerEngine(Processor[SwitchTimerEngineRequestHeader]):
    codes = (RequestCode.SWITCH_TIMER_ENGINE,)
    header = SwitchTimerEngineRequestHeader

    def __init__(self, config: StoreConfig, timers: Timers | None) -> None:
        self._config = config
        self._timers = timers

    def decode_header(self, ext_fields: dict[str, str]) -> SwitchTimerEngineRequestHeader:
        # The answer says whether there was any field at all.
        engine = ext_fields.get("E_T", "") if ext_fields else None
        return SwitchTimerEngineRequestHeader(engine_type=engine)

    def handle(self, request: Request[SwitchTimerEngineRequestHeader]) -> Response:
        engine = request.header.engine_type
        if self._timers is None or not self._config.timer_wheel_enable:
            raise _wrong("broker timerWheelEnable is false")
        if engine is None:
            raise _wrong("param error, extFields is null")
        if engine == _ROCKSDB:
            raise _wrong("timerRocksDBEnable must be configured true when broker start")
        if engine != _FILES:
            raise _wrong("param error")
        if self._config.timer_stop_enqueue:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "switch timer engine error")
        return Response(ResponseCode.SUCCESS, "switch timer engine success")


def _wrong(remark: str) -> RemotingError:
    return RemotingError(ResponseCode.INVALID_PARAMETER, remark)
