"""The proxy's settings, under ProxyConfig's names and with its defaults."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProxyConfig:
    """What `rmq-proxy.json` may say."""

    rocketmq_cluster_name: str = "DefaultCluster"
    namesrv_addr: str = ""
    grpc_server_port: int = 8081
    grpc_max_inbound_message_size: int = 130 * 1024 * 1024
    max_message_size: int = 4 * 1024 * 1024
    enable_message_body_empty_check: bool = True
    max_user_property_size: int = 16 * 1024
    user_property_max_num: int = 128
    max_message_group_size: int = 64
    max_lite_topic_size: int = 64
    max_lite_renew_num_per_channel: int = 100
    default_invisible_time_mills: int = 60_000
    min_invisible_time_millis_for_recv: int = 10_000
    max_invisible_time_mills: int = 12 * 3_600_000
    max_delay_time_mills: int = 24 * 3_600_000
    max_transaction_recovery_second: int = 3600
    enable_topic_message_type_check: bool = True
    grpc_client_producer_max_attempts: int = 3
    grpc_client_producer_backoff_initial_millis: int = 10
    grpc_client_producer_backoff_max_millis: int = 1000
    grpc_client_producer_backoff_multiplier: int = 2
    grpc_client_consumer_min_long_polling_timeout_millis: int = 5_000
    grpc_client_consumer_max_long_polling_timeout_millis: int = 20_000
    grpc_client_consumer_long_polling_batch_size: int = 32
    grpc_client_idle_time_mills: int = 120_000
    topic_route_service_cache_refresh_seconds: int = 20
    topic_config_cache_refresh_seconds: int = 20
    subscription_group_config_cache_refresh_seconds: int = 20
    invisible_time_millis_when_clear: int = 1000
    enable_proxy_auto_renew: bool = True
    max_renew_retry_times: int = 3
    renew_ahead_time_millis: int = 10_000
    renew_max_time_millis: int = 3 * 3_600_000
    renew_schedule_period_millis: int = 5_000
    use_delay_level: bool = False
    message_delay_level: str = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
    enable_batch_ack: bool = False
