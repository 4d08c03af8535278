"""Command lines of ours that fail, on any server: with an exit code and a sentence."""

from __future__ import annotations

from typing import Final

from compat_tests.mqadmin.cases import groups

# (command line, exit code, what standard error must say)
FAILURES: Final[tuple[tuple[str, int, str], ...]] = (
    ("topicRoute -t NoSuchTopic", 1, "has no route for topic 'NoSuchTopic'"),
    ("topicStatus -t NoSuchTopic", 1, "has no route for topic 'NoSuchTopic'"),
    ("topicClusterList -t NoSuchTopic", 1, "has no route for topic 'NoSuchTopic'"),
    ("consumerProgress -g NoSuchGroup", 1, "no broker knows group 'NoSuchGroup'"),
    ("consumerConnection -g NoSuchGroup", 1, "has no route for topic '%RETRY%NoSuchGroup'"),
    ("producerConnection -g NoSuchGroup -t {sent}", 1, "no producer of group 'NoSuchGroup'"),
    ("queryMsgById -t {sent} -i FFFF", 1, "there is no message FFFF"),
    ("queryMsgByUniqueKey -t {sent} -i FFFF", 1, "there is no message FFFF"),
    ("queryMsgByKey -t {sent} -k no-such-key", 1, "no message with key 'no-such-key'"),
    ("queryMsgByOffset -t {sent} -b broker-a -i 0 -o 999", 1, "has no message at 999"),
    ("queryMsgByOffset -t {sent} -b nobody -i 0 -o 0", 1, "'nobody' does not have topic"),
    ("deleteTopic -t {sent} -c Nowhere", 1, "no cluster 'Nowhere'.*DefaultCluster"),
    ("updateTopic -c Nowhere -t T", 1, "no cluster 'Nowhere'"),
    ("updateTopic -b 127.0.0.1:1 -t T", 1, "no connection to 127.0.0.1:1"),
    ("updateTopic -b {b} -t bad*name", 1, "refused UPDATE_AND_CREATE_TOPIC"),
    ("updateOrderConf -t Unordered -m get", 1, "no entry 'Unordered'"),
    ("wipeWritePerm", 2, "Missing option '-b'"),
    ("updateTopic -t T", 2, "give either -b or -c"),
    ("updateTopic -b here -t T", 2, "'here' is not HOST:PORT"),
    ("updateTopic -b {b} -t T -o maybe", 2, "neither true nor false"),
    ("topicRoute -t T --no-such-flag", 2, "No such option"),
    ("topicRout -t T", 2, "Did you mean topicRoute"),
    *groups.FAILURES,
    ("switchTimerEngine -b {b} -e R", 1, "refused SWITCH_TIMER_ENGINE"),
    ("switchTimerEngine -b {b} -e X", 2, "'X' is not one of 'R', 'F'"),
    ("setCommitLogReadAheadMode -b {b} -m 7", 2, "'7' is not one of '0', '1'"),
    ("addBroker -c {b} -b x.conf", 1, "does not know ADD_BROKER"),
    ("removeBroker -c {b} -b DefaultCluster:broker-a:0", 1, "does not know REMOVE_BROKER"),
    ("removeBroker -c {b} -b broker-a", 2, "is not CLUSTER:NAME:ID"),
    ("exportMetadata -c Nowhere", 1, "no cluster 'Nowhere'"),
    ("exportMetadata -b {b} -f {out}", 2, "either topics .-t. or groups"),
    ("exportConfigs -c DefaultCluster -f /dev/null/x", 1, "cannot write /dev/null/x"),
    ("queryMsgTraceById -i FFFF", 1, "no trace of message FFFF"),
    ("clusterRT -c Nowhere", 1, "no cluster 'Nowhere'"),
    ("dumpCompactionLog -f /no/such/file", 1, "cannot read /no/such/file"),
    ("updateStaticTopic -b nobody -t T -qn 4", 1, "no broker 'nobody'"),
    ("updateStaticTopic -b broker-a -t {sent} -qn 4", 1, "is not a static topic on broker"),
    ("remappingStaticTopic -b broker-a -t NoSuchTopic", 1, "no broker has topic"),
    ("getLiteTopicInfo -p {sent} -l one", 1, "type not match"),
    ("triggerLiteDispatch -p {sent} -g {member}", 1, "is not a LITE group"),
    ("updateTopic -b {b} -t {sent} --drain", 2, "--drain needs the number of queues"),
    ("updateTopic -b {b} -t {sent} --drain -w 2 -p 6", 2, "leave out -a, -p"),
    ("updateTopic -b {b} -t {sent} --drain -w 3 -r 2", 2, "-r must be at least -w"),
    ("updateTopic -b {b} -t NoSuchTopic --drain -w 2", 1, "does not have topic 'NoSuchTopic'"),
    ("createUser -u me", 2, "is about access control"),
)
