"""Settings that RocketMQ 5.5.1 has and TriMQ ignores: harmless here, or refused, and why.

With the declared settings these are all keys of its config classes; a test holds the table against
what was recorded from 5.5.1 (tests/vectors/settings.tsv). Nothing is refused for its name: a value
that promises nothing starts, also `authenticationEnabled=false`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final

from trimq.base.setting_fields import WHEN_GIVEN, WHEN_TRUE, Refusal, unless


@dataclass(frozen=True, slots=True)
class Unheeded:
    """One key without effect: why that does no harm, or when it would. `warning`: values that start, with a warning."""

    key: str
    reason: str
    refusal: Refusal | None = None
    warning: Refusal | None = None
    secret: bool = False


_JAVA: Final = "threads, queues, buffers and mappings of Java; TriMQ has none to tune"
_LOGS: Final = "what RocketMQ writes into its own logs; `--log-level` is TriMQ's"
_METRICS: Final = "details of RocketMQ's metrics; `metricsListen` serves TriMQ's"
_LOAD: Final = "TriMQ never answers that it is too busy because a request has waited"
_HA: Final = "details of RocketMQ's replication that TriMQ's does not have"
_ROCKSDB: Final = "details of the RocksDB store, which TriMQ does not have"
_TIMER: Final = "TriMQ feeds its timer wheel in order, and tries a delivery until it is stored"
_TIMER_ROCKSDB: Final = "timer messages are on the wheel only; TriMQ has no RocksDB"
_TRANSACTIONS: Final = "what ends a half message is written with what it decides, not collected"
_POP: Final = "TriMQ's POP notes and revives in its own way, in RocketMQ's records"
_POP_ROCKSDB: Final = "of RocketMQ's POP in RocksDB (`popConsumerKVServiceEnable`) only, as there"
_POP_RETRY_QUEUE: Final = (
    "what is popped and not acknowledged comes again in queue 0 of its retry topic, which has one"
)
_LITE: Final = "RocketMQ's log and metrics of lite topics; TriMQ has its own"
_LITE_NEWS: Final = "gone in RocketMQ 5.5.1: clients are always told which lite topics have news"
_COMPACTION: Final = "TriMQ rewrites one compacted queue after the other"
_COLD: Final = "details of the control of cold data, which TriMQ does not have"
_ACL: Final = "details of access control, which TriMQ does not have yet"
_CONTROLLER: Final = "details of controllers, which TriMQ does not have yet"
_DELAYS: Final = "delayed messages are delivered by one task, in order"
_RECOVERY: Final = "TriMQ decides by itself what it reads and checks again at a start"
_STORE: Final = "how RocketMQ writes and queues; TriMQ's store has its own ways, and the same files"
_PLACES: Final = "TriMQ reads no file from there"
_SEARCH: Final = "how NameServers are looked up; `namesrvAddr` names them"

_HARMLESS: Final[Mapping[str, str]] = {
    _JAVA: """
        ackMessageThreadPoolNums ackThreadPoolQueueCapacity adminBrokerThreadPoolNums
        adminBrokerThreadPoolQueueCapacity asyncSendEnable clientManageThreadPoolNums
        clientManagerThreadPoolQueueCapacity consumerManageThreadPoolNums
        consumerManagerThreadPoolQueueCapacity enableFastChannelEventProcess
        heartbeatThreadPoolNums heartbeatThreadPoolQueueCapacity highSpeedMode
        litePullMessageThreadPoolNums litePullThreadPoolQueueCapacity
        loadBalanceProcessorThreadPoolNums loadBalanceThreadPoolQueueCapacity
        processReplyMessageThreadPoolNums pullMessageThreadPoolNums pullThreadPoolQueueCapacity
        putMessageFutureThreadPoolNums putThreadPoolQueueCapacity queryMessageThreadPoolNums
        queryThreadPoolQueueCapacity replyThreadPoolQueueCapacity sendMessageThreadPoolNums
        sendThreadPoolQueueCapacity transferMsgByHeap endTransactionPoolQueueCapacity
        endTransactionThreadPoolNums serverAsyncSemaphoreValue serverCallbackExecutorThreads
        serverNettyWorkerGroupEnable serverOnewaySemaphoreValue serverPooledByteBufAllocatorEnable
        serverSelectorThreads serverSocketBacklog serverSocketRcvBufSize serverSocketSndBufSize
        serverWorkerThreads useEpollNativeSelector writeBufferHighWaterMark writeBufferLowWaterMark
        enableShutdownGracefully shutdownWaitTimeSeconds channelNotActiveInterval
        clientAsyncSemaphoreValue clientCallbackExecutorThreads clientChannelMaxIdleTimeSeconds
        clientCloseSocketIfTimeout clientOnewaySemaphoreValue clientPooledByteBufAllocatorEnable
        clientSocketRcvBufSize clientSocketSndBufSize clientWorkerThreads connectTimeoutMillis
        disableCallbackExecutor disableNettyWorkerGroup enableReconnectForGoAway
        maxReconnectIntervalTimeSeconds scanAvailableNameSrv clientRequestThreadPoolNums
        clientRequestThreadPoolQueueCapacity defaultThreadPoolNums defaultThreadPoolQueueCapacity
        unRegisterBrokerQueueCapacity
    """,
    _LOGS: """
        accountStatsEnable accountStatsPrintZeroValues autoDeleteUnusedStats commercialBaseCount
        commercialSizePerMsg enableDetailStat isolateLogEnable
        maxStatsIdleTimeInMinutes printChannelGroups printChannelGroupsMinNum
        enableScheduleMessageStats
    """,
    _METRICS: """
        enableConnectionMetrics enableLagAndDlqMetrics enableMessageStoreMetrics enablePopMetrics
        enableRemotingMetrics enableRequestMetrics enableStatsMetrics enableTransactionMetrics
        estimateAccumulation metricGrpcExporterIntervalInMills metricGrpcExporterTimeOutInMills
        metricLoggingExporterIntervalInMills metricsExportBatchMaxDataPoints
        metricsExportBatchMaxConcurrent metricsExportBatchSplitEnabled metricsExportOtelMemoryMode
        metricsGrpcExporterTarget metricsInDelta metricsLabel metricsOtelCardinalityLimit
        metricsPromExporterHost metricsPromExporterPort
    """,
    _LOAD: """
        brokerFastFailureEnable consumerFallbehindThreshold enableNetWorkFlowControl
        osPageCacheBusyTimeOutMills waitTimeMillsInAckQueue waitTimeMillsInAdminBrokerQueue
        waitTimeMillsInHeartbeatQueue waitTimeMillsInLitePullQueue waitTimeMillsInPullQueue
        waitTimeMillsInSendQueue waitTimeMillsInTransactionQueue
    """,
    _HA: """
        asyncLearner brokerElectionPriority brokerHeartbeatInterval brokerNotActiveTimeoutMillis
        dLegerGroup dLegerPeers dLegerSelfId duplicationEnable
        enableRemoteEscape haMaxTimeSlaveNotCatchup lockInStrictMode
        maxSlaveResendLength preferredLeaderId replicasPerDiskPartition
        sendHeartbeatTimeoutMillis skipPreOnline storePathBrokerIdentity
        storePathDLedgerCommitLog storePathEpochFile syncBrokerMemberGroupPeriod
        syncBrokerMetadataPeriod syncFromLastFile syncMasterFlushOffsetWhenStartup
    """,
    _CONTROLLER: """
        checkSyncStateSetPeriod controllerAddr controllerHeartBeatTimeoutMills
        fetchControllerAddrByDnsLookup syncControllerMetadataPeriod
        controllerRequestThreadPoolQueueCapacity controllerStorePath controllerThreadPoolNums
        controllerType electMasterMaxRetryCount enableElectUncleanMaster mappedFileSize
        notifyBrokerRoleChanged processReadEvent scanInactiveMasterInterval jRaftElectionTimeoutMs
        jRaftGroupId jRaftScanWaitTimeoutMs jRaftSnapshotIntervalSecs inBrokerContainer
    """,
    _ROCKSDB: """
        transWriteOriginTransHalfEnable transactionCheckRocksdbCoreThreads
        transactionCheckRocksdbMaxThreads transactionCheckRocksdbQueueCapacity
        batchDispatchRequestThreadPoolNums bottomMostCompressionTypeForConsumeQueueStore
        cleanRocksDBDirtyCQIntervalMin combineAssignOffsetCQType combineCQEnableCheckSelf
        combineCQLoadingCQTypes combineCQMaxExtraSearchCommitLogFiles combineCQPreferCQType
        combineCQUseRocksdbForLmq enableRocksDBLog iteratorWhenUseRocksdbConsumeQueue
        maxRocksDBIndexQueryDays memTableFlushIntervalMs persistConsumerOffsetIncrementally
        realTimePersistRocksDBConfig rocksdbCompressionType rocksdbFlushWalFrequency
        rocksdbWalFileRollingThreshold statRocksDBCQIntervalSec useSeparateStorePathForRocksdbCQ
        useSingleRocksDBForAllConfigs flushConsumerOffsetHistoryInterval
        rocksdbCQSelectiveDoubleWriteEnable rocksdbMaxSizeAmplificationPercent
    """,
    _TIMER: """
        disappearTimeAfterStart timerColdDataCheckIntervalMs
        timerCheckMetricsWhen timerEnableCheckMetrics timerEnableDisruptor
        timerEnableRetryUntilSuccess timerGetMessageThreadNum timerInterceptDelayLevel timerMetricSmallThreshold
        timerProgressLogIntervalMs timerPutMessageThreadNum timerReputServiceCorePoolSize
        timerReputServiceMaxPoolSize timerReputServiceQueueCapacity timerSkipUnknownError
        timerWheelSnapshotFlush timerWheelSnapshotIntervalMs
    """,
    _TIMER_ROCKSDB: """
        timerRecallToTimeWheelEnable timerRecallToTimelineEnable timerRocksDBPrecisionMs
        timerRocksDBRollIntervalHours timerRocksDBRollMaxTps timerRocksDBRollRangeHours
        timerRocksDBStopScan timerRocksDBTimeExpiredMaxTps
    """,
    _TRANSACTIONS: """
        transactionOpBatchInterval transactionOpMsgMaxSize
    """,
    _POP: """
        appendAckAsync appendCkAsync enableNotifyAfterPopOrderLockRelease
        enableNotifyBeforePopCalculateLag enablePopBatchAck enablePopBufferMerge enablePopLog
        enableSkipLongAwaitingAck
        popCkMaxBufferSize popCkOffsetMaxQueueSize popCkStayBufferTime popCkStayBufferTimeOut
        popConsumerFSServiceInit popConsumerKVServiceInit
        popConsumerKVServiceLog popInflightMessageThreshold popLongPollingForceNotifyInterval
        popOrderLockTimerTickMs popOrderLockTimerTicksPerWheel
        popPollingMapExpireTimeSeconds popPollingMapSize popReviveConcurrency
        pullBatchMaxMessageCount reviveAckWaitMs reviveMaxSlow reviveScanTime
    """,
    _POP_ROCKSDB: """
        popReviveMaxAttemptTimes popReviveMaxReturnSizePerRead popReviveSkipIfGroupAbsent
        popRocksdbBlockCacheSize popRocksdbWriteBufferSize
    """,
    _POP_RETRY_QUEUE: """
        useSeparateRetryQueue
    """,
    _LITE: """
        enableLitePopLog liteLagCountMetricsEnable liteLagLatencyMetricsEnable
    """,
    _LITE_NEWS: """
        enableLiteEventMode
    """,
    _COMPACTION: """
        compactionThreadNum enableBatchPush
    """,
    _COLD: """
        cgColdReadThreshold coldCtrStrategyEnable coldDataScanEnable globalColdReadThreshold
        usePIDColdCtrStrategy
    """,
    _ACL: """
        aclCacheExpiredSecond aclCacheMaxNum aclCacheRefreshSecond authConfigPath
        authenticationMetadataProvider authenticationProvider authenticationStrategy
        authenticationWhitelist authorizationMetadataProvider authorizationProvider
        authorizationStrategy authorizationWhitelist clusterName configName
        statefulAuthenticationCacheExpiredSecond statefulAuthenticationCacheMaxNum
        statefulAuthorizationCacheExpiredSecond statefulAuthorizationCacheMaxNum
        userCacheExpiredSecond userCacheMaxNum userCacheRefreshSecond
    """,
    _DELAYS: """
        enableScheduleAsyncDeliver flushDelayOffsetInterval scheduleAsyncDeliverMaxPendingLimit
        scheduleAsyncDeliverMaxResendNum2Blocked
    """,
    _RECOVERY: """
        checkCRCOnRecover checkCommitLogOffsetOnRecover commitLogRecoverMaxNum
        enableAcceleratedRecovery enableLogConsumeQueueRepeatedlyBuildWhenRecover maxChecksumRange
        maxCheckMessageReuseBufferSize
        maxRecoveryCommitlogFiles recheckReputOffsetFromCq recoverConcurrently
        recoverThreadPoolNums
    """,
    _STORE: """
        accessMessageInMemoryHotRatio autoMessageVersionOnTopicLen cleanSwapedMapInterval commitCommitLogLeastPages
        commitCommitLogThoroughInterval commitIntervalCommitLog commitLogForceSwapMapInterval
        commitLogSwapMapInterval commitLogSwapMapReserveFileNum correctLogicMinOffsetForceInterval
        correctMinOffsetMadviseEnable
        correctLogicMinOffsetSleepInterval dataReadAheadEnable debugLockEnable diskFallRecorded
        dispatchCqCacheNum dispatchCqThreads dispatchFromSenderThread enableAsyncReput
        enableBuildConsumeQueueConcurrently enableCleanExpiredOffset
        enableRunningFlagsInFlush fastFailIfNoBufferInStorePool flushCommitLogTimed
        flushConsumeQueueLeastPages flushLeastPagesWhenWarmMapedFile indexFileReadEnable
        indexFileWriteEnable logicQueueForceSwapMapInterval logicQueueSwapMapInterval
        logicQueueSwapMapReserveFileNum logicalDiskSpaceCleanForciblyThreshold mappedFileSwapEnable
        maxAsyncPutMessageRequests maxBatchDeleteFilesNum maxConsumeQueueScan maxTopicLength
        putConsumeQueueDataByFileChannel putMessageTimeout putMsgIndexHightWater readUnCommitted
        sampleCountThreshold sampleSteps searchBcqByCacheEnable sharedByteBufferNum
        spinLockCollisionRetreatOptimalDegree topicQueueLockNum
        transientStorePoolEnable transientStorePoolSize useABSLock useReentrantLockWhenPutMessage
        wakeCommitWhenPutMessage wakeFlushWhenPutMessage warmMapedFileEnable writeWithoutMmap
        cleanOfflineBrokerInterval
    """,
    _PLACES: "brokerConfigPath productEnvName rocketmqHome",
    _SEARCH: "fetchNamesrvAddrInterval updateNameServerAddrPeriod",
}

_SECRETS: Final[Mapping[str, str]] = {
    "initAuthenticationUser": _ACL,
    "innerClientAuthenticationCredentials": _ACL,
    "metricsGrpcExporterHeader": _METRICS,
}

_WARNED: Final = (
    ("popConsumerKVServiceEnable", WHEN_TRUE, "it has no effect: TriMQ has no RocksDB and keeps what was popped in"
     " the log, and what a RocketMQ broker keeps in RocksDB does not come again; let RocketMQ's consumers acknowledge"
     " all that they have popped before TriMQ starts on its store"),
    ("enablePopMessageThreshold", WHEN_TRUE, "it has no effect: TriMQ does not stop a group that has popped many"
     " messages and acknowledged none of them"),
    ("useStaticSubscription", WHEN_TRUE, "it has no effect: queues are shared out among the clients that are"
     " online, not by the subscriptions that a group has been given"),
    ("useSeparateRetryQueue", WHEN_TRUE, "it has no effect: what is popped and not acknowledged comes again in queue 0"
     " of its retry topic, and not in the queue of its number; queues that a RocketMQ broker has made are read"),
)  # fmt: skip

_NO_ACL: Final = (
    "TriMQ has no access control yet, and this broker would be open to everybody: keep it on RocketMQ; or, where"
    " only trusted hosts can reach it, set {key}=false"
)
_NO_ROCKSDB: Final = (
    "TriMQ cannot read or write RocksDB, and the data there would be missing: keep this broker on RocketMQ, or set"
    " {harmless} for a store without it"
)
_NO_CONTROLLER: Final = (
    "TriMQ has no controllers yet: run this process with RocketMQ; TriMQ's brokers need none"
)
_NO_CRC: Final = (
    "TriMQ writes no checksums of properties: set {key}=false, or keep this broker on RocketMQ"
)
_NO_SEARCH: Final = (
    "TriMQ does not look NameServers up: set {key}=false and name them,"
    " namesrvAddr=HOST:PORT;HOST:PORT"
)

_REFUSED: Final = (
    ("enableControllerMode", WHEN_TRUE, "TriMQ has no controllers yet: set enableControllerMode=false and"
     " brokerRole=ASYNC_MASTER for a master of its own, or leave this broker to RocketMQ"),
    ("enableControllerInNamesrv", WHEN_TRUE, "TriMQ has no controllers yet: set enableControllerInNamesrv=false for a"
     " plain NameServer, and run the controller with RocketMQ"),
    ("enableDLegerCommitLog", WHEN_TRUE, "TriMQ has no DLedger: every node would be a master of its own and the data"
     " split; set enableDLegerCommitLog=false for a single broker, or keep this one on RocketMQ"),
    ("allAckInSyncStateSet", WHEN_TRUE, "TriMQ has no controllers yet, whose in-sync set this asks: set"
     " allAckInSyncStateSet=false, or leave this broker to RocketMQ"),
    ("enableSlaveActingMaster", WHEN_TRUE, "TriMQ's slaves do not act for a master that is gone yet: set"
     " enableSlaveActingMaster=false, or keep this broker on RocketMQ"),
    ("storeType", unless("default"), _NO_ROCKSDB.format(harmless="storeType=default")),
    ("configManagerVersion", unless("v1", "V1"), _NO_ROCKSDB.format(harmless="configManagerVersion=v1")),
    *(
        (key, WHEN_TRUE, _NO_ROCKSDB.format(harmless=f"{key}=false"))
        for key in ("indexRocksDBEnable", "rocksdbCQDoubleWriteEnable", "timerRocksDBEnable", "transRocksDBEnable")
    ),
    ("messageStorePlugIn", WHEN_GIVEN, "TriMQ loads no store plug-ins (tiered storage): leave it empty, or keep this"
     " broker on RocketMQ"),
    *(
        (key, WHEN_TRUE, _NO_ACL.format(key=key))
        for key in ("authenticationEnabled", "authorizationEnabled", "migrateAuthFromV1Enabled")
    ),
    ("aclEnable", WHEN_TRUE, "it has no effect any more (RocketMQ 5.5.0 has authenticationEnabled and"
     " authorizationEnabled instead, and TriMQ no access control yet): set aclEnable=false once only trusted hosts can"
     " reach this broker"),
    ("disableConsumeIfConsumerReadSlowly", WHEN_TRUE, "TriMQ does not stop consumers that fall behind: set"
     " disableConsumeIfConsumerReadSlowly=false"),
    ("coldDataFlowControlEnable", WHEN_TRUE, "TriMQ does not slow down readers of cold data: set"
     " coldDataFlowControlEnable=false"),
    ("enabledAppendPropCRC", WHEN_TRUE, _NO_CRC.format(key="enabledAppendPropCRC")),
    ("forceVerifyPropCRC", WHEN_TRUE, _NO_CRC.format(key="forceVerifyPropCRC")),
    ("fetchNamesrvAddrByAddressServer", WHEN_TRUE, _NO_SEARCH.format(key="fetchNamesrvAddrByAddressServer")),
    ("fetchNameSrvAddrByDnsLookup", WHEN_TRUE, _NO_SEARCH.format(key="fetchNameSrvAddrByDnsLookup")),
    ("metricsExporterType", unless("0", "DISABLE"), "TriMQ does not export RocketMQ's metrics yet: set"
     " metricsExporterType=DISABLE, and metricsListen=HOST:PORT for TriMQ's own"),
    ("useTLS", WHEN_TRUE, "set tls.enable=true to use TLS with NameServers and other brokers, and useTLS=false"),
    ("socksProxyConfig", unless("{}"), "TriMQ connects to NameServers and other brokers without a "
     "proxy: leave it empty if they can be reached directly"),
    ("clusterTest", WHEN_TRUE, "TriMQ's NameServer does not ask those of another environment: set clusterTest=false"),
    *(
        (key, WHEN_GIVEN, _NO_CONTROLLER)
        for key in ("controllerDLegerGroup", "controllerDLegerPeers", "controllerDLegerSelfId", "jRaftServerId",
                    "jRaftInitConf", "jRaftControllerRPCAddr")
    ),
    # BrokerContainerConfig: its file is not a broker's.
    ("brokerConfigPaths", WHEN_GIVEN, "TriMQ has no broker containers: start one `trimq server --config FILE` for each"
     " of these files"),
)  # fmt: skip


def access_control_details() -> dict[str, Unheeded]:
    """Those of AuthConfig that do no harm; what asks for access control is refused."""
    found = {key: Unheeded(key, _ACL) for key in _HARMLESS[_ACL].split()}
    secrets = [key for key, reason in _SECRETS.items() if reason == _ACL]
    return found | {key: Unheeded(key, _ACL, secret=True) for key in secrets}


@cache
def unheeded() -> Mapping[str, Unheeded]:
    """All of them by key."""
    found = {
        key: Unheeded(key, reason) for reason, keys in _HARMLESS.items() for key in keys.split()
    }
    found |= {key: Unheeded(key, reason, secret=True) for key, reason in _SECRETS.items()}
    found |= {
        key: Unheeded(key, f"a warning when {promise.says}: {why}", warning=Refusal(promise, why))
        for key, promise, why in _WARNED
    }
    found |= {
        key: Unheeded(key, instead, Refusal(promise, instead)) for key, promise, instead in _REFUSED
    }
    return MappingProxyType(found)
