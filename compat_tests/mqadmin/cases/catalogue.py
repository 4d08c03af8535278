"""The command lines that are compared, by command; in each words stand for what the stage knows.

`{topic}` and `{group}` are names of the case's own, removed when a tool has run it; `{b}` is the broker's
address; `{sent}` a topic with messages, `{offset_id}` and `{unique_id}` the ids of one of them; `{member}` a
group with a consumer, `{maker}` one with a producer; `{traced}` the id of a message whose traces are stored;
`{out}` a folder of the run's own, whose files are compared too. A case's lines are run one after the other by the
same tool; all they print is compared.
"""

from __future__ import annotations

from typing import Final

from compat_tests.mqadmin.case import BROKER, CLUSTER, NEW_TOPIC, AdminCase, case
from compat_tests.mqadmin.cases import groups
from compat_tests.mqadmin.cases.messages import MESSAGE_CASES
from compat_tests.mqadmin.cases.topics import TOPIC_CASES

# Runtime values by name: the values are of that moment.
VALUES: Final = (
    (r"_/\S*/commitlog\b", "_<commitlog>"),
    (r"(?m)^(\S+ *: ).*$", r"\1<value>"),
)
OWN_SETTINGS: Final = "a broker prints the settings that it has"
# Rates, hours since the first message, used space.
LOAD: Final = (
    (r" *\d+\.\d\d(?=\(\d)", " <tps>"),
    (r"\b\d+\.\d\d( +)\d\.\d{4}\b", r"<hours>\1<space>"),
    # How many seconds the real broker's idle timers are behind at the moment.
    (r"\b\d{1,2}-0\(0\.0w", "<behind>-0(0.0w"),
)

CASES: Final[tuple[AdminCase, ...]] = (
    case(
        "topicList",
        "topicList",
        unordered="topics that share a bucket are listed as the NameServer lists them",
    ),
    case(
        "topicList",
        "topicList -c",
        name="with groups",
        unordered="topics that share a bucket are listed as the NameServer lists them",
    ),
    case("clusterList", "clusterList", masks=LOAD),
    case("clusterList", "clusterList -m", name="counts"),
    case("clusterList", "clusterList -c NoSuchCluster", name="unknown cluster"),
    case("topicRoute", NEW_TOPIC, "topicRoute -t {topic}"),
    case("topicRoute", NEW_TOPIC, "topicRoute -t {topic} -l", name="list"),
    case("topicClusterList", NEW_TOPIC, "topicClusterList -t {topic}"),
    case("topicStatus", "topicStatus -t {sent}"),
    case("topicStatus", "topicStatus -t {sent} -c " + CLUSTER, name="by cluster"),
    case("topicStatus", NEW_TOPIC, "topicStatus -t {topic}", name="empty"),
    case("updateTopic", "updateTopic -b {b} -t {topic}", name="defaults"),
    case(
        "updateTopic",
        f"updateTopic -c {CLUSTER} -t {{topic}} -r 3 -w 2 -p 4 -u true -s true",
        "topicRoute -t {topic}",
        name="on a cluster",
    ),
    case(
        "updateTopic",
        "updateTopic -b {b} -t {topic} -a +message.type=FIFO,+cleanup.policy=DELETE",
        name="attributes",
    ),
    case(
        "updateTopic",
        "updateTopic -b {b} -t {topic} -w 2 -o true",
        "updateOrderConf -t {topic} -m get",
        f"updateTopic -c {CLUSTER} -t {{topic}} -w 3 -o true",
        "updateOrderConf -t {topic} -m get",
        name="ordered",
    ),
    case("deleteTopic", NEW_TOPIC, f"deleteTopic -t {{topic}} -c {CLUSTER}"),
    case("updateTopicPerm", NEW_TOPIC, "updateTopicPerm -b {b} -t {topic} -p 4"),
    case("updateTopicPerm", NEW_TOPIC, "updateTopicPerm -b {b} -t {topic} -p 6", name="as it was"),
    case(
        "updateTopicPerm",
        NEW_TOPIC,
        f"updateTopicPerm -c {CLUSTER} -t {{topic}} -p 2",
        "topicRoute -t {topic} -l",
        name="on a cluster",
    ),
    case("updateSubGroup", "updateSubGroup -b {b} -g {group}"),
    case(
        "updateSubGroup",
        f"updateSubGroup -c {CLUSTER} -g {{group}} -s true -m true -d true -o true -q 2 -r 5 -i 1 -w 2 -a false",
        name="every flag",
    ),
    case(
        "updateSubGroup",
        "updateSubGroup -b {b} -g {group} -p"
        ' {{"type":"EXPONENTIAL","exponentialRetryPolicy":{{"initial":5000,"max":7200000,"multiplier":2}}}}',
        name="exponential policy",
    ),
    case(
        "updateSubGroup",
        "updateSubGroup -b {b} -g {group} -p"
        ' {{"type":"CUSTOMIZED","customizedRetryPolicy":{{"next":[1000,5000]}}}}',
        name="customized policy",
    ),
    case("deleteSubGroup", "updateSubGroup -b {b} -g {group}", "deleteSubGroup -b {b} -g {group}"),
    case(
        "deleteSubGroup",
        "updateSubGroup -b {b} -g {group}",
        f"deleteSubGroup -c {CLUSTER} -g {{group}} -r true",
        name="on a cluster",
    ),
    case("consumerProgress", "consumerProgress -g {member}"),
    case("consumerProgress", "consumerProgress -g {member} -t {sent}", name="topic"),
    case("consumerProgress", "consumerProgress", name="all groups"),
    case(
        "consumerProgress",
        "consumerProgress -g {member} -s true",
        name="clients",
    ),
    case("consumerConnection", "consumerConnection -g {member}"),
    case("consumerConnection", "consumerConnection -g {member} -b {b}", name="broker"),
    case("producerConnection", "producerConnection -g {maker} -t {sent}"),
    case("queryMsgById", "queryMsgById -t {sent} -i {offset_id}"),
    case(
        "queryMsgById",
        "queryMsgById -t {sent} -i {unique_id} -f UTF-8",
        name="unique id",
    ),
    case(
        "queryMsgById",
        "queryMsgById -t {sent} -i {unique_id} -g {member} -d {client}",
        name="consumed again",
    ),
    case("queryMsgByKey", "queryMsgByKey -t {sent} -k key-1"),
    case("queryMsgByKey", "queryMsgByKey -t {sent} -k TagA -p T", name="tag"),
    case("queryMsgByUniqueKey", "queryMsgByUniqueKey -t {sent} -i {unique_id}"),
    case(
        "queryMsgByUniqueKey",
        "queryMsgByUniqueKey -t {sent} -i {unique_id} -a",
        name="all",
    ),
    case(
        "queryMsgByOffset",
        f"queryMsgByOffset -t {{sent}} -b {BROKER} -i 1 -o 0",
    ),
    case("printMsg", "printMsg -t {sent}"),
    case("printMsg", "printMsg -t {sent} -d false -s TagA", name="tag without body"),
    case("printMsg", "printMsg -t {sent} -s NoSuchTag", name="no match"),
    case("printMsg", "printMsg -t {sent} -b 2001-01-01#00:00:00:000 -e 1000", name="times"),
    case("sendMessage", NEW_TOPIC, f"sendMessage -t {{topic}} -p hello -b {BROKER} -i 2"),
    case(
        "sendMessage",
        NEW_TOPIC,
        f"sendMessage -t {{topic}} -p größer -k k1 -c TagB -b {BROKER} -i 0",
        "printMsg -t {topic}",
        name="keys and tag",
    ),
    case(
        "updateOrderConf",
        "updateOrderConf -t {topic} -m put -v broker-a:4",
        "updateOrderConf -t {topic} -m get",
        "updateOrderConf -t {topic} -m delete",
    ),
    case("getNamesrvConfig", "getNamesrvConfig", differs="TriMQ's NameServer has fewer settings"),
    case(
        "updateNamesrvConfig", "updateNamesrvConfig -k deleteTopicWithBrokerRegistration -v false"
    ),
    case("wipeWritePerm", f"wipeWritePerm -b {BROKER}", f"addWritePerm -b {BROKER}"),
    case("addWritePerm", f"addWritePerm -b {BROKER}"),
    case("wipeWritePerm", "wipeWritePerm -b no-such-broker", name="unknown broker"),
    case("updateKvConfig", "updateKvConfig -s Space -k {topic} -v 1"),
    case(
        "deleteKvConfig",
        "updateKvConfig -s Space -k {topic} -v 1",
        "deleteKvConfig -s Space -k {topic}",
    ),
    case("allocateMQ", NEW_TOPIC, "allocateMQ -t {topic} -i 10.0.0.1,10.0.0.2,10.0.0.3"),
    case("allocateMQ", NEW_TOPIC, "allocateMQ -t {topic} -i a,b,c,d,e", name="too many clients"),
    case("brokerStatus", "brokerStatus -b {b}", masks=VALUES),
    case("getBrokerConfig", "getBrokerConfig -b {b}", differs=OWN_SETTINGS),
    case(
        "getBrokerConfig",
        f"getBrokerConfig -c {CLUSTER}",
        name="cluster",
        differs=OWN_SETTINGS,
    ),
    case(
        "updateBrokerConfig",
        "updateBrokerConfig -b {b} -k msgTraceTopicName -v RMQ_SYS_TRACE_TOPIC",
    ),
    case("cleanExpiredCQ", "cleanExpiredCQ -b {b}"),
    case("cleanExpiredCQ", "cleanExpiredCQ", name="everywhere"),
    case("cleanUnusedTopic", f"cleanUnusedTopic -c {CLUSTER}"),
    case("deleteExpiredCommitLog", "deleteExpiredCommitLog -b {b}"),
    case("getConsumerConfig", "updateSubGroup -b {b} -g {group}", "getConsumerConfig -g {group}"),
    case(
        "printMsgByQueue", f"printMsgByQueue -t {{sent}} -a {BROKER} -i 1 -p true -d true -f true"
    ),
    case("printMsgByQueue", f"printMsgByQueue -t {{sent}} -a {BROKER} -i 1", name="nothing"),
    case("consumeMessage", "consumeMessage -t {sent}"),
    case("consumeMessage", "consumeMessage -t {sent} -c 1", name="one"),
    case("consumeMessage", f"consumeMessage -t {{sent}} -b {BROKER} -i 1 -o 1", name="offset"),
    case("consumeMessage", f"consumeMessage -t {{sent}} -b {BROKER} -i 1 -o 9", name="behind"),
    case("updateTopicList", "updateTopicList -b {b} -f {topics_file}", "topicRoute -t ListedTopic"),
    case(
        "updateSubGroupList",
        "updateSubGroupList -b {b} -f {groups_file}",
        "getConsumerConfig -g ListedGroup",
    ),
    *groups.CASES,
    *MESSAGE_CASES,
    *TOPIC_CASES,
)
