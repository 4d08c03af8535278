"""What the comparison of proxies replaces, leaves out and lets differ: no more than that."""

from __future__ import annotations

import base64
from typing import Any, cast

import pytest

from compat_tests.comparing.java_exceptions import PLACEHOLDER
from compat_tests.proxy.cases.catalogue import CASES
from compat_tests.proxy.differences import (
    answered_otherwise,
    asked_otherwise,
    that_count,
    without_java,
)
from compat_tests.proxy.masks import Masks
from compat_tests.proxy.playing import handles
from compat_tests.proxy.recorder import Asked, Recorder
from compat_tests.wire.frames import Frame

HANDLE = "5 1795969174001 30007 3 0 broker-a 1 6 4711"


class Places:
    broker_addr = "127.0.0.1:20911"
    namesrv_addr = "127.0.0.1:29876"


def masks() -> Masks:
    return Masks("rabcdefg", "127.0.0.1:28081", cast(Recorder, Places()))


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (HANDLE, "5 <time> 30*** <revive> 0 broker-a 1 6 <position>"),
        (HANDLE.removesuffix(" 4711"), "5 <time> 30*** <revive> 0 broker-a 1 6"),
        ("127.0.0.1:28081 127.0.0.1:20911 127.0.0.1:29876", "<proxy> <broker> <namesrv>"),
        ("127.0.0.1:40000", "<peer>"),
        ("rabcdefg007t", "<case>t"),
        ("2026-11-29T16:00:00.5Z", "<time>"),
        ("20s", "20s"),
        ("1795969174001", "<millis>"),
        ("the max size 64", "the max size 64"),
    ],
)
def test_what_belongs_to_a_run_is_replaced(text: str, masked: str) -> None:
    assert masks().text(text) == masked


def test_a_recall_handle_is_looked_into() -> None:
    handle = base64.urlsafe_b64encode(b"v1 rabcdefg001t broker-a 1795969174001 ID").decode()
    assert masks().text(handle) == "<recall v1 <case>t broker-a <millis> ID>"


def test_a_batch_is_taken_apart() -> None:
    item = bytes(16) + (2).to_bytes(4, "big") + b"hi" + (3).to_bytes(2, "big") + b"a\x01b"
    item = len(item).to_bytes(4, "big") + item[4:]
    asked = masks().request(Asked("broker", Frame(320, ext={"i": "x\x01y\x02"}, body=item * 2)))
    assert asked["ext"] == {"i": {"x": "y"}}
    assert asked["body"] == [["hi", {"a": "b"}]] * 2


def answered(**status: Any) -> Any:
    return {"before": [], "answer": {"messages": [{"status": status}]}}


def test_only_texts_of_java_may_be_said_in_other_words() -> None:
    thrown = (
        "For input string. NumberFormatException. java.base/X.parse(NumberFormatException.java:67)"
    )
    real = without_java(answered(code="INTERNAL_SERVER_ERROR", message=thrown))
    assert real["answer"]["messages"][0]["status"]["message"] == PLACEHOLDER
    assert not answered_otherwise(real, answered(code="INTERNAL_SERVER_ERROR", message="no number"))
    assert answered_otherwise(real, answered(code="INTERNAL_SERVER_ERROR", message=""))
    assert answered_otherwise(real, answered(code="BAD_REQUEST", message="no number"))
    said = answered(code="FORBIDDEN", message="org.apache.rocketmq.proxy.common.ProxyException: no")
    assert without_java(said) == said
    assert answered_otherwise(said, answered(code="FORBIDDEN", message="no"))


def request(code: int, **ext: str) -> Any:
    return {"to": "broker", "code": code, "oneway": False, "ext": ext, "body": ""}


def test_requests_count_but_for_those_with_a_reason() -> None:
    told = request(310, b="DefaultHeartBeatSyncerTopic")
    sent, route = request(310, b="T"), request(105, topic="T")
    assert that_count([sent, told, route, route, request(34)]) == [route, sent]
    assert not asked_otherwise({"asked": [route, sent]}, {"asked": that_count([sent, route])})
    assert asked_otherwise({"asked": [sent]}, {"asked": []})
    assert asked_otherwise({"asked": [sent]}, {"asked": [request(310, b="T", n="broker-a")]})


def test_a_handle_is_spoilt_in_each_part() -> None:
    made = handles(HANDLE, "handle")
    assert len(set(made.values())) == len(made)
    assert HANDLE not in made.values()


def test_each_case_has_a_name_of_its_own() -> None:
    names = [case.name for cases in CASES.values() for case in cases]
    assert len(names) == len(set(names)) >= 500
