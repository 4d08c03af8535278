"""Comparisons of the commands about static topics and lite topics; see cases.py for the words in braces."""

from __future__ import annotations

from typing import Final

from compat_tests.mqadmin.case import BROKER, CLUSTER, AdminCase, case

BOTH: Final = ("real", "trimq")
LITE: Final = "updateTopic -b {b} -t {topic} -a +message.type=LITE,+lite.topic.expiration=60"
LITE_GROUP: Final = "updateSubGroup -b {b} -g {group} --attributes +lite.bind.topic={topic}"
# Numbers of queues and offsets of the server's own tables.
SIZES: Final = ((r"(?m)^(<broker> *\S+ +\d+ +\d+ +\d+ +\d+ +)\d+ +\d+ +", r"\1<sizes> "),)
STATIC: Final = f"updateStaticTopic -b {BROKER} -t {{topic}} -qn 4"
AGO: Final = ((r"\(\d+ s ago\)", "(<n> s ago)"),)

TOPIC_CASES: Final[tuple[AdminCase, ...]] = (
    case("updateStaticTopic", STATIC, "topicRoute -t {topic}", "topicRoute -t {topic} -l"),
    case(
        "updateStaticTopic",
        STATIC,
        f"updateStaticTopic -c {CLUSTER} -t {{topic}} -qn 6",
        "topicRoute -t {topic}",
        name="more queues",
    ),
    case(
        "remappingStaticTopic",
        STATIC,
        f"remappingStaticTopic -b {BROKER} -t {{topic}}",
        "topicRoute -t {topic}",
    ),
    case(
        "updateStaticTopic",
        STATIC,
        "sendMessage -t {topic} -p hello -b __syslo__global__ -i 2",
        "topicStatus -t {topic}",
        name="used",
    ),
    case("getBrokerLiteInfo", "getBrokerLiteInfo -b {b}", masks=SIZES),
    case("getBrokerLiteInfo", f"getBrokerLiteInfo -c {CLUSTER}", name="cluster", masks=SIZES),
    case(
        "getBrokerLiteInfo",
        LITE,
        LITE_GROUP,
        "getBrokerLiteInfo -b {b} -d",
        name="detail",
        masks=SIZES,
    ),
    case("getParentTopicInfo", LITE, "getParentTopicInfo -p {topic}"),
    case(
        "getParentTopicInfo",
        LITE,
        LITE_GROUP,
        "getParentTopicInfo -p {topic}",
        name="with a group",
    ),
    case(
        "getParentTopicInfo",
        "getParentTopicInfo -p {sent}",
        name="plain topic",
        refused_by=BOTH,
    ),
    case("getLiteTopicInfo", LITE, "getLiteTopicInfo -p {topic} -l one -s"),
    case(
        "getLiteTopicInfo",
        "getLiteTopicInfo -p {sent} -l one",
        name="plain topic",
        refused_by=BOTH,
    ),
    case(
        "getLiteClientInfo",
        LITE,
        LITE_GROUP,
        "getLiteClientInfo -p {topic} -g {group} -c {client} -s",
    ),
    case(
        "getLiteClientInfo",
        "getLiteClientInfo -p {sent} -g {member} -c {client} -s",
        name="plain topic",
        refused_by=BOTH,
    ),
    case("getLiteGroupInfo", LITE, LITE_GROUP, "getLiteGroupInfo -p {topic} -g {group}", masks=AGO),
    case(
        "getLiteGroupInfo",
        LITE,
        LITE_GROUP,
        "getLiteGroupInfo -p {topic} -g {group} -l one -k 3",
        name="one",
        masks=AGO,
    ),
    case(
        "getLiteGroupInfo",
        "getLiteGroupInfo -p {sent} -g {member}",
        name="plain group",
        masks=AGO,
        refused_by=BOTH,
    ),
    case(
        "triggerLiteDispatch",
        LITE,
        LITE_GROUP,
        f"triggerLiteDispatch -p {{topic}} -g {{group}} -b {BROKER}",
    ),
    case(
        "triggerLiteDispatch",
        "triggerLiteDispatch -p {sent} -g {member}",
        name="plain group",
        refused_by=BOTH,
    ),
)
