"""How long a client may be silent before it counts as gone (ConsumerManager, ProducerManager)."""

from typing import Final

from trimq.broker.config import BrokerConfig
from trimq.broker.groups.clients.record import Client

# ProducerManager has its own constant: channelExpiredTimeout is for consumers.
PRODUCER_EXPIRY_MILLIS: Final = 120_000


def has_expired_consumer(config: BrokerConfig, client: Client, now: int) -> bool:
    """`now` in milliseconds since 1970."""
    return now - client.last_update > config.channel_expired_timeout


def has_expired_producer(client: Client, now: int) -> bool:
    return now - client.last_update > PRODUCER_EXPIRY_MILLIS
