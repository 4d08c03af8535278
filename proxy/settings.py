"""What a client is told of its settings: its own, and what group and proxy say (GrpcClientSettingsManager)."""

from __future__ import annotations

from trimq.codec.bodies.groups import ExponentialRetryPolicy, SubscriptionGroupConfig
from trimq.proxy.config import ProxyConfig
from trimq.proxy.metadata import Metadata
from trimq.proxy.protos.definition_pb2 import Metric, RetryPolicy, Settings

# CustomizedRetryPolicy's default.
_SECONDS = (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)


class SettingsMerger:
    """Fills in what is not the client's to say."""

    def __init__(self, config: ProxyConfig, metadata: Metadata) -> None:
        self._config = config
        self._metadata = metadata

    def kept(self, settings: Settings) -> Settings:
        """What is remembered of a client: a consumer's missing fields are those of a group with default settings."""
        if not settings.HasField("subscription"):
            return settings
        merged = Settings()
        self._subscription(merged, SubscriptionGroupConfig())
        merged.MergeFrom(settings)
        return merged

    async def merged(self, settings: Settings) -> Settings:
        """What is sent back, and what calls of that client go by."""
        merged = Settings()
        merged.CopyFrom(settings)
        if settings.HasField("publishing"):
            self._publishing(merged)
        elif settings.HasField("subscription"):
            group = await self._metadata.group(settings.subscription.group.name)
            if group is not None:
                self._subscription(merged, group)
        merged.metric.CopyFrom(Metric(on=False))
        return merged

    def _publishing(self, settings: Settings) -> None:
        config = self._config
        settings.backoff_policy.max_attempts = config.grpc_client_producer_max_attempts
        backoff = settings.backoff_policy.exponential_backoff
        backoff.Clear()
        backoff.initial.FromMilliseconds(config.grpc_client_producer_backoff_initial_millis)
        backoff.max.FromMilliseconds(config.grpc_client_producer_backoff_max_millis)
        backoff.multiplier = config.grpc_client_producer_backoff_multiplier
        settings.publishing.validate_message_type = config.enable_topic_message_type_check
        settings.publishing.max_body_size = config.max_message_size

    def _subscription(self, settings: Settings, group: SubscriptionGroupConfig) -> None:
        config = self._config
        subscription = settings.subscription
        subscription.receive_batch_size = config.grpc_client_consumer_long_polling_batch_size
        subscription.long_polling_timeout.FromMilliseconds(
            config.grpc_client_consumer_max_long_polling_timeout_millis
        )
        subscription.fifo = group.consume_message_orderly
        subscription.lite_subscription_quota = lite_quota(group)
        subscription.max_lite_topic_size = config.max_lite_topic_size
        settings.backoff_policy.max_attempts = group.retry_max_times + 1
        _fill_backoff(settings.backoff_policy, group)


def lite_quota(group: SubscriptionGroupConfig) -> int:
    """Lite topics that one client of the group may have (lite.sub.client.quota)."""
    return int(group.attributes.get("lite.sub.client.quota", "2000"))


def backoff_millis(group: SubscriptionGroupConfig, times: int) -> int:
    """Until a message that was consumed so often comes again (RetryPolicy.nextDelayDuration)."""
    policy = group.group_retry_policy
    if policy.type == "EXPONENTIAL":
        growing = policy.exponential_retry_policy or ExponentialRetryPolicy()
        factor = growing.multiplier ** min(max(times, 0), 32)
        return min(growing.max, growing.initial * int(factor))
    next_ones = _custom(group)
    return next_ones[min(max(times, 0) + 2, len(next_ones) - 1)] if next_ones else 0


def _fill_backoff(policy: RetryPolicy, group: SubscriptionGroupConfig) -> None:
    if group.group_retry_policy.type == "EXPONENTIAL":
        growing = group.group_retry_policy.exponential_retry_policy or ExponentialRetryPolicy()
        backoff = policy.exponential_backoff
        backoff.Clear()
        backoff.initial.FromMilliseconds(growing.initial)
        backoff.max.FromMilliseconds(growing.max)
        backoff.multiplier = growing.multiplier
        return
    policy.customized_backoff.Clear()
    for millis in _custom(group):
        policy.customized_backoff.next.add().FromMilliseconds(millis)


def _custom(group: SubscriptionGroupConfig) -> list[int]:
    customized = group.group_retry_policy.customized_retry_policy
    if customized is None:
        return [seconds * 1000 for seconds in _SECONDS]
    return list(customized.next)
