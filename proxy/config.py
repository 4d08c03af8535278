"""The proxy's settings, under ProxyConfig's names and with its defaults.

What is declared here is heard; what ProxyConfig has beside it stands in trimq/settings/proxy_keys.py. Times are
milliseconds unless a name says otherwise.
"""

from dataclasses import dataclass
from typing import Any

from trimq.base.setting_fields import setting


def _number(default: int, doc: str, at_least: int = 0, **declared: Any) -> Any:
    return setting(default, doc, at_least=at_least, **declared)


def _long(default: int, doc: str, at_least: int = 0, **declared: Any) -> Any:
    return setting(default, doc, at_least=at_least, long=True, **declared)


@dataclass(frozen=True, slots=True)
class ProxyConfig:
    """What `rmq-proxy.json` may say."""

    rocketmq_cluster_name: str = setting(
        "DefaultCluster",
        "The cluster whose brokers are served; its topic lists them.",
        key="rocketMQClusterName",
    )
    namesrv_addr: str = setting("", "The NameServers, HOST:PORT;HOST:PORT.")
    grpc_server_port: int = _number(8081, "Port for 5.x clients.", at_most=65535)
    grpc_max_inbound_message_size: int = _number(
        130 * 1024 * 1024, "Bytes of one request.", at_least=1
    )
    grpc_max_concurrent_calls_per_connection: int = _number(
        2**31 - 1, "Calls under way on one connection; a bound of the transport counts, too.", 1
    )
    grpc_proxy_relay_request_timeout_in_seconds: int = _long(
        5, "Seconds that a client may take to answer a broker's question.", at_least=1
    )
    max_message_size: int = setting(4 * 1024 * 1024, "Bytes of a body; 0: the broker's word.")
    enable_message_body_empty_check: bool = setting(True, "Refuse messages without a body.")
    max_user_property_size: int = setting(
        16 * 1024, "Bytes of a message's user properties; 0: no bound here."
    )
    user_property_max_num: int = setting(128, "User properties of a message.")
    max_message_group_size: int = setting(64, "Bytes of a message group; 0: no bound.")
    max_lite_topic_size: int = setting(64, "Bytes of a lite topic's name.")
    max_lite_renew_num_per_channel: int = _number(
        100, "Unfinished messages of lite topics that one client may hold."
    )
    max_sync_lite_subscription_rate: int = _number(
        5000, "Sets of lite topics that clients may send a second, all together."
    )
    default_invisible_time_mills: int = _long(
        60_000, "How long a message is invisible that is renewed.", at_least=1
    )
    min_invisible_time_millis_for_recv: int = _long(
        10_000,
        "The shortest time of invisibility that a client may ask for.",
        key="minInvisibleTimeMillsForRecv",
    )
    max_invisible_time_mills: int = _long(12 * 3_600_000, "The longest one; 0: no bound.")
    max_delay_time_mills: int = _long(
        24 * 3_600_000, "The longest delay of a message; 0: no bound."
    )
    max_transaction_recovery_second: int = _long(
        3600, "The longest time that a producer may have an orphaned transaction wait for a check."
    )
    enable_topic_message_type_check: bool = setting(
        True, "A message's type has to be the one of its topic."
    )
    grpc_client_producer_max_attempts: int = _number(3, "Attempts of a producer for a send.", 1)
    grpc_client_producer_backoff_initial_millis: int = _long(10, "The first pause between them.")
    grpc_client_producer_backoff_max_millis: int = _long(1000, "The longest pause between them.")
    grpc_client_producer_backoff_multiplier: int = _number(
        2, "How much longer each pause is than the one before.", at_least=1
    )
    grpc_client_consumer_min_long_polling_timeout_millis: int = _long(
        5_000, "The shortest time that a receiver waits for messages."
    )
    grpc_client_consumer_max_long_polling_timeout_millis: int = _long(
        20_000, "The longest one.", at_least=1
    )
    grpc_client_consumer_long_polling_batch_size: int = _number(
        32, "Messages of one receive.", at_least=1
    )
    grpc_client_idle_time_mills: int = _long(
        120_000, "Silence after which a client's connection is closed.", at_least=1
    )
    topic_route_service_cache_refresh_seconds: int = _number(
        20, "Seconds that a route is remembered.", at_least=1
    )
    topic_config_cache_refresh_seconds: int = _number(
        20, "Seconds that a topic's settings are remembered.", at_least=1
    )
    subscription_group_config_cache_refresh_seconds: int = _number(
        20, "Seconds that a group's settings are remembered.", at_least=1
    )
    invisible_time_millis_when_clear: int = _long(
        1000, "After this, what a client that has gone had not finished comes again."
    )
    enable_proxy_auto_renew: bool = setting(
        True, "Messages stay invisible as long as the client that asks for it works on them."
    )
    max_renew_retry_times: int = _number(3, "Failures in a row after which that ends.")
    renew_ahead_time_millis: int = _long(10_000, "How long before its end invisibility is renewed.")
    renew_max_time_millis: int = _long(3 * 3_600_000, "After this it is not renewed any more.")
    renew_schedule_period_millis: int = _long(
        5_000, "Time between two looks for what has to be renewed.", at_least=1
    )
    use_delay_level: bool = setting(
        False, "Delayed messages go by messageDelayLevel, for brokers without timer messages."
    )
    message_delay_level: str = setting(
        "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h",
        "Delays by level: the brokers' own, with useDelayLevel.",
    )
    enable_batch_ack: bool = setting(False, "Acknowledge many messages in one request (200151).")
    transaction_heartbeat_period_second: int = _number(
        20, "Seconds between two words to brokers of who may be asked about transactions.", 1
    )
    transaction_heartbeat_batch_num: int = _number(
        100, "Producers that one of these words names.", at_least=1
    )
    transaction_data_max_num: int = _number(
        15, "Positions of transactions under way that are remembered for one producer."
    )
    channel_expired_timeout: int = _long(
        120_000, "A client without heartbeats is forgotten after this.", at_least=1000
    )
