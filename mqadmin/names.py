"""Every command there is: its name and what it does.

The file of `topicRoute` is `mqadmin/commands/topic_route.py`.
"""

import re
from typing import Final

SUBJECTS: Final[dict[str, dict[str, str]]] = {
    "Topics": {
        "topicList": "List topics.",
        "topicRoute": "Show which brokers have which queues of a topic.",
        "topicStatus": "Show the offsets of a topic's queues.",
        "topicClusterList": "List the clusters that have a topic.",
        "updateTopic": "Create or change a topic.",
        "updateTopicList": "Create or change many topics.",
        "updateTopicPerm": "Change the permissions of a topic.",
        "updateOrderConf": "Read, set or delete an ordered topic's entry on the NameServers.",
        "deleteTopic": "Delete a topic from brokers and NameServers.",
        "updateStaticTopic": "Create a static topic, or give it more queues.",
        "remappingStaticTopic": "Spread a static topic's queues over other brokers.",
        "elasticTopic": "Change the number of an ordered topic's queues without losing order.",
        "statsAll": "Show the rates of messages in and out, topic by topic and group by group.",
    },
    "Messages": {
        "tail": "Print a topic's last messages, and with -f the new ones as they come.",
        "sendMessage": "Send messages: from the command line, standard input or files.",
        "printMsg": "Print a topic's messages, queue by queue.",
        "printMsgByQueue": "Print or count the messages of one queue.",
        "consumeMessage": "Read and print some messages.",
        "queryMsgById": "Show a message by its id.",
        "queryMsgByKey": "Find messages by a key or a tag.",
        "queryMsgByOffset": "Show a message by its queue and offset.",
        "queryMsgByUniqueKey": "Show a message by the id that its producer gave it.",
        "queryMsgTraceById": "Show who sent and who consumed a message, from its traces.",
        "queryCq": "Show entries of a consume queue.",
        "dumpCompactionLog": "Print the messages of a log's file.",
    },
    "Groups and clients": {
        "consumerProgress": "Show how far consumer groups are behind.",
        "offsets": "Show where a group stands, queue by queue, and what is wrong there.",
        "subscriptionCheck": "Show which members of a group subscribe differently, and what gets lost.",
        "consumerConnection": "List the clients of a consumer group and what they subscribe to.",
        "consumerStatus": "Show what a group's clients report about themselves.",
        "producer": "List every producer that is connected to a broker.",
        "producerConnection": "List the clients of a producer group.",
        "getConsumerConfig": "Print a consumer group's settings on every broker.",
        "updateSubGroup": "Create or change a consumer group.",
        "updateSubGroupList": "Create or change many consumer groups.",
        "deleteSubGroup": "Delete a consumer group.",
        "setConsumeMode": "Choose whether a group pulls or pops a topic.",
        "allocateMQ": "Show how a topic's queues would be shared among clients.",
        "brokerConsumeStats": "Show how far every group of a broker is behind.",
        "startMonitoring": "Report groups that are behind or stuck, at intervals.",
    },
    "Moving groups": {
        "resetOffset": "Move a group to an end, an offset or a time: a queue, a topic, or all.",
        "resetOffsetByTime": "Move a group to a time, in a topic or one queue.",
        "skipAccumulatedMessage": "Move a group to the end of a topic.",
        "cloneGroupOffset": "Give a group the offsets of another group.",
    },
    "Brokers and clusters": {
        "clusterList": "List clusters and brokers with their load.",
        "brokerStatus": "Print a broker's figures and state.",
        "getBrokerConfig": "Print the settings of brokers.",
        "updateBrokerConfig": "Change a setting of running brokers.",
        "haStatus": "Show how far slaves are behind their master.",
        "addBroker": "Make a BrokerContainer start a broker.",
        "removeBroker": "Make a BrokerContainer stop one of its brokers.",
        "cleanExpiredCQ": "Delete expired consume-queue files now.",
        "cleanUnusedTopic": "Delete the queue files of topics that no longer exist.",
        "deleteExpiredCommitLog": "Delete expired commit-log files now.",
        "resetMasterFlushOffset": "Tell a slave how far its master has flushed.",
        "setCommitLogReadAheadMode": "Change how brokers read their commit logs ahead.",
        "switchTimerEngine": "Change where brokers keep timer messages.",
    },
    "NameServers": {
        "getNamesrvConfig": "Print the settings of NameServers.",
        "updateNamesrvConfig": "Change a setting of NameServers.",
        "updateKvConfig": "Set a key-value entry on every NameServer.",
        "deleteKvConfig": "Remove a key-value entry from every NameServer.",
        "wipeWritePerm": "Stop writes to a broker's topics, on every NameServer.",
        "drainBroker": "Empty a broker that is to leave, and say who holds it up.",
        "addWritePerm": "Allow writes to a broker's topics again, on every NameServer.",
    },
    "Measuring and exporting": {
        "checkMsgSendRT": "Measure how long sends to a topic take.",
        "clusterRT": "Measure how long sends to each broker take, at intervals.",
        "sendMsgStatus": "Send test messages to a broker's own topic.",
        "exportConfigs": "Write the settings of a cluster's masters to a file.",
        "exportMetadata": "Write topics and groups to a file.",
        "exportMetrics": "Write load, sizes and client versions of a cluster to a file.",
    },
    "Lite topics": {
        "getBrokerLiteInfo": "Show the number and sizes of a broker's lite topics.",
        "getParentTopicInfo": "Show the number and state of lite topics below a parent topic.",
        "getLiteTopicInfo": "Show the offsets and subscribers of a lite topic.",
        "getLiteClientInfo": "Show the lite topics that a client reads.",
        "getLiteGroupInfo": "Show how far a group is behind in lite topics.",
        "triggerLiteDispatch": "Make brokers tell the clients of a lite group what there is to read.",
    },
}
"""Commands by what they are about, in the order of the help."""

COMMANDS: Final[dict[str, str]] = {
    name: what for commands in SUBJECTS.values() for name, what in commands.items()
}

OWN: Final = frozenset(
    {"drainBroker", "elasticTopic", "offsets", "resetOffset", "subscriptionCheck", "tail"}
)
"""Commands that the official tool does not have."""

LEFT_OUT: Final[dict[str, tuple[str, ...]]] = {
    "is about access control, which this version does not have yet": (
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
    "is about Controllers and their brokers, which TriMQ does not have": (
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
