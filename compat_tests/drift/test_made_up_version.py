"""A version that nobody has released, 5.5.1 with four changes: make drift finds these four, and nothing else."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

import pytest

from compat_tests.drift import sources
from compat_tests.drift.__main__ import changes
from compat_tests.drift.facts import (
    HEADER,
    KINDS,
    REMARK,
    REQUEST_CODE,
    SETTING,
    Fact,
    facts,
)

VERSION: Final = "5.5.1"
# (class, what stands there, what stands there in the made-up version).
PATCHES: Final = (
    ("RequestCode", b"PULL_MESSAGE = 11;", b"PULL_MESSAGE = 4711;"),
    ("PullMessageRequestHeader", b"private Integer queueId;", b"private Long queueId;"),
    ("BrokerConfig", b"boolean traceTopicEnable = false;", b"boolean traceTopicEnable = true;"),
    ("QueryMessageProcessor", b"does not match", b"is not at all"),
)
FOUND: Final = {
    Fact(REQUEST_CODE, "PULL_MESSAGE"),
    Fact(HEADER, "PullMessageRequestHeader.queueId"),
    Fact(SETTING, "BrokerConfig.traceTopicEnable"),
    Fact(REMARK, "QueryMessageProcessor.viewMessageById"),
}


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    jars = [sources.jar_of(module, VERSION) for module in ("remoting", "common", "broker")]
    return {name: text for jar in jars if jar is not None for name, text in sources.texts(jar)}


def test_four_changes_are_found_and_no_others(files: dict[str, bytes]) -> None:
    patched = dict(files)
    for name, old, new in PATCHES:
        (path,) = (one for one in files if PurePosixPath(one).stem == name)
        assert files[path].count(old) == 1, f"{name} has changed: patch something else in it"
        patched[path] = files[path].replace(old, new)
    found = changes(facts(files.items()), facts(patched.items()))
    assert {one.fact for one in found} == FOUND
    assert len(found) == len(PATCHES)


def test_each_kind_is_found_in_the_real_sources(files: dict[str, bytes]) -> None:
    """But for commands, which are in a module that cannot always be had."""
    kinds = {fact.kind for fact in facts(files.items())}
    assert {*KINDS} - kinds <= {"mqadmin command"}
