"""Settings of RocketMQ's proxy that TriMQ's ignores: harmless here, or refused, and why.

With those that are declared (trimq/proxy/config.py, trimq/settings/proxy.py) they are all that `rmq-proxy.json` can
say: ProxyConfig of 5.5.0, and AuthConfig, which RocketMQ reads from the same file. A test holds the table against what
was recorded (tests/vectors/proxy_settings.tsv).
"""

from collections.abc import Mapping
from typing import Final

from trimq.base.setting_fields import WHEN_GIVEN, WHEN_TRUE, Refusal, unless
from trimq.settings.rocketmq import Unheeded, access_control_details

_JAVA: Final = "threads, queues and polling of Java; TriMQ has none to tune"
_CACHES: Final = "tables are bounded by what clients use, and forget it when that is long ago"
_SYNCER: Final = (
    "proxies do not tell each other of their clients: a broker of TriMQ knows those of all proxies"
)
_REMOTING: Final = "4.x clients are not served by this proxy, they ask NameServers and brokers"
_LOGS: Final = "what RocketMQ writes into its own logs; `--log-level` is TriMQ's"
_METRICS: Final = "details of metrics that this proxy does not export"
_NAMES: Final = (
    "TriMQ's proxies have no names: what they have to tell each other goes by the brokers"
)
_LOCAL: Final = "of a proxy within a broker's process, which TriMQ does not have"
_ADDRESS: Final = "clients are always told the address that they have called, or `grpcAdvertise`"
_TRANSACTIONS: Final = (
    "what is forgotten of a transaction is found again by the broker's index, whenever that is"
)
_LATENCY: Final = "a queue of the brokers that take messages is chosen in turn"
_RELAY: Final = "an answer comes when it is there; nothing is held back for it"
_UNUSED: Final = "RocketMQ's proxy itself does nothing with it"

_HARMLESS: Final[Mapping[str, str]] = {
    _JAVA: """
        consumerProcessorThreadPoolNums consumerProcessorThreadPoolQueueCapacity enableGrpcEpoll
        grpcBossLoopNum grpcClientManagerThreadPoolNums grpcClientManagerThreadQueueCapacity
        grpcConsumerThreadPoolNums grpcConsumerThreadQueueCapacity grpcProducerThreadPoolNums
        grpcProducerThreadQueueCapacity grpcRouteThreadPoolNums grpcRouteThreadQueueCapacity
        grpcThreadPoolNums grpcThreadPoolQueueCapacity grpcTransactionThreadPoolNums
        grpcTransactionThreadQueueCapacity grpcWorkerLoopNum lockTimeoutMsInHandleGroup
        metadataThreadPoolNums metadataThreadPoolQueueCapacity producerProcessorThreadPoolNums
        producerProcessorThreadPoolQueueCapacity renewMaxThreadPoolNums renewThreadPoolNums
        renewThreadPoolQueueCapacity returnHandleGroupThreadPoolNums rocketmqMQClientNum
        topicRouteServiceThreadPoolNums topicRouteServiceThreadPoolQueueCapacity
        transactionHeartbeatThreadPoolNums transactionHeartbeatThreadPoolQueueCapacity
        grpcShutdownTimeSeconds tlsCertWatchIntervalMs
    """,
    _CACHES: """
        aclCacheExpiredSeconds aclCacheMaxNum aclCacheRefreshSeconds channelExpiredInSeconds
        contextExpiredInSeconds subscriptionGroupConfigCacheExpiredSeconds
        subscriptionGroupConfigCacheMaxNum topicConfigCacheExpiredSeconds topicConfigCacheMaxNum
        topicRouteServiceCacheExpiredSeconds topicRouteServiceCacheMaxNum userCacheExpiredSeconds
        userCacheMaxNum userCacheRefreshSeconds
    """,
    _SYNCER: """
        heartbeatSyncerThreadPoolNums heartbeatSyncerThreadPoolQueueCapacity
        heartbeatSyncerTopicClusterName heartbeatSyncerTopicName
    """,
    _REMOTING: """
        enableRemotingLocalProxyGrpc localProxyConnectTimeoutMs remotingAccessAddr
        remotingDefaultThreadPoolNums remotingDefaultThreadPoolQueueCapacity
        remotingHeartbeatThreadPoolNums remotingHeartbeatThreadPoolQueueCapacity
        remotingPullMessageThreadPoolNums remotingPullThreadPoolQueueCapacity
        remotingSendMessageThreadPoolNums remotingSendThreadPoolQueueCapacity
        remotingTopicRouteThreadPoolNums remotingTopicRouteThreadPoolQueueCapacity
        remotingUpdateOffsetThreadPoolNums remotingUpdateOffsetThreadPoolQueueCapacity
        remotingWaitTimeMillsInDefaultQueue remotingWaitTimeMillsInHeartbeatQueue
        remotingWaitTimeMillsInPullQueue remotingWaitTimeMillsInSendQueue
        remotingWaitTimeMillsInTopicRouteQueue remotingWaitTimeMillsInUpdateOffsetQueue
    """,
    _LOGS: "enablePrintJstack printJstackInMillis printThreadPoolStatusInMillis",
    _METRICS: """
        metricCollectorAddress metricGrpcExporterIntervalInMills metricGrpcExporterTimeOutInMills
        metricLoggingExporterIntervalInMills metricsGrpcExporterTarget metricsInDelta metricsLabel
        metricsPromExporterHost metricsPromExporterPort
    """,
    _NAMES: "proxyClusterName proxyName",
    _LOCAL: "brokerConfigPath",
    _ADDRESS: "localServeAddr useEndpointPortFromRequest",
    _TRANSACTIONS: """
        transactionDataExpireMillis transactionDataExpireScanPeriodMillis
        transactionDataMaxWaitClearMillis
    """,
    _LATENCY: "detectInterval detectTimeout sendLatencyEnable startDetectorEnable",
    _RELAY: "longPollingReserveTimeInMillis",
    _UNUSED: "namesrvDomainSubgroup regionId traceOn",
}

_WARNED: Final = (
    ("remotingListenPort", WHEN_GIVEN, "4.x clients are not served by this proxy: give them the NameServers' address,"
     " and they connect to the brokers themselves"),
    ("metricCollectorMode", unless("off", "OFF"), "it has no effect: clients are told to keep their metrics to"
     " themselves"),
)  # fmt: skip

_REFUSED: Final = (
    *(
        (key, WHEN_TRUE, "TriMQ has no access control yet, and this proxy would be open to everybody: keep RocketMQ's;"
         f" or, where only trusted hosts can reach it, set {key}=false")
        for key in ("authenticationEnabled", "authorizationEnabled", "migrateAuthFromV1Enabled")
    ),
    ("namesrvDomain", WHEN_GIVEN, "TriMQ does not look NameServers up: leave it out and name them,"
     " namesrvAddr=HOST:PORT;HOST:PORT"),
    ("enableAclRpcHookForClusterMode", WHEN_TRUE, "TriMQ's proxy signs no requests: set"
     " enableAclRpcHookForClusterMode=false, or keep RocketMQ's proxy before brokers with access control"),
    ("metricsExporterType", unless("0", "DISABLE"), "TriMQ's proxy does not export metrics yet: set"
     " metricsExporterType=DISABLE"),
)  # fmt: skip


def unheeded_by_proxy() -> dict[str, Unheeded]:
    """All of them by key."""
    found = {
        key: Unheeded(key, reason) for reason, keys in _HARMLESS.items() for key in keys.split()
    }
    found["metricsGrpcExporterHeader"] = Unheeded(
        "metricsGrpcExporterHeader", _METRICS, secret=True
    )
    found |= {
        key: Unheeded(key, f"a warning when {promise.says}: {why}", warning=Refusal(promise, why))
        for key, promise, why in _WARNED
    }
    found |= {
        key: Unheeded(key, instead, Refusal(promise, instead)) for key, promise, instead in _REFUSED
    }
    return access_control_details() | found
