"""Whatever a number may be set to, the server starts with it, takes a message, hands it out and ends.

Over the network most of them can be set by anybody; a value that no start survives would end a broker for good.
"""

import logging
import re
from typing import Final

import pytest

from tests.trimq.serving import asks
from trimq.broker.config import BrokerConfig
from trimq.namesrv.config import NamesrvConfig
from trimq.replication.config import ReplicationConfig
from trimq.settings.parsing import Setting, settings_of
from trimq.settings.process import ServerConfig
from trimq.store.config import StoreConfig
from trimq.testing import running_server

CONFIGS: Final = (BrokerConfig, StoreConfig, ReplicationConfig, ServerConfig, NamesrvConfig)
NUMBERS: Final = {
    key: setting
    for config in CONFIGS
    for key, setting in settings_of(config).items()
    if setting.limits() is not None and not setting.declaration.choices
}
# Ports are picked by the test.
PORTS: Final = {"listenPort", "haListenPort"}
# What refuses the send of this test, as it should.
REFUSE_ALL: Final = {"startAcceptSendRequestTimeStamp"}

# Names of times, ratios and the like.
NO_COUNT: Final = re.compile(
    "Time(?!rLog)|Interval|Millis|Mills|Second|Period|TTl|Span|Sec$|Ms$|Ratio|Rate|Probability|Internal"
)
# Counts without a bound of their own, and why a large one costs nothing.
ONLY_COMPARED: Final = {
    "brokerId": "a name",
    "defaultPopShareQueueNum": "clients share no more queues than there are",
    "maxMessageFilterNumForNotification": "a notification looks at few entries, whatever this says",
    "popPollingSize": "compared with the pops that wait, whose memory has a budget",
    "maxPopPollingSize": "compared with the pops that wait, whose memory has a budget",
    "maxClientEventCount": "compared with lite topics that have news",
    "maxLiteSubscriptionCount": "compared with the subscriptions there are",
    "liteLagLatencyTopK": "compared with the lite topics that a group is behind in",
    "transactionCheckMax": "compared with how often was asked",
    "consumerOffsetUpdateVersionStep": "compared with a count",
    "delayOffsetUpdateVersionStep": "compared with a count",
    "splitRegistrationSize": "a part is no larger than the table of topics",
    "splitMetadataSize": "a page is no larger than the table",
    "mappedFileSizeCommitLog": "files are sparse",
    "mappedFileSizeConsumeQueue": "files are sparse",
    "mappedFileSizeConsumeQueueExt": "files are sparse",
    "mapperFileSizeBatchConsumeQueue": "files are sparse",
    "mappedFileSizeTimerLog": "files are sparse",
    "compactionMappedFileSize": "files end where they are full",
    "compactionCqMappedFileSize": "files end where they are full",
    "bitMapLengthConsumeQueueExt": "no effect",
    "maxLmqConsumeQueueNum": "compared with the light queues there are",
    "flushCommitLogLeastPages": "compared with what is unflushed",
    "maxMessageSize": "no frame is larger than com.rocketmq.remoting.frameMaxLength",
    "maxTransferBytesOnMessageInMemory": "a pull has a bound in bytes",
    "maxTransferCountOnMessageInMemory": "a pull has a bound in bytes",
    "maxTransferBytesOnMessageInDisk": "a pull has a bound in bytes",
    "maxTransferCountOnMessageInDisk": "a pull has a bound in bytes",
    "maxMsgsNumBatch": "an answer has a bound in bytes",
    "defaultQueryMaxNum": "an answer has a bound in bytes",
    "timerRollWindowSlot": "never more than the wheel has",
    "timerCongestNumEachSlot": "compared with the messages of a slot",
    "maxOffsetMapSize": "a rewriting of a compacted log takes no more than it has keys",
    "deleteFileBatchMax": "one file goes at a time, and others have their turn",
    "recoveryBytes": "compared with what was written",
    "hotBytes": "compared with what was written",
    "haTransferBatchSize": "no effect",
    "haMaxGapNotInSync": "compared with how far a slave is behind",
    "totalReplicas": "no effect",
    "inSyncReplicas": "compared with the slaves there are",
    "minInSyncReplicas": "compared with the slaves there are",
}


def test_a_count_has_an_upper_bound_or_costs_nothing() -> None:
    counts = {
        key
        for key, setting in NUMBERS.items()
        if key not in PORTS
        and not setting.declaration.guarded
        and not NO_COUNT.search(key)
        and setting.declaration.at_most is None
    }
    assert counts == ONLY_COMPARED.keys()


def _extreme(setting: Setting, at: int) -> str:
    limits = setting.limits()
    assert limits is not None
    return str(int(limits[at]))


def _plays(settings: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), running_server(settings=settings) as server:
        for _ in range(2):
            sent = asks.send(server.broker_addr, body=b"b")
            assert (sent.code, sent.remark) == (0, None)
        pulled = asks.pull(server.broker_addr, 0, wait_millis=5000)
        assert (pulled.code, pulled.body is not None) == (0, True)
    failed = [record for record in caplog.records if record.levelno > logging.WARNING]
    assert not failed


@pytest.mark.parametrize("at", [0, 1], ids=["smallest", "largest"])
def test_a_server_starts_with_all_numbers_at_their_ends(
    at: int, caplog: pytest.LogCaptureFixture
) -> None:
    left_out = PORTS | (REFUSE_ALL if at else set())
    _plays({k: _extreme(s, at) for k, s in NUMBERS.items() if k not in left_out}, caplog)


@pytest.mark.parametrize("at", [0, 1], ids=["smallest", "largest"])
def test_a_server_starts_with_each_number_at_its_ends(
    at: int, caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest
) -> None:
    """Those with a bound of their own; under --soak each."""
    every = request.config.getoption("--soak")
    for key, setting in NUMBERS.items():
        if key not in PORTS | REFUSE_ALL and (every or setting.declaration.at_most):
            _plays({key: _extreme(setting, at)}, caplog)
