"""mqadmin, the official one and ours, on the real server and on TriMQ: all print the same."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest

from compat_tests.comparing.records import Records
from compat_tests.mqadmin import recorded
from compat_tests.mqadmin.case import BROKER, AdminCase
from compat_tests.mqadmin.cases.catalogue import CASES
from compat_tests.mqadmin.cases.failures import FAILURES
from compat_tests.mqadmin.draining import ROUTE_SECONDS, Producer, commit
from compat_tests.mqadmin.filling import SENT
from compat_tests.mqadmin.stage import COMPARED, REFERENCE, AdminStage, Side
from compat_tests.mqadmin.texts import check_codes, check_failure
from compat_tests.mqadmin.tools import Printed
from compat_tests.servers.processes import free_port
from tests.patience import until
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.errors import AdminError
from trimq.admin.messages.sending import NewMessage
from trimq.mqadmin.names import COMMANDS, OWN
from trimq.remoting.errors import TransportError


def test_every_command_is_compared() -> None:
    assert {case.command for case in CASES} == set(COMMANDS) - OWN
    assert len({str(case) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("side", COMPARED, ids="-on-".join)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_text(
    stage: AdminStage,
    case: AdminCase,
    side: Side,
    records: Records,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A case that differs is run once more on all sides, as scenarios and wire cases are: a tool gives a server 5 s."""
    try:
        check(stage, case, side)
    except AssertionError as crowded:
        if not stage.play_again(case):
            raise
        with capsys.disabled():
            print(f"\n{case} is run again: {' | '.join(str(crowded).splitlines()[:4])[:400]}")
        check(stage, case, side)
    if records.writing and side == ("ours", "real") and str(case) not in recorded.LIVE:
        found = stage.recorded(case)
        recorded.check(case, found, tmp_path)
        recorded.keep(records, case, found)


def check(stage: AdminStage, case: AdminCase, side: Side) -> None:
    shown, reference = stage.shown(case, side), stage.shown(case, REFERENCE)
    if case.differs or case.unordered:
        assert shown == stage.shown(case, ("official", side[1]))
    if case.unordered:
        assert sorted(shown.splitlines()) == sorted(reference.splitlines())
    elif not case.differs:
        assert shown == reference
    check_codes(case, stage.printed(case)[side], side[1], ours=side[0] == "ours")


@pytest.mark.parametrize("kind", ["real", "trimq"])
@pytest.mark.parametrize(("line", "code", "sentence"), FAILURES, ids=[f[0] for f in FAILURES])
def test_failures_are_sentences(
    stage: AdminStage,
    kind: str,
    line: str,
    code: int,
    sentence: str,
    records: Records,
    tmp_path: Path,
) -> None:
    check_failure(stage.fail(line, kind), code, sentence)
    if records.writing and kind == "real":
        found = stage.recorded_failure(line)
        check_failure(recorded.play_failure(line, found, tmp_path), code, sentence)
        recorded.keep_failure(records, line, found)


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


def _queues(stage: AdminStage, kind: str, topic: str) -> tuple[int, int]:
    """(read, write) queues of a topic."""
    server = stage.servers[kind]
    with BlockingAdminClient(server.namesrv_addr) as admin:
        config = admin.topic_config(server.broker_addr, topic)
    return config.read_queue_nums, config.write_queue_nums


def _consume(stage: AdminStage, kind: str, group: str, topic: str, queues: int) -> None:
    """Start a consumer, and wait until it knows where to begin: at the end of every queue."""
    server = stage.servers[kind]
    stage.official[kind].ask("consumer", server.namesrv_addr, group, topic, "*")
    with BlockingAdminClient(server.namesrv_addr) as admin:

        def begun() -> bool:
            with suppress(AdminError, TransportError):
                owned = admin.queue_owners(group)
                return sum(queue.topic == topic for queue in owned) == queues
            return False

        until(begun, f"{group} has its queues")


def _update(stage: AdminStage, kind: str, topic: str, flags: str) -> Printed:
    server = stage.servers[kind]
    line = f"updateTopic -b {server.broker_addr} -t {topic} {flags}"
    return stage.ours.run(server.namesrv_addr, line.split(" "))


@pytest.mark.parametrize("kind", ["real", "trimq"])
def test_a_drain_loses_no_message(stage: AdminStage, kind: str) -> None:
    server, topic, group = stage.servers[kind], "Drained", f"DrainedGroup-{kind}"
    _update(stage, kind, topic, "-r 6 -w 6")
    _consume(stage, kind, group, topic, 6)
    with Producer(server, topic) as producer:
        until(lambda: len(producer.accepted) > 100, "messages came")
        settle = 3 * ROUTE_SECONDS
        done = _update(stage, kind, topic, f"-w 2 --drain --drain-settle {settle}")
        reached = len(producer.accepted)
        until(lambda: len(producer.accepted) > reached + 100, "more came")
    assert (done.code, producer.failure) == (0, None), done.err
    assert _queues(stage, kind, topic) == (2, 2)
    sent = set(producer.accepted)

    # One list per group, whatever the server: the groups have names of their own.
    def received() -> set[str]:
        return set(stage.official[kind].ask("received", group).out.split())

    until(lambda: received() == sent, "everything is consumed")
    first, *_, last = done.out.splitlines()
    queues = "2 write queues, 6 read queues; queues 2-5 are being drained."
    assert first == f"{server.broker_addr}: {queues}"
    assert last == f"{server.broker_addr}: 2 write queues, 2 read queues; done."


@pytest.mark.parametrize("kind", ["real", "trimq"])
def test_a_drain_that_ends_early_says_how_to_go_on(stage: AdminStage, kind: str) -> None:
    server, topic, stuck = stage.servers[kind], "Clogged", "CloggedGroup"
    _update(stage, kind, topic, "-r 4 -w 4")
    with BlockingAdminClient(server.namesrv_addr) as admin:
        admin.send(NewMessage(topic=topic, body=b"unread"), BROKER, 3)
        place = admin.place_of(topic, BROKER, 3)
        until(lambda: admin.max_offset(place) == 1, "it is in its queue")
    commit(server, stuck, topic, 3, 0)
    flags = "-r 2 -w 2 --drain --drain-settle 0"
    late = _update(stage, kind, topic, f"{flags} --drain-timeout 1")
    assert (late.code, _queues(stage, kind, topic)) == (1, (4, 2))
    assert f"draining {topic}: 1 messages left: {stuck} 1" in late.out
    for sentence in (
        "not drained within 1 s; topic 'Clogged': ",
        "takes no more writes in queues 2-3, which are still read. ",
        f"Not read yet, by group: {stuck} 1. ",
        f"mqadmin updateTopic -b {server.broker_addr} -t {topic} -p 6 -r 4 -w 4",
    ):
        assert sentence in late.err
    line = f"updateTopic -b {server.broker_addr} -t {topic} {flags}"
    stopped = stage.ours.interrupt(server.namesrv_addr, line.split(" "), 2)
    assert "interrupted; topic 'Clogged': " in stopped.err
    assert "Traceback" not in stopped.err
    assert _queues(stage, kind, topic) == (4, 2)
    done = _update(stage, kind, topic, f"{flags} --ignore-group {stuck}")
    assert (done.code, _queues(stage, kind, topic)) == (0, (2, 2))
    grown = _update(stage, kind, topic, "-w 5 --drain")
    assert (grown.code, _queues(stage, kind, topic)) == (0, (5, 5))


@pytest.mark.parametrize("kind", ["real", "trimq"])
def test_official_clients_use_a_static_topic(stage: AdminStage, kind: str) -> None:
    server, topic, group = stage.servers[kind], "StaticUsed", f"StaticUsedGroup-{kind}"
    made = stage.ours.run(
        server.namesrv_addr, ["updateStaticTopic", "-b", BROKER, "-t", topic, "-qn", "3"]
    )
    assert made.code == 0, made.err
    _consume(stage, kind, group, topic, 3)
    bodies = [f"body-{number}" for number in range(6)]
    for number, body in enumerate(bodies):
        where = ["-b", "__syslo__global__", "-i", str(number % 3)] if number % 2 else []
        sent = stage.official[kind].run(
            server.namesrv_addr, ["sendMessage", "-t", topic, "-p", body, *where]
        )
        assert "SEND_OK" in sent.out

    def received() -> list[str]:
        return sorted(stage.official[kind].ask("received", group).out.split())

    until(lambda: received() == bodies, "everything is consumed")
    seen = stage.ours.run(server.namesrv_addr, ["tail", topic, "--format", "%b"]).out
    assert sorted(seen.split()) == bodies


@pytest.mark.parametrize("kind", ["real", "trimq"])
def test_messages_are_sent_from_a_file_and_seen(
    stage: AdminStage, kind: str, tmp_path: Path
) -> None:
    server, topic = stage.servers[kind], "OwnTail"

    def run(*words: str) -> Printed:
        return stage.ours.run(server.namesrv_addr, words)

    def numbers(*words: str) -> list[int]:
        lines = run("tail", topic, "--json", "--body", "json", *words).out.splitlines()
        return [json.loads(line)["body"]["n"] for line in lines]

    _update(stage, kind, topic, "-r 4 -w 4")
    with BlockingAdminClient(server.namesrv_addr) as admin:
        groups = set(admin.groups_of(server.broker_addr))
        source = tmp_path / "lines"
        for part, tag in ((range(10), "A"), (range(10, 20), "B")):
            source.write_text("".join(f'{{"n": {number}}}\n' for number in part))
            words = ["--file", str(source), "--lines", "-c", tag, "-k", f"key-{tag} all"]
            sent = run("sendMessage", "-t", topic, *words, "--property", "colour=red")
            assert (sent.code, sent.err, sent.out.count("SEND_OK")) == (0, "", 10)
        until(lambda: numbers("-N", "100") == list(range(20)), "all are seen")
        assert numbers("-N", "3") == [17, 18, 19]
        assert numbers("-N", "3", "--tag", "A") == [7, 8, 9]
        assert numbers("--key", "key-B", "--since", "-1h") == list(range(10, 20))
        assert sorted(numbers("-q", "0", "-q", f"{BROKER}:3")) != list(range(20))
        assert numbers("--since", "earliest", "--until", "-1h") == []
        shown = run("tail", topic, "-N", "1", "--format", "%t %g %{colour} %b").out
        assert shown == f'{topic} B red {{"n": 19}}\n'
        assert run("tail", topic, "-f", "-N", "2", "-m", "2").out.count("\n") == 2
        assert set(admin.groups_of(server.broker_addr)) == groups
    later = run("sendMessage", "-t", topic, "-p", "later", "--delay", "3600")
    assert later.code == 0, later.err


@pytest.mark.parametrize("kind", ["real", "trimq"])
def test_a_mode_is_set_on_both(stage: AdminStage, kind: str) -> None:
    server = stage.servers[kind]
    for mode in ("POP", "PULL"):
        words = ["setConsumeMode", "-b", server.broker_addr, "-t", SENT, "-g", "Moded", "-m", mode]
        done = stage.ours.run(server.namesrv_addr, words)
        assert (done.code, done.err) == (0, "")
