"""Comparisons of the commands that send, trace and export, and of those about a broker itself.

See cases.py for the words in braces.
"""

from __future__ import annotations

from typing import Final

from compat_tests.mqadmin.case import BROKER, CLUSTER, AdminCase, case

BOTH: Final = ("real", "trimq")
OWN_SETTINGS: Final = "a broker tells the settings that it has"
# How long a send took, and the mean of it; where it came to lie.
TIMES: Final = (
    (r"(true|false)( +)\d+", r"\1\2<millis>"),
    (r"Avg RT: [\d.]+", "Avg RT: <millis>"),
    (r"rt=\d+ms", "rt=<millis>"),
    (r"queueOffset=\d+", "queueOffset=<n>"),
    (r"(broker-a +)[\d.]+ +", r"\1<mean>"),
    (r"(?m)\|\d+$", "|<mean>"),
    (r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d", "<seconds>"),
)
COST: Final = ((r"\b\d+ms +", "<cost> "),)
VERSIONS: Final = ((r'"(counter|stateVersion)":\d+', r'"\1":<n>'),)
# Load and sizes of that moment, and of that server's own tables.
FIGURES: Final = (
    (r'("\w+"):("?)[\d.E-]+("?)', r"\1:\2<n>\3"),
    # The number of processors is a thread pool's size, which only the real broker has.
    (r'"runtimeEnv":\{[^}]*\}', '"runtimeEnv":<own>'),
)
TABLE_ORDER: Final = "names that share a bucket are written as the server lists them"

MESSAGE_CASES: Final[tuple[AdminCase, ...]] = (
    case(
        "exportConfigs",
        f"exportConfigs -c {CLUSTER} -f {{out}}",
        differs=OWN_SETTINGS,
    ),
    case(
        "exportMetadata",
        f"exportMetadata -c {CLUSTER} -f {{out}}",
        unordered=TABLE_ORDER,
    ),
    case(
        "exportMetadata",
        f"exportMetadata -c {CLUSTER} -t -s -f {{out}}",
        name="special topics",
        unordered=TABLE_ORDER,
    ),
    case(
        "exportMetadata",
        f"exportMetadata -c {CLUSTER} -g -f {{out}}",
        name="groups",
        unordered=TABLE_ORDER,
    ),
    case(
        "exportMetadata",
        "exportMetadata -b {b} -t -f {out}",
        "exportMetadata -b {b} -g -f {out}",
        name="broker",
        unordered=TABLE_ORDER,
        masks=VERSIONS,
    ),
    case("exportMetrics", f"exportMetrics -c {CLUSTER} -f {{out}}", masks=FIGURES),
    case(
        "checkMsgSendRT",
        "updateTopic -b {b} -t {topic} -r 4 -w 4",
        "checkMsgSendRT -t {topic} -a 5 -s 10",
        masks=TIMES,
    ),
    case("checkMsgSendRT", "checkMsgSendRT -t {topic} -a 2", name="new topic", masks=TIMES),
    case("checkMsgSendRT", "checkMsgSendRT -t {sent} -a 1", name="one", masks=TIMES),
    case("sendMsgStatus", f"sendMsgStatus -b {BROKER} -c 3 -s 20", masks=TIMES),
    case("clusterRT", "clusterRT -a 3 -s 10 -i 600", masks=TIMES, interrupted_after=2),
    case(
        "clusterRT",
        f"clusterRT -a 2 -c {CLUSTER} -p true -m here -i 600",
        name="log",
        masks=TIMES,
        interrupted_after=1,
    ),
    case("queryMsgTraceById", "queryMsgTraceById -i {traced}", masks=COST),
    case(
        "queryMsgTraceById",
        "queryMsgTraceById -i {traced} -t RMQ_SYS_TRACE_TOPIC -c 64 -b 0 -e 9999999999999",
        name="every flag",
        masks=COST,
    ),
    case("dumpCompactionLog", "dumpCompactionLog -f {log_file}"),
    case("resetMasterFlushOffset", "resetMasterFlushOffset -b {b} -o 100"),
    case("setCommitLogReadAheadMode", "setCommitLogReadAheadMode -b {b} -m 1"),
    case(
        "setCommitLogReadAheadMode", f"setCommitLogReadAheadMode -c {CLUSTER} -m 0", name="cluster"
    ),
    case("switchTimerEngine", "switchTimerEngine -b {b} -e F"),
    case("switchTimerEngine", f"switchTimerEngine -c {CLUSTER} -e F", name="cluster"),
    case("switchTimerEngine", "switchTimerEngine -b {b} -e R", name="RocksDB", refused_by=BOTH),
    case("addBroker", "addBroker -c {b} -b /no/such/broker.conf", refused_by=BOTH),
    case("removeBroker", f"removeBroker -c {{b}} -b {CLUSTER}:{BROKER}:0", refused_by=BOTH),
)
