"""mqadmin, the official one and ours, on the real server and on TriMQ: all print the same."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from compat_tests.mqadmin import cases_groups
from compat_tests.mqadmin.case import AdminCase
from compat_tests.mqadmin.cases import CASES
from compat_tests.mqadmin.stage import COMPARED, REFERENCE, AdminStage, Side
from compat_tests.ours import builds
from compat_tests.processes import free_port
from compat_tests.real import Launcher
from mqadmin.names import COMMANDS, OWN


@pytest.fixture(scope="module")
def stage(launch: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AdminStage]:
    made = AdminStage(launch, tmp_path_factory.mktemp("mqadmin"), builds()["pure"])
    yield made
    made.close()


def test_every_command_is_compared() -> None:
    assert {case.command for case in CASES} == set(COMMANDS) - OWN
    assert len({str(case) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("side", COMPARED, ids="-on-".join)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_text(stage: AdminStage, case: AdminCase, side: Side) -> None:
    if case.waits_for is not None and side[1] == "trimq":
        if side[0] == "official":
            pytest.skip(f"TriMQ does not answer {case.waits_for} yet")
        # When it does, this fails: then the case waits no more.
        last = stage.printed(case)[side][-1]
        assert f"does not know {case.waits_for}" in last.err
        assert last.code == 1
        return
    shown, reference = stage.shown(case, side), stage.shown(case, REFERENCE)
    if case.differs or case.unordered:
        assert shown == stage.shown(case, ("official", side[1]))
    if case.unordered:
        assert sorted(shown.splitlines()) == sorted(reference.splitlines())
    elif not case.differs:
        assert shown == reference
    failed = [one for one in stage.printed(case)[side] if one.code not in (0, None)]
    assert not failed


# (command line, exit code, what standard error must say)
FAILURES = (
    ("topicRoute -t NoSuchTopic", 1, "has no route of topic 'NoSuchTopic'"),
    ("topicStatus -t NoSuchTopic", 1, "has no route of topic 'NoSuchTopic'"),
    ("topicClusterList -t NoSuchTopic", 1, "has no route of topic 'NoSuchTopic'"),
    ("consumerProgress -g NoSuchGroup", 1, "no broker knows group 'NoSuchGroup'"),
    ("consumerConnection -g NoSuchGroup", 1, "has no route of topic '%RETRY%NoSuchGroup'"),
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
    ("updateTopic -b here -t T", 2, "'here' is no HOST:PORT"),
    ("updateTopic -b {b} -t T -o maybe", 2, "neither true nor false"),
    ("topicRoute -t T --no-such-flag", 2, "No such option"),
    ("topicRout -t T", 2, "Did you mean topicRoute"),
    *cases_groups.FAILURES,
)


@pytest.mark.parametrize("kind", ["real", "trimq"])
@pytest.mark.parametrize(("line", "code", "sentence"), FAILURES, ids=[f[0] for f in FAILURES])
def test_failures_are_sentences(
    stage: AdminStage, kind: str, line: str, code: int, sentence: str
) -> None:
    printed = stage.ours.run(stage.servers[kind].namesrv_addr, stage.words(line, kind))
    assert (printed.code, "Traceback" in printed.err) == (code, False), printed.err
    assert re.search(sentence, printed.err), printed.err


def test_no_name_server_answers(stage: AdminStage) -> None:
    printed = stage.ours.run(f"127.0.0.1:{free_port()}", ["topicList"])
    assert printed.code == 1
    assert printed.err.startswith("mqadmin: no connection to 127.0.0.1:")


@pytest.mark.parametrize("kind", ["real", "trimq"])
def test_a_dead_name_server_is_passed_over(stage: AdminStage, kind: str) -> None:
    alive = stage.servers[kind].namesrv_addr
    printed = stage.ours.run(
        f"127.0.0.1:{free_port()};{alive}", ["topicClusterList", "-t", "TBW102"]
    )
    assert (printed.out, printed.code) == ("DefaultCluster\n", 0)
