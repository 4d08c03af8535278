"""Headers that brokers of one group exchange."""

from trimq.codec.headers.base import Header, Long


class ExchangeHAInfoRequestHeader(Header, kw_only=True):
    """Asks for EXCHANGE_BROKER_HA_INFO."""

    master_ha_address: str | None = None
    master_flush_offset: Long | None = None
    master_address: str | None = None


class ExchangeHAInfoResponseHeader(Header, kw_only=True):
    """Answers EXCHANGE_BROKER_HA_INFO."""

    master_ha_address: str | None = None
    master_flush_offset: Long | None = None
    master_address: str | None = None


class ResetMasterFlushOffsetHeader(Header, kw_only=True):
    """Asks for RESET_MASTER_FLUSH_OFFSET."""

    master_flush_offset: Long


class NotifyMinBrokerIdChangeRequestHeader(Header, kw_only=True):
    """Asks for NOTIFY_MIN_BROKER_ID_CHANGE."""

    min_broker_id: Long | None = None
    broker_name: str | None = None
    min_broker_addr: str | None = None
    offline_broker_addr: str | None = None
    ha_broker_addr: str | None = None
