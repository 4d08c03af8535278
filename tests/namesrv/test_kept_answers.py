"""Route answers are kept as bytes: whatever changes, everybody gets what would be encoded now."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.namesrv.parts import Parts, ask, text, topic
from trimq.codec.bodies.route import QueueData
from trimq.codec.bodies.topics import TopicQueueMappingInfo
from trimq.processors.namesrv.routes import get_routeinfo_by_topic
from trimq.processors.namesrv.routes.get_routeinfo_by_topic import GetRouteinfoByTopic
from trimq.remoting.contract import RemotingError

NAMES = ("T", "U", "%SYNC_BROKER_MEMBER_T")
BROKERS = ("broker-a", "broker-b")
Step = Callable[[Parts], object]

QUESTIONS: list[tuple[dict[str, str], int]] = [
    ({"topic": name, **other}, version)
    for name in NAMES
    for version in (400, 513)
    for other in (
        {},
        {"acceptStandardJsonOnly": "true"},
        {"__ZONE_MODE": "true", "__ZONE_NAME": "west"},
        {"__ZONE_MODE": "true", "__ZONE_NAME": " "},
    )
]


def answers(processor: GetRouteinfoByTopic) -> list[str]:
    found = []
    for fields, version in QUESTIONS:
        try:
            found.append(text(ask(processor, fields, version=version)))
        except RemotingError as error:
            found.append(error.remark)
    return found


def address(name: str, broker_id: int) -> str:
    return f"10.0.0.{1 + BROKERS.index(name)}:{10911 + 100 * broker_id}"


def registering(values: dict[str, Any]) -> Step:
    def step(parts: Parts) -> None:
        name, broker_id = values["broker_name"], values["broker_id"]
        known = [topic(each, queues=values["queues"], perm=values["perm"]) for each in NAMES]
        parts.register(
            known[: values["count"]],
            peer=None,
            version=values["version"],
            filter_servers=values["filters"],
            mappings=values["mappings"],
            zone=values["zone"],
            broker_name=name,
            broker_addr=address(name, broker_id),
            broker_id=broker_id,
            enable_acting_master=values["acting"],
        )

    return step


def changing(name: str, value: bool) -> Step:
    return lambda parts: parts.change(**{name: value})


brokers = st.sampled_from(BROKERS)
names = st.sampled_from(NAMES)
registrations = st.fixed_dictionaries(
    {
        "broker_name": brokers,
        "broker_id": st.sampled_from([0, 1]),
        "queues": st.sampled_from([1, 4]),
        "perm": st.sampled_from([4, 6]),
        "count": st.sampled_from([0, 2, 3]),
        "version": st.sampled_from([1, 2]),
        "filters": st.sampled_from([[], ["f:1"]]),
        "mappings": st.sampled_from(
            [{}, {"T": TopicQueueMappingInfo(topic="T", bname="broker-b")}]
        ),
        "zone": st.sampled_from([None, "east", "west"]),
        "acting": st.booleans(),
    }
).map(registering)
unregistrations = st.tuples(brokers, st.sampled_from([0, 1])).map(
    lambda each: lambda parts: parts.routes.unregister_broker("c", address(each[0], each[1]), *each)
)
permissions = st.tuples(brokers, st.booleans()).map(
    lambda each: (
        lambda parts: (
            parts.routes.topics.add_write(each[0])
            if each[1]
            else parts.routes.topics.wipe_write(each[0])
        )
    )
)
alone = st.tuples(names, brokers).map(
    lambda each: (
        lambda parts: parts.routes.register_topic(
            each[0], [QueueData(broker_name=each[1], perm=6, read_queue_nums=2)]
        )
    )
)
deletions = st.tuples(names, st.sampled_from([None, "c"])).map(
    lambda each: lambda parts: parts.routes.delete_topic(*each)
)
orders = st.tuples(names, st.sampled_from([None, "broker-a:4", "broker-b:2"])).map(
    lambda each: lambda parts: parts.kv.put("ORDER_TOPIC_CONFIG", *each)
)
order_ends = names.map(lambda name: lambda parts: parts.kv.delete("ORDER_TOPIC_CONFIG", name))
settings = st.tuples(
    st.sampled_from(["order_message_enable", "support_acting_master"]), st.booleans()
).map(lambda each: changing(*each))


@given(
    st.lists(
        registrations
        | unregistrations
        | permissions
        | alone
        | deletions
        | orders
        | order_ends
        | settings,
        min_size=1,
        max_size=12,
    )
)
def test_kept_answers_are_those_of_now(steps: list[Step]) -> None:
    with TemporaryDirectory() as folder:
        parts = Parts(Path(folder))
        keeping = parts.processor(GetRouteinfoByTopic)
        # Brokers that are known, so that most steps change something.
        for name in BROKERS:
            parts.register([topic("T"), topic("U")], broker_name=name, broker_addr=address(name, 0))
        for step in steps:
            answers(keeping)
            step(parts)
            anew = GetRouteinfoByTopic(parts.routes, parts.kv, parts.config, parts.time.millis)
            assert answers(keeping) == answers(anew)


def encodings(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What is encoded from now on."""
    made: list[bytes] = []
    encode = get_routeinfo_by_topic.encode_route

    def noting(data: Any, quoted_keys: bool) -> bytes:
        made.append(encode(data, quoted_keys))
        return made[-1]

    monkeypatch.setattr(get_routeinfo_by_topic, "encode_route", noting)
    return made


def test_an_answer_is_encoded_once(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    parts.register([topic("T"), topic("U")])
    made = encodings(monkeypatch)
    processor = parts.processor(GetRouteinfoByTopic)
    for _ in range(3):
        ask(processor, {"topic": "T"})
        ask(processor, {"topic": "T"}, version=400)
    assert len(made) == 2
    parts.routes.topics.wipe_write("broker-a")
    assert '"perm":4' in text(ask(processor, {"topic": "T"}))
    assert len(made) == 3


def test_what_is_kept_is_bounded(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    parts.register([topic("T"), topic("U")])
    size = len(text(ask(parts.processor(GetRouteinfoByTopic), {"topic": "T"})))
    monkeypatch.setattr(get_routeinfo_by_topic, "_MOST_KEPT", size)
    made = encodings(monkeypatch)
    processor = GetRouteinfoByTopic(parts.routes, parts.kv, parts.config, parts.time.millis)
    # The second is beyond the bound; so the third drops both.
    for name, times in (("T", 1), ("U", 2), ("U", 3), ("U", 3), ("T", 4), ("T", 5)):
        ask(processor, {"topic": name})
        assert len(made) == times
