"""Each option of the three formats, and the mistakes that people make with it: a sentence, not a wrong answer."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from trimq.spark.errors import WrongOption
from trimq.spark.offsets.source_options import OFFSETS, offsets_options
from trimq.spark.options.parsing import READ, read_options
from trimq.spark.schema import COLUMNS, chosen
from trimq.spark.store.known_topics import check_topics
from trimq.spark.store.options import KNOWN, store_options

SERVER: Final = {"namesrv": "127.0.0.1:9876"}
TOPIC: Final = {**SERVER, "topic": "T"}
SECONDS = "1769860800"
# Texts of an option, and what is said.
Mistakes = Mapping[str, list[tuple[str, str]]]

NUMBER: Final = "not a number from"
_CONNECTION: Mistakes = {
    "namesrv": [("", "namesrv"), ("localhost", "namesrv"), ("a:port", "namesrv")],
    "accessKey": [("me", "belong together")],
    "secretKey": [("hidden", "belong together")],
    "timeoutMs": [("10s", NUMBER), ("0", NUMBER), ("-1", NUMBER)],
    "retries": [("many", NUMBER), ("-1", NUMBER), ("1001", NUMBER)],
    "outageTimeoutMs": [("5m", NUMBER), ("-1", NUMBER), ("1e3", NUMBER)],
    "tls": [("yes", "neither 'true' nor 'false'"), ("1", "neither"), ("on", "neither")],
    "tlsTrustCertPath": [("/no/such/ca.pem", "TLS options: ")],
    "tlsAnyName": [("yes", "neither"), ("1", "neither"), ("no", "neither")],
    "tlsCertPath": [("/no/such.pem", "TLS options: ")],
    "tlsKeyPath": [("/no/such.key", "TLS options: ")],
    "tlsKeyPassword": [],
}
_TIMES: Final = [
    (SECONDS, "look like seconds; 1769860800000 would be 2026-01-31T12:00:00Z"),
    ("1769860800000000", "look like microseconds; 1769860800000 would be 2026-01-31T12:00:00Z"),
    ("2026-01-31T12:00:00", "say the time zone"),
]
_NESTED: Final = [
    (f'{{"T": {SECONDS}}}', "look like seconds"),
    (f'{{"T": {{"a": {{"0": {SECONDS}}}}}}}', "look like seconds"),
    ("2026-01-31T12:00:00Z", "this is not JSON"),
]
_GIVEN: Final = [
    ("first", "write earliest, latest, a time"),
    ('{"T": 17}', "topic 'T' is not a JSON object"),
    ('{"T": {"a": {"0": -3}}}', "-3 is not an offset"),
]
_READ: Mistakes = {
    **_CONNECTION,
    "topic": [("A,,B", "an empty name in it"), ("A,", "an empty name in it")],
    "topics": [("A", "not both")],
    "topicPattern": [("T.*", "not both")],
    "assign": [('{"T": {"a": [0]}}', "not both")],
    "columns": [("boddy", "boddy"), ("body topic", "body topic"), (",", "columns")],
    "startingOffsets": [*_TIMES, *_GIVEN],
    "endingOffsets": [*_TIMES, *_GIVEN, ("earliest", "nothing lies before that")],
    "startingTimestamp": [*_TIMES, ("yesterday", "write a time like")],
    "endingTimestamp": [*_TIMES, ("now", "write a time like")],
    "startingOffsetsByTimestamp": _NESTED,
    "endingOffsetsByTimestamp": _NESTED,
    "startingOffsetsByTimestampStrategy": [
        ("earliest", "neither 'error' nor 'latest'"),
        ("latest", "needs a time to start at"),
    ],
    "tags": [],
    "sql": [],
    "consumerGroup": [],
    "groupIdPrefix": [("my group", "group names consist of"), ("a" * 101, "group names")],
    "pullBatchSize": [("0", NUMBER), ("1025", NUMBER), ("32 messages", NUMBER)],
    "pullsInFlight": [("0", NUMBER), ("257", NUMBER), ("-8", NUMBER)],
    "maxMessagesPerPartition": [("0", NUMBER), ("10k", NUMBER), ("1.5", NUMBER)],
    "minPartitions": [("0", NUMBER), ("auto", NUMBER), ("1000001", NUMBER)],
    "failOnDataLoss": [("no", "neither"), ("0", "neither"), ("ignore", "neither")],
    "maxOffsetsPerTrigger": [("0", NUMBER), ("-1", NUMBER), ("1000/s", NUMBER)],
    "minOffsetsPerTrigger": [("0", NUMBER), ("-1", NUMBER), ("few", NUMBER)],
    "maxTriggerDelay": [("15m", "needs option 'minOffsetsPerTrigger'")],
    "commitGroup": [],
}
_STORE: Mistakes = {
    "path": [("/no/such/store", "is not a store"), ("", "no option is given")],
    "paths": [],
    "table": [("message", "there are: messages"), ("cq", "there are"), ("queues", "there are")],
    "topic": [
        ("Ordres", "did you mean 'Orders'?"),
        ("orders", "did you mean 'Orders'?"),
        ("Orders;Other", "there is no topic 'Orders;Other'"),
    ],
    "topics": [("Ordres", "did you mean 'Orders'?")],
    "columns": [("boddy", "boddy"), ("body topic", "body topic"), (",", "columns")],
    "startTimestamp": [*_TIMES, ("earliest", "not a time like")],
    "endTimestamp": [*_TIMES, ("latest", "not a time like"), ("0", "end before it begins")],
    "brokerName": [("a,b", "2 names for 1 directories")],
    "splitBytes": [("64m", NUMBER), ("0", NUMBER), ("-1", NUMBER)],
    "useConsumeQueue": [("yes", "neither"), ("no", "neither"), ("1", "neither")],
    "storePathCommitLog": [("/no/such/log", "there is no folder /no/such/log")],
    "readOnlyCommitLogStorePaths": [("/no/such/log", "there is no folder /no/such/log")],
    "storageOptions": [("key=value", "storageOptions"), ("[]", "storageOptions")],
}
_OFFSETS: Mistakes = {
    **_CONNECTION,
    "columns": [],
    "topic": [("A,,B", "an empty name in it"), (",", "an empty name in it")],
    "group": [("a,", "an empty name in it"), (",a", "an empty name in it")],
    "rate": [("0", "above 0"), ("fast", "above 0"), ("-5", "above 0")],
    "exactDelays": [("all", NUMBER), ("-1", NUMBER), ("true", NUMBER)],
    "askClients": [("no", "neither"), ("1", "neither"), ("never", "neither")],
    "failOnMissingBroker": [("no", "neither"), ("0", "neither"), ("ignore", "neither")],
    "minIntervalMs": [("1s", NUMBER), ("-1", NUMBER), ("0.5", NUMBER)],
}
# Any text is one: what is wrong with it a broker says, when the job is planned.
FREE: Final = {"tags", "sql", "consumerGroup", "commitGroup", "paths", "tlsKeyPassword"}


def _read(given: dict[str, str]) -> object:
    options = read_options(given)
    return options, chosen(given.get("columns"), COLUMNS)


def _store(given: dict[str, str]) -> object:
    options = store_options(given)
    check_topics(options)
    return options, chosen(given.get("columns"), COLUMNS)


FORMATS: Final[dict[str, tuple[tuple[str, ...], Mistakes, Callable[..., Any], dict[str, str]]]] = {
    "rocketmq": (READ, _READ, _read, TOPIC),
    "rocketmq-store": (KNOWN, _STORE, _store, {}),
    "rocketmq-offsets": (OFFSETS, _OFFSETS, offsets_options, SERVER),
}
CASES: Final = [
    pytest.param(name, option, text, said, id=f"{name} {option}={text[:20]}")
    for name, (_, mistakes, _, _) in FORMATS.items()
    for option, wrong in mistakes.items()
    for text, said in wrong
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("store")
    for folder in ("commitlog", "consumequeue/Orders/0", "consumequeue/Other/0"):
        (found / folder).mkdir(parents=True)
    return found


@pytest.mark.parametrize(("name", "option", "text", "said"), CASES)
def test_a_mistake_is_a_sentence(name: str, option: str, text: str, said: str, root: Path) -> None:
    _, _, read, others = FORMATS[name]
    base = {"path": str(root)} if name == "rocketmq-store" else others
    if option.endswith("sByTimestampStrategy") and text == "earliest":
        base = {**base, "startingTimestamp": "2026-01-31T12:00:00Z"}
    given = {**base, option: text}
    with pytest.raises(WrongOption) as caught:
        read({key: value for key, value in given.items() if value})
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", FORMATS)
def test_every_option_is_in_the_table(name: str) -> None:
    known, mistakes, _, _ = FORMATS[name]
    assert mistakes.keys() == set(known)
    empty = {option for option, wrong in mistakes.items() if not wrong}
    assert empty <= FREE | {"columns"}


@pytest.mark.parametrize("name", FORMATS)
def test_a_misspelt_option_is_named(name: str, root: Path) -> None:
    known, _, read, others = FORMATS[name]
    base = {"path": str(root)} if name == "rocketmq-store" else others
    for option in known:
        for wrong in (option[:-1] + "z", option + "s" if option[-1] != "s" else option[:-2]):
            if wrong.lower() in {one.lower() for one in known}:
                continue
            with pytest.raises(WrongOption, match="there is no option"):
                read({**base, wrong: "x"})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {
                "startingTimestamp": "2026-02-01T00:00:00Z",
                "endingTimestamp": "2026-01-01T00:00:00Z",
            },
            "end before it begins",
        ),
        (
            {
                "startingOffsets": '{"T": {"a": {"0": 9}}}',
                "endingOffsets": '{"T": {"a": {"0": 3}}}',
            },
            "queue 0 of topic 'T' on broker 'a' would end at 3, before it begins at 9",
        ),
        ({"startingOffsets": "latest", "endingOffsets": "earliest"}, "nothing lies before that"),
    ],
)
def test_an_end_before_the_beginning(given: dict[str, str], said: str) -> None:
    with pytest.raises(WrongOption, match=said):
        read_options({**TOPIC, **given})


def test_what_a_store_cannot_know_is_read(root: Path, tmp_path: Path) -> None:
    """A deleted topic, a group's topic without messages, a log by itself."""
    base = {"path": str(root)}
    for given in ({"topic": "%DLQ%g"}, {"topic": "Gone", "useConsumeQueue": "false"}):
        check_topics(store_options({**base, **given}))
    (tmp_path / "commitlog").mkdir()
    check_topics(store_options({"path": str(tmp_path), "topic": "Any"}))
    table = b'{"topicConfigTable": {"Empty": {"topicName": "Empty"}}}'
    (root / "config").mkdir()
    (root / "config/topics.json").write_bytes(table)
    check_topics(store_options({**base, "topic": "Empty"}))
