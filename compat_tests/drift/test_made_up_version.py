"""A version that nobody has released, 5.5.1 with four changes: make drift finds these four, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import pytest

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
from compat_tests.drift.made_up import Patch, compiled, patched, texts_of
from compat_tests.servers.artifacts import ROOT
from compat_tests.servers.jvm import PATCHED
from compat_tests.wire.cases.catalogue import cases_by_module

VERSION: Final = "5.5.1"
PATCHES: Final = (
    Patch("RequestCode", b"PULL_MESSAGE = 11;", b"PULL_MESSAGE = 4711;"),
    Patch("PullMessageRequestHeader", b"private Integer queueId;", b"private Long queueId;"),
    Patch(
        "BrokerConfig", b"boolean traceTopicEnable = false;", b"boolean traceTopicEnable = true;"
    ),
    Patch("QueryMessageProcessor", b"does not match", b"is not at all"),
)
FOUND: Final = {
    Fact(REQUEST_CODE, "PULL_MESSAGE"),
    Fact(HEADER, "PullMessageRequestHeader.queueId"),
    Fact(SETTING, "BrokerConfig.traceTopicEnable"),
    Fact(REMARK, "QueryMessageProcessor.viewMessageById"),
}


# What a running broker of it shows: by patch, the wire cases that see it.
RUNNING: Final = {
    Patch("RequestCode", b"HA_STATUS = 907;", b"HA_STATUS = 4907;"): {"ha status: no slaves"},
    Patch("QueryMessageRequestHeader", b"indexType", b"kindOfIndex", 5): {
        "query: by key",
        "query: by tag",
    },
    Patch("MessageStoreConfig", b"maxMsgsNumBatch = 64;", b"maxMsgsNumBatch = 63;"): {
        "query: more than fit"
    },
    Patch("QueryAssignmentProcessor", b"is not allowed to set", b"sets no"): {
        "request mode: of a retry topic"
    },
}
# Has the code's number in it.
USERS: Final = ("AdminBrokerProcessor",)
# The modules of wire cases that are played.
PLAYED: Final = ("modes", "querying")


def played() -> list[str]:
    """The tests of these cases."""
    cases = [
        case
        for module, found in cases_by_module().items()
        if Path(module).stem in PLAYED
        for case in found
    ]
    return [f"compat_tests/wire/test_wire.py::test_same_answer[{case.name}]" for case in cases]


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return texts_of(VERSION)


def test_four_changes_are_found_and_no_others(files: dict[str, bytes]) -> None:
    found = changes(facts(files.items()), facts(patched(files, PATCHES).items()))
    assert {one.fact for one in found} == FOUND
    assert len(found) == len(PATCHES)


def test_each_kind_is_found_in_the_real_sources(files: dict[str, bytes]) -> None:
    """But for commands, which are in a module that cannot always be had."""
    kinds = {fact.kind for fact in facts(files.items())}
    assert {*KINDS} - kinds <= {"mqadmin command"}


def test_the_comparison_finds_four_changes_of_a_running_broker_and_no_others(
    request: pytest.FixtureRequest, files: dict[str, bytes], tmp_path: Path
) -> None:
    if not request.config.getoption("--live"):
        pytest.skip("a real broker is started for it: with --live only")
    classes = compiled(VERSION, files, tuple(RUNNING), USERS, tmp_path)
    environment = {**os.environ, "TRIMQ_REFERENCE": VERSION, PATCHED: str(classes)}
    # In a container the classes are not there.
    environment["TRIMQ_COMPAT_DOCKER"] = "0"
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-p", "no:randomly", "-q", "--live"]
    command += ["--subject=pure", f"--junitxml={report}"]
    command += [f"--basetemp={tmp_path / 'inner'}", *played()]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    cases = list(ElementTree.parse(report).iter("testcase"))
    failed = {case.get("name", "") for case in cases if case.find("failure") is not None}
    wanted = {f"test_same_answer[{name}]" for names in RUNNING.values() for name in names}
    assert failed == wanted, done.stdout[-5000:]
    assert len(cases) == len(played())
