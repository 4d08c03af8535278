"""What people type: examples of each command, as `--help` and docs/mqadmin.md's readers see them.

`-n HOST:PORT` is left out: without it a command asks 127.0.0.1:9876. A test lets every command read its own.
"""

from typing import Final

EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "topicList": ("", "--user", "-c"),
    "topicRoute": ("-t Orders",),
    "topicStatus": ("-t Orders",),
    "topicClusterList": ("-t Orders",),
    "updateTopic": (
        "-c DefaultCluster -t Orders",
        "-b 127.0.0.1:10911 -t Orders -r 16 -w 16",
        "-c DefaultCluster -t Orders -a +message.type=FIFO",
        "-b 127.0.0.1:10911 -t Orders -r 4 -w 4 --drain --dry-run",
    ),
    "updateTopicList": ("-c DefaultCluster -f topics.json",),
    "updateTopicPerm": ("-b 127.0.0.1:10911 -t Orders -p 4",),
    "updateOrderConf": ("-t Orders -m put -v 'broker-a:4;broker-b:4'", "-t Orders -m get"),
    "deleteTopic": (
        "-c DefaultCluster -t Orders --dry-run",
        "-c DefaultCluster -t Orders",
        "-c DefaultCluster -t Orders,Payments",
    ),
    "updateStaticTopic": ("-b broker-a,broker-b -t Orders -qn 8",),
    "remappingStaticTopic": ("-b broker-b -t Orders --dry-run",),
    "statsAll": ("-a", "-t Orders"),
    "tail": (
        "Orders",
        "Orders -f --tag paid",
        "Orders --since -1h -q broker-a:0 --body json",
    ),
    "sendMessage": (
        "-t Orders -p hello -c paid -k order-1",
        "-t Orders --file orders.txt --lines",
        "-t Orders -p later --delay 30",
    ),
    "printMsg": ("-t Orders -d true",),
    "printMsgByQueue": ("-t Orders -a broker-a -i 0 -p true",),
    "consumeMessage": ("-t Orders -c 10", "-t Orders -b broker-a -i 0 -o 100 -c 1"),
    "queryMsgById": ("-t Orders -i 7F00000100002A9F0000000000000000",),
    "queryMsgByKey": ("-t Orders -k order-1",),
    "queryMsgByOffset": ("-t Orders -b broker-a -i 0 -o 100",),
    "queryMsgByUniqueKey": ("-t Orders -i 7F0000010B3418B4AAC20C3C5C600000",),
    "queryMsgTraceById": ("-i 7F0000010B3418B4AAC20C3C5C600000",),
    "queryCq": ("-t Orders -q 0 -i 0 -c 10",),
    "dumpCompactionLog": ("-f data/compaction/compactionLog/Orders/0/00000000000000000000",),
    "consumerProgress": ("", "-g billing"),
    "offsets": ("-g billing", "-g billing -t Orders --json"),
    "subscriptionCheck": ("-g billing",),
    "consumerConnection": ("-g billing",),
    "consumerStatus": ("-g billing",),
    "producer": ("-b 127.0.0.1:10911",),
    "producerConnection": ("-g shop -t Orders",),
    "getConsumerConfig": ("-g billing",),
    "updateSubGroup": (
        "-c DefaultCluster -g billing",
        "-c DefaultCluster -g billing -r 16 -o true",
    ),
    "updateSubGroupList": ("-c DefaultCluster -f groups.json",),
    "deleteSubGroup": (
        "-c DefaultCluster -g billing --dry-run",
        "-c DefaultCluster -g billing,shipping -r true",
    ),
    "setConsumeMode": ("-c DefaultCluster -t Orders -g billing -m POP -q 8",),
    "allocateMQ": ("-t Orders -i 127.0.0.1@1,127.0.0.1@2",),
    "brokerConsumeStats": ("-b 127.0.0.1:10911",),
    "startMonitoring": ("--interval 60",),
    "resetOffset": (
        "-g billing -t Orders --to latest --dry-run",
        "-g billing -t Orders --to 2026-01-31T12:00:00",
        "-g billing -t Orders -b broker-a -q 0 --to 100",
        "-g billing --all-topics --to earliest",
    ),
    "resetOffsetByTime": (
        "-g billing -t Orders -s 2026-01-31#12:00:00:000",
        "-g billing -t Orders -s now --dry-run",
    ),
    "skipAccumulatedMessage": ("-g billing -t Orders --dry-run",),
    "cloneGroupOffset": ("-s billing -d billing2 -t Orders --dry-run",),
    "clusterList": ("", "-m -i 5"),
    "brokerStatus": ("-b 127.0.0.1:10911", "-c DefaultCluster --json"),
    "getBrokerConfig": ("-b 127.0.0.1:10911",),
    "updateBrokerConfig": ("-b 127.0.0.1:10911 -k fileReservedTime -v 48",),
    "haStatus": ("-b 127.0.0.1:10911", "-c DefaultCluster -i 5"),
    "addBroker": ("-c 127.0.0.1:10811 -b /etc/rocketmq/broker.conf",),
    "removeBroker": ("-c 127.0.0.1:10811 -b DefaultCluster:broker-a:0",),
    "cleanExpiredCQ": ("-b 127.0.0.1:10911 --dry-run",),
    "cleanUnusedTopic": ("-c DefaultCluster --dry-run",),
    "deleteExpiredCommitLog": ("-b 127.0.0.1:10911 --dry-run",),
    "resetMasterFlushOffset": ("-b 127.0.0.1:10921 -o 1048576",),
    "setCommitLogReadAheadMode": ("-c DefaultCluster -m 0",),
    "switchTimerEngine": ("-c DefaultCluster -e F",),
    "getNamesrvConfig": ("",),
    "updateNamesrvConfig": ("-k notifyMinBrokerIdChanged -v true",),
    "updateKvConfig": ("-s settings -k colour -v blue",),
    "deleteKvConfig": ("-s settings -k colour",),
    "wipeWritePerm": ("-b broker-a --dry-run", "-b broker-a"),
    "drainBroker": ("-b broker-a --dry-run", "-b broker-a --ignore-group archive"),
    "addWritePerm": ("-b broker-a",),
    "checkMsgSendRT": ("-t Orders -a 100 -s 128",),
    "clusterRT": ("-a 10 -s 128",),
    "sendMsgStatus": ("-b broker-a -c 10",),
    "exportConfigs": ("-c DefaultCluster -f exported",),
    "exportMetadata": ("-c DefaultCluster -f exported",),
    "exportMetrics": ("-c DefaultCluster -f exported",),
    "getBrokerLiteInfo": ("-b 127.0.0.1:10911", "-c DefaultCluster -d"),
    "getParentTopicInfo": ("-p Chats",),
    "getLiteTopicInfo": ("-p Chats -l room-7",),
    "getLiteClientInfo": ("-p Chats -g readers -c 127.0.0.1@1",),
    "getLiteGroupInfo": ("-p Chats -g readers -l room-7",),
    "triggerLiteDispatch": ("-p Chats -g readers",),
}
"""By command: what follows ``mqadmin COMMAND``."""


def epilog(command: str) -> str | None:
    """What `--help` ends with; None: the command has no examples."""
    found = EXAMPLES.get(command)
    if found is None:
        return None
    lines = [f"  mqadmin {command} {words}".rstrip() for words in found]
    return "\n".join(["\b", "Example:" if len(lines) == 1 else "Examples:", *lines])
