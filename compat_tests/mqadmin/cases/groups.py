"""Groups: moving them, what their members say, how far they are behind; and how brokers are doing.

`{mover}` is a group with a consumer of topic `{moved}`, which has read all of it; `{split}` a group with two
consumers that want different tags.
"""

from __future__ import annotations

from typing import Final

from compat_tests.mqadmin.case import CLUSTER, NEW_TOPIC, AdminCase, case

NEW_GROUP: Final = "updateSubGroup -b {b} -g {group}"
CLONED: Final = (NEW_GROUP, "cloneGroupOffset -s {member} -d {group} -t {sent}")
PROGRESS: Final = "consumerProgress -g {group} -t {sent}"
SETTING: Final = "updateBrokerConfig -b {b} -k useServerSideResetOffset -v "
BY_CLIENTS, BY_BROKER = SETTING + "false", SETTING + "true"

# The tools, the stage's clients and other cases' tools have producers of this group.
OTHER_PRODUCERS: Final = ((r"(?m)^producer group \(CLIENT_INNER_PRODUCER\).*\n", ""),)
# When a client pulled and consumed last, how fast it is, which Java objects it has, what its threads do.
MOMENTS: Final = (
    (r"(?:/0x[0-9a-f]{16})?@[0-9a-f]{6,8}\b", "@<object>"),
    (r"\b20\d{12}(\d{3})?\b", "<digits of time>"),
    (r" +\d+\.\d\d\b", " <pace>"),
    (r"(?s)(#Consumer jstack#\n).*TID: \d+ STATE: .*", r"\1<threads>"),
)
# Positions in the log, and sizes of records with addresses in them.
POSITIONS: Final = ((r"physicOffset=\d+, physicSize=\d+", "<position>"),)
# Rates, and counters that are taken every ten seconds, or every hour.
COUNTERS: Final = (
    (r"(?m)( +\d+) +\d+\.\d\d +(\d+\.\d\d)? +\d+ +(\d+|NO_CONSUMER)$", r"\1 <rates> <\3>"),
    (r"<\d+>", "<count>"),
)
# What is behind of groups that other cases are moving.
MOVING: Final = ((r"Diff Total: \d+", "Diff Total: <n>"),)

CASES: Final[tuple[AdminCase, ...]] = (
    case("cloneGroupOffset", *CLONED, PROGRESS),
    case("resetOffsetByTime", *CLONED, "resetOffsetByTime -g {group} -t {sent} -s 0", PROGRESS),
    case(
        "resetOffsetByTime",
        *CLONED,
        "resetOffsetByTime -g {group} -t {sent} -s 0",
        "resetOffsetByTime -g {group} -t {sent} -s now",
        PROGRESS,
        name="now",
    ),
    case(
        "resetOffsetByTime",
        *CLONED,
        "resetOffsetByTime -g {group} -t {sent} -s 2001-01-01#00:00:00:000 -f false",
        PROGRESS,
        name="date",
    ),
    case(
        "resetOffsetByTime",
        NEW_GROUP,
        "resetOffsetByTime -g {group} -t {sent} -s -1",
        PROGRESS,
        name="end",
    ),
    case(
        "resetOffsetByTime",
        *CLONED,
        "resetOffsetByTime -g {group} -t {sent} -s 0 -b {b} -q 1 -o 1",
        PROGRESS,
        name="queue and offset",
    ),
    case(
        "resetOffsetByTime",
        *CLONED,
        "resetOffsetByTime -g {group} -t {sent} -s now -b {b} -q 1",
        PROGRESS,
        name="queue and time",
    ),
    case("resetOffsetByTime", "resetOffsetByTime -g {mover} -t {moved} -s 0", name="online"),
    case(
        "resetOffsetByTime",
        BY_CLIENTS,
        "resetOffsetByTime -g {mover} -t {moved} -s 0",
        BY_BROKER,
        name="online by clients",
    ),
    case(
        "resetOffsetByTime",
        *CLONED,
        BY_CLIENTS,
        "resetOffsetByTime -g {group} -t {sent} -s 0",
        BY_BROKER,
        PROGRESS,
        name="offline by clients",
    ),
    case(
        "resetOffsetByTime",
        *CLONED,
        "resetOffsetByTime -g {group} -t {sent} -s 0",
        BY_CLIENTS,
        "resetOffsetByTime -g {group} -t {sent} -s now -f false",
        BY_BROKER,
        PROGRESS,
        name="only back",
    ),
    case(
        "skipAccumulatedMessage",
        NEW_GROUP,
        "skipAccumulatedMessage -g {group} -t {sent}",
        PROGRESS,
    ),
    case("skipAccumulatedMessage", "skipAccumulatedMessage -g {mover} -t {moved}", name="online"),
    case(
        "skipAccumulatedMessage",
        *CLONED,
        "resetOffsetByTime -g {group} -t {sent} -s 0",
        BY_CLIENTS,
        "skipAccumulatedMessage -g {group} -t {sent}",
        BY_BROKER,
        PROGRESS,
        name="offline by clients",
    ),
    case("consumerStatus", "consumerStatus -g {member}"),
    case("consumerStatus", "consumerStatus -g {member} -b {b}", name="broker"),
    case("consumerStatus", "consumerStatus -g {member} -i {client}", name="client", masks=MOMENTS),
    case(
        "consumerStatus",
        "consumerStatus -g {member} -i {client} -s",
        name="stacks",
        masks=MOMENTS,
    ),
    case("consumerStatus", "consumerStatus -g {split}", name="different subscriptions"),
    case(
        "brokerConsumeStats",
        "brokerConsumeStats -b {b}",
        unordered="groups are listed as the broker keeps them",
        masks=MOVING,
    ),
    case("brokerConsumeStats", "brokerConsumeStats -b {b} -l 9", name="level", masks=MOVING),
    case("brokerConsumeStats", "brokerConsumeStats -b {b} -o true -t 9000", name="ordered"),
    case("queryCq", "queryCq -t {sent} -q 1 -i 0", masks=POSITIONS),
    case("queryCq", "queryCq -t {sent} -q 1 -i 1 -c 1 -b {b}", name="one", masks=POSITIONS),
    case("queryCq", "queryCq -t {sent} -q 1 -i 0 -g {member}", name="group", masks=POSITIONS),
    case("queryCq", "queryCq -t {sent} -q 1 -i 0 -g NoSuchGroup", name="nobody", masks=POSITIONS),
    case(
        "setConsumeMode",
        NEW_TOPIC,
        NEW_GROUP,
        "setConsumeMode -b {b} -t {topic} -g {group} -m POP -q 2",
    ),
    case(
        "setConsumeMode",
        NEW_TOPIC,
        NEW_GROUP,
        f"setConsumeMode -c {CLUSTER} -t {{topic}} -g {{group}} -m PULL",
        name="on a cluster",
    ),
    case(
        "startMonitoring",
        "startMonitoring --rounds 1",
        unordered="groups are found in the list of topics",
    ),
    case(
        "statsAll",
        "statsAll",
        unordered="topics that share a bucket are listed as the NameServer lists them",
        masks=COUNTERS,
    ),
    case("statsAll", "statsAll -t {sent}", name="topic", masks=COUNTERS),
    case("statsAll", NEW_TOPIC, "statsAll -a -t {topic}", name="active"),
    case(
        "producer",
        "producer -b {b}",
        unordered="groups are listed as the broker keeps them",
        masks=OTHER_PRODUCERS,
    ),
    case("haStatus", "haStatus -b {b}", masks=((r"MaxOffset\t\d+", "MaxOffset\t<n>"),)),
    case(
        "haStatus",
        f"haStatus -c {CLUSTER}",
        name="cluster",
        masks=((r"MaxOffset\t\d+", "MaxOffset\t<n>"),),
    ),
)

_RESET: Final = "resetOffsetByTime -g {member} -t {sent}"
# (command line, exit code, what standard error must say)
FAILURES: Final[tuple[tuple[str, int, str], ...]] = (
    (
        "resetOffsetByTime -g NoSuchGroup -t {sent} -s 0",
        1,
        "refused INVOKE_BROKER_TO_RESET_OFFSET.*Group NoSuchGroup does not exist",
    ),
    (
        "resetOffsetByTime -g {member} -t NoSuchTopic -s 0",
        1,
        "has no route for topic 'NoSuchTopic'",
    ),
    (f"{_RESET} -s yesterday", 2, "is not a time: now"),
    (f"{_RESET} -s 0 -b {{b}}", 2, "-b and -q belong together"),
    (f"{_RESET} -s 0 -o 1", 2, "-o needs -b and -q"),
    (f"{_RESET} -s 0 -f maybe", 2, "neither true nor false"),
    (
        f"{_RESET} -s 0 -b {{b}} -q 1 -o 99",
        1,
        r"Target offset 99 not in consume queue range \[0-2\]",
    ),
    ("skipAccumulatedMessage -g NoSuchGroup -t {sent}", 1, "Group NoSuchGroup does not exist"),
    ("skipAccumulatedMessage -g {member}", 2, "Missing option '-t'"),
    ("cloneGroupOffset -s NoSuchGroup -d {member} -t {sent}", 1, "no broker knows group"),
    (
        "cloneGroupOffset -s {member} -d NoSuchGroup -t {sent}",
        1,
        "refused UPDATE_CONSUMER_OFFSET.*Group NoSuchGroup not exist",
    ),
    ("consumerStatus -g NoSuchGroup", 1, "has no route for topic '%RETRY%NoSuchGroup'"),
    ("consumerStatus -g {member} -i nobody", 1, "refused GET_CONSUMER_RUNNING_INFO"),
    ("brokerConsumeStats -b 127.0.0.1:1", 1, "no connection to 127.0.0.1:1"),
    ("brokerConsumeStats -b {b} -l much", 2, "'much' is not a valid integer"),
    ("queryCq -t {sent} -q 99 -i 0", 1, "99@AdminSent is not exist"),
    ("queryCq -t {sent} -q 1 -i 99", 1, "has no entries to show: Index 99 of 1@AdminSent"),
    ("queryCq -t NoSuchTopic -q 0 -i 0", 1, "has no route for topic 'NoSuchTopic'"),
    (
        "setConsumeMode -b {b} -t NoSuchTopic -g {member} -m POP",
        1,
        r"refused SET_MESSAGE_REQUEST_MODE.*topic\[NoSuchTopic\] not exist",
    ),
    ("setConsumeMode -b {b} -t {sent} -g {member} -m PUSH", 2, "'PUSH' is not one of"),
    ("producer -b 127.0.0.1:1", 1, "no connection to 127.0.0.1:1"),
    ("haStatus", 2, "give either -b or -c"),
    ("haStatus -c Nowhere", 1, "no cluster 'Nowhere'"),
    ("offsets -g NoSuchGroup", 1, "no broker has offsets of group 'NoSuchGroup'"),
    ("offsets -g {member} -t NoSuchTopic", 1, "no broker has offsets of group.*'NoSuchTopic'"),
    ("resetOffset -g {member} --to 0", 2, "give either -t or --all-topics"),
    ("resetOffset -g {member} -t {sent} --to -5", 2, "offsets start at 0"),
    ("resetOffset -g {member} -t {sent} --to tomorrow", 2, "is not one of"),
    ("resetOffset -g {member} --all-topics -q 1 --to 0", 2, "-q needs -t"),
    ("resetOffset -g NoSuchGroup -t {sent} --to 0", 1, "Group NoSuchGroup does not exist"),
    ("resetOffset -g NoSuchGroup --all-topics --to 0", 1, "no broker has offsets of group"),
    (
        "resetOffset -g {member} -t {sent} -q 1 --to 99",
        1,
        "queue 1 of topic 'AdminSent' at broker 'broker-a' has the offsets 0 to 2, not 99",
    ),
    ("resetOffset -g {member} -t {sent} -q 9 --to 0", 1, "has no queue 9 of topic 'AdminSent'"),
    ("resetOffset -g {member} -t {sent} -b nobody --to 0", 1, "no broker 'nobody' has"),
)
