"""Headers about a broker itself."""

import msgspec

from trimq.codec.headers.base import Header, Long


class GetBrokerConfigResponseHeader(Header, kw_only=True):
    """Answers GET_BROKER_CONFIG."""

    version: str


class SetCommitlogReadModeRequestHeader(Header, kw_only=True):
    """Asks for SET_COMMITLOG_READ_MODE; Java has no class for it. 0 normal, 1 random."""

    mode: str = msgspec.field(name="READ_AHEAD_MODE")


class SwitchTimerEngineRequestHeader(Header, kw_only=True):
    """Asks for SWITCH_TIMER_ENGINE; Java has no class for it. F files, R RocksDB."""

    engine_type: str | None = msgspec.field(name="E_T", default=None)


class AddBrokerRequestHeader(Header, kw_only=True):
    """Asks a BrokerContainer for ADD_BROKER: a path on its machine."""

    config_path: str | None = None


class RemoveBrokerRequestHeader(Header, kw_only=True):
    """Asks a BrokerContainer for REMOVE_BROKER."""

    broker_name: str
    broker_cluster_name: str
    broker_id: Long
