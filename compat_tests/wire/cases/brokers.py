"""Requests of made-up brokers; cluster and broker are named like the case's group and producer."""

from __future__ import annotations

from typing import Any, Final

from compat_tests.wire.asks import ask, body_of
from compat_tests.wire.case import Case, row
from compat_tests.wire.frames import Frame

ADDRESS: Final = "10.0.0.1:10911"
VERSION: Final = {"counter": 1, "stateVersion": 0, "timestamp": 1700000000000}
ROUTE: Final = ask(105, {"topic": "$T"})
UNREGISTER: Final = 104


def topic_config(name: str = "$T", **more: object) -> dict[str, object]:
    usual: dict[str, object] = {
        "attributes": {},
        "order": False,
        "perm": 6,
        "readQueueNums": 4,
        "topicFilterType": "SINGLE_TAG",
        "topicName": name,
        "topicSysFlag": 0,
        "writeQueueNums": 4,
    }
    return {**usual, **more}


def topics_body(*topics: Any, version: Any = None, **more: object) -> bytes:
    """RegisterBrokerBody as JSON."""
    wrapper = {
        "dataVersion": version or VERSION,
        "mappingDataVersion": VERSION,
        "topicConfigTable": {topic["topicName"]: topic for topic in topics},
        "topicQueueMappingDetailMap": {},
        "topicQueueMappingInfoMap": {},
    }
    return body_of({"filterServerList": [], "topicConfigSerializeWrapper": {**wrapper, **more}})


TWO_TOPICS: Final = topics_body(topic_config(), topic_config("other-$T"))


def register(body: bytes = TWO_TOPICS, **fields: object) -> Frame:
    usual: dict[str, object] = {
        "brokerName": "$P",
        "brokerAddr": ADDRESS,
        "clusterName": "$G",
        "haServerAddr": "10.0.0.1:10912",
        "brokerId": 0,
        "enableActingMaster": False,
        "compressed": False,
        "bodyCrc32": 0,
    }
    return ask(103, {**usual, **fields}, body)


def unregister(**fields: object) -> Frame:
    usual = {"brokerName": "$P", "brokerAddr": ADDRESS, "clusterName": "$G", "brokerId": 0}
    return ask(UNREGISTER, {**usual, **fields})


def at(name: str, request: Frame, **more: Any) -> Case:
    return row(f"namesrv: {name}", request, on="namesrv", **more)
