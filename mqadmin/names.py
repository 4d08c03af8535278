"""Every command there is: its name and what it does.

The file of `topicRoute` is `mqadmin/commands/topic_route.py`.
"""

import re
from typing import Final

COMMANDS: Final[dict[str, str]] = {
    "addWritePerm": "Let a broker's topics be written to again, on every NameServer.",
    "allocateMQ": "Show how a topic's queues would be shared among clients.",
    "brokerConsumeStats": "Show how far every group of a broker is behind.",
    "brokerStatus": "Print what a broker measures and says about itself.",
    "cleanExpiredCQ": "Delete expired consume-queue files now.",
    "cleanUnusedTopic": "Delete the queue files of topics that are no more.",
    "cloneGroupOffset": "Give a group the offsets of another one.",
    "clusterList": "List clusters and brokers with their load.",
    "consumeMessage": "Read and print some messages.",
    "consumerConnection": "List the clients of a consumer group and what they subscribe to.",
    "consumerProgress": "Show how far consumer groups are behind.",
    "consumerStatus": "Show what a group's clients say of themselves.",
    "deleteExpiredCommitLog": "Delete expired commit-log files now.",
    "deleteKvConfig": "Remove a key-value entry from every NameServer.",
    "deleteSubGroup": "Delete a consumer group.",
    "deleteTopic": "Delete a topic from brokers and NameServers.",
    "getBrokerConfig": "Print the settings of brokers.",
    "getConsumerConfig": "Print a consumer group's settings on every broker.",
    "getNamesrvConfig": "Print the settings of NameServers.",
    "haStatus": "Show how far slaves are behind their master.",
    "offsets": "Show where a group stands, queue by queue, and what is wrong there.",
    "printMsg": "Print a topic's messages, queue by queue.",
    "printMsgByQueue": "Print or count the messages of one queue.",
    "producer": "List every producer that is connected to a broker.",
    "producerConnection": "List the clients of a producer group.",
    "queryCq": "Show entries of a consume queue.",
    "queryMsgById": "Show a message by its id.",
    "queryMsgByKey": "Find messages by a key or a tag.",
    "queryMsgByOffset": "Show a message by its queue and offset.",
    "queryMsgByUniqueKey": "Show a message by the id that its producer gave it.",
    "resetOffset": "Move a group to an end, an offset or a time: a queue, a topic, or all.",
    "resetOffsetByTime": "Move a group to a time, in a topic or one queue.",
    "sendMessage": "Send one message.",
    "setConsumeMode": "Let a group pull or pop a topic.",
    "skipAccumulatedMessage": "Move a group to the end of a topic.",
    "startMonitoring": "Say again and again which groups are behind or stuck.",
    "statsAll": "Show how much topics take and give, group by group.",
    "subscriptionCheck": "Show which members of a group subscribe differently, and what gets lost.",
    "topicClusterList": "List the clusters that have a topic.",
    "topicList": "List topics.",
    "topicRoute": "Show which brokers have which queues of a topic.",
    "topicStatus": "Show the offsets of a topic's queues.",
    "updateBrokerConfig": "Change a setting of running brokers.",
    "updateKvConfig": "Set a key-value entry on every NameServer.",
    "updateNamesrvConfig": "Change a setting of NameServers.",
    "updateOrderConf": "Read, set or delete an ordered topic's entry on the NameServers.",
    "updateSubGroup": "Create or change a consumer group.",
    "updateSubGroupList": "Create or change many consumer groups.",
    "updateTopic": "Create or change a topic.",
    "updateTopicList": "Create or change many topics.",
    "updateTopicPerm": "Change the permissions of a topic.",
    "wipeWritePerm": "Stop writes to a broker's topics, on every NameServer.",
}

OWN: Final = frozenset({"offsets", "resetOffset", "subscriptionCheck"})
"""Commands that the official tool does not have."""

MISSING: Final = (
    "addBroker",
    "checkMsgSendRT",
    "checkRocksdbCqWriteProgress",
    "cleanBrokerMetadata",
    "clusterRT",
    "copyAcl",
    "copyUser",
    "createAcl",
    "createUser",
    "deleteAcl",
    "deleteUser",
    "dumpCompactionLog",
    "electMaster",
    "exportConfigs",
    "exportMetadata",
    "exportMetadataInRocksDB",
    "exportMetrics",
    "exportPopRecord",
    "getAcl",
    "getBrokerEpoch",
    "getBrokerLiteInfo",
    "getColdDataFlowCtrInfo",
    "getControllerConfig",
    "getControllerMetaData",
    "getLiteClientInfo",
    "getLiteGroupInfo",
    "getLiteTopicInfo",
    "getParentTopicInfo",
    "getSyncStateSet",
    "getUser",
    "listAcl",
    "listUser",
    "queryMsgTraceById",
    "remappingStaticTopic",
    "removeBroker",
    "removeColdDataFlowCtrGroupConfig",
    "resetMasterFlushOffset",
    "rocksDBConfigToJson",
    "sendMsgStatus",
    "setCommitLogReadAheadMode",
    "switchTimerEngine",
    "triggerLiteDispatch",
    "updateAcl",
    "updateColdDataFlowCtrGroupConfig",
    "updateControllerConfig",
    "updateStaticTopic",
    "updateUser",
)
"""Commands of the official tool that are not there yet."""


def module_of(command: str) -> str:
    """`topicRoute` to `topic_route`, `allocateMQ` to `allocate_mq`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", command).lower()


def find(text: str) -> str | None:
    """A command by its name in any case, as the official tool finds it."""
    wanted = text.lower()
    return next((name for name in COMMANDS if name.lower() == wanted), None)
