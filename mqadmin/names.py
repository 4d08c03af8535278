"""Every command there is: its name and what it does.

The file of `topicRoute` is `mqadmin/commands/topic_route.py`.
"""

import re
from typing import Final

COMMANDS: Final[dict[str, str]] = {
    "addBroker": "Let a BrokerContainer start a broker.",
    "addWritePerm": "Let a broker's topics be written to again, on every NameServer.",
    "allocateMQ": "Show how a topic's queues would be shared among clients.",
    "brokerConsumeStats": "Show how far every group of a broker is behind.",
    "brokerStatus": "Print what a broker measures and says about itself.",
    "checkMsgSendRT": "Measure how long sends to a topic take.",
    "cleanExpiredCQ": "Delete expired consume-queue files now.",
    "cleanUnusedTopic": "Delete the queue files of topics that are no more.",
    "cloneGroupOffset": "Give a group the offsets of another one.",
    "clusterList": "List clusters and brokers with their load.",
    "clusterRT": "Measure how long sends to each broker take, again and again.",
    "consumeMessage": "Read and print some messages.",
    "consumerConnection": "List the clients of a consumer group and what they subscribe to.",
    "consumerProgress": "Show how far consumer groups are behind.",
    "consumerStatus": "Show what a group's clients say of themselves.",
    "deleteExpiredCommitLog": "Delete expired commit-log files now.",
    "deleteKvConfig": "Remove a key-value entry from every NameServer.",
    "deleteSubGroup": "Delete a consumer group.",
    "deleteTopic": "Delete a topic from brokers and NameServers.",
    "dumpCompactionLog": "Print the messages of a log's file.",
    "exportConfigs": "Write the settings of a cluster's masters to a file.",
    "exportMetadata": "Write topics and groups to a file.",
    "exportMetrics": "Write load, sizes and client versions of a cluster to a file.",
    "getBrokerConfig": "Print the settings of brokers.",
    "getBrokerLiteInfo": "Show what lite topics take of a broker.",
    "getConsumerConfig": "Print a consumer group's settings on every broker.",
    "getLiteClientInfo": "Show the lite topics that a client reads.",
    "getLiteGroupInfo": "Show how far a group is behind in lite topics.",
    "getLiteTopicInfo": "Show the offsets and subscribers of a lite topic.",
    "getNamesrvConfig": "Print the settings of NameServers.",
    "getParentTopicInfo": "Show what a topic of lite topics holds.",
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
    "queryMsgTraceById": "Show who sent and who consumed a message.",
    "remappingStaticTopic": "Spread a static topic's queues over other brokers.",
    "removeBroker": "Let a BrokerContainer stop one of its brokers.",
    "resetMasterFlushOffset": "Tell a slave how far its master has flushed.",
    "resetOffset": "Move a group to an end, an offset or a time: a queue, a topic, or all.",
    "resetOffsetByTime": "Move a group to a time, in a topic or one queue.",
    "sendMessage": "Send one message.",
    "sendMsgStatus": "Send test messages to a broker's own topic.",
    "setCommitLogReadAheadMode": "Change how brokers read their commit logs ahead.",
    "setConsumeMode": "Let a group pull or pop a topic.",
    "skipAccumulatedMessage": "Move a group to the end of a topic.",
    "startMonitoring": "Say again and again which groups are behind or stuck.",
    "statsAll": "Show how much topics take and give, group by group.",
    "subscriptionCheck": "Show which members of a group subscribe differently, and what gets lost.",
    "switchTimerEngine": "Change where brokers keep timer messages.",
    "topicClusterList": "List the clusters that have a topic.",
    "topicList": "List topics.",
    "topicRoute": "Show which brokers have which queues of a topic.",
    "topicStatus": "Show the offsets of a topic's queues.",
    "triggerLiteDispatch": "Let brokers tell a lite group's clients what there is to read.",
    "updateBrokerConfig": "Change a setting of running brokers.",
    "updateKvConfig": "Set a key-value entry on every NameServer.",
    "updateNamesrvConfig": "Change a setting of NameServers.",
    "updateOrderConf": "Read, set or delete an ordered topic's entry on the NameServers.",
    "updateStaticTopic": "Create a static topic, or give it more queues.",
    "updateSubGroup": "Create or change a consumer group.",
    "updateSubGroupList": "Create or change many consumer groups.",
    "updateTopic": "Create or change a topic.",
    "updateTopicList": "Create or change many topics.",
    "updateTopicPerm": "Change the permissions of a topic.",
    "wipeWritePerm": "Stop writes to a broker's topics, on every NameServer.",
}

OWN: Final = frozenset({"offsets", "resetOffset", "subscriptionCheck"})
"""Commands that the official tool does not have."""

LEFT_OUT: Final[dict[str, tuple[str, ...]]] = {
    "comes with access control": (
        "createUser",
        "updateUser",
        "deleteUser",
        "getUser",
        "listUser",
        "copyUser",
        "createAcl",
        "updateAcl",
        "deleteAcl",
        "getAcl",
        "listAcl",
        "copyAcl",
    ),
    "reads or moves what is kept in RocksDB, which TriMQ does not use": (
        "checkRocksdbCqWriteProgress",
        "exportMetadataInRocksDB",
        "exportPopRecord",
        "rocksDBConfigToJson",
    ),
    "is about flow control for cold data, which TriMQ does not have": (
        "getColdDataFlowCtrInfo",
        "removeColdDataFlowCtrGroupConfig",
        "updateColdDataFlowCtrGroupConfig",
    ),
    "is about Controllers and their brokers, which TriMQ is not": (
        "cleanBrokerMetadata",
        "electMaster",
        "getBrokerEpoch",
        "getControllerConfig",
        "getControllerMetaData",
        "getSyncStateSet",
        "updateControllerConfig",
    ),
}
"""Commands of the official tool that are left out, by the reason; `why_absent` makes it a sentence."""


def module_of(command: str) -> str:
    """`topicRoute` to `topic_route`, `allocateMQ` to `allocate_mq`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", command).lower()


def find(text: str) -> str | None:
    """A command by its name in any case, as the official tool finds it."""
    wanted = text.lower()
    return next((name for name in COMMANDS if name.lower() == wanted), None)


def why_absent(text: str) -> str | None:
    """Why a command of the official tool, in any case, is not here; None for every other word."""
    wanted = text.lower()
    for reason, names in LEFT_OUT.items():
        for name in names:
            if name.lower() == wanted:
                return f"{name} is not supported: it {reason}"
    return None
