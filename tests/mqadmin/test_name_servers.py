"""Which NameServers are asked, and what is said when they are the wrong ones."""

import json
import socket
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from trimq.mqadmin import failures, framework
from trimq.mqadmin.cli import main
from trimq.mqadmin.names import COMMANDS, SUBJECTS
from trimq.testing import TestServer


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address on which nobody listens, and nobody else can."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)


def run(*words: str) -> Result:
    return CliRunner().invoke(main, words)


def ask_by_default(monkeypatch: pytest.MonkeyPatch, addr: str) -> None:
    for module in (failures, framework):
        monkeypatch.setattr(module, "DEFAULT_NAMESRV", addr)


def test_without_a_name_the_usual_address_is_asked(
    server: TestServer, nobody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert failures.DEFAULT_NAMESRV == "127.0.0.1:9876"
    ask_by_default(monkeypatch, server.namesrv_addr)
    done = run("topicRoute", "-t", "TBW102", "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    assert json.loads(done.stdout)["queueDatas"][0]["brokerName"] == "broker-a"
    ask_by_default(monkeypatch, nobody)
    done = run("topicList")
    assert done.exit_code == 1
    assert done.stderr == (
        f"mqadmin: no connection to {nobody}: Connection refused; neither -n nor NAMESRV_ADDR names"
        f" a NameServer, so {nobody} was tried\n"
    )
    # Somebody chose it: no more than that it does not answer.
    assert run("topicList", "-n", nobody).stderr.endswith("Connection refused\n")


def test_n_may_come_before_the_command(server: TestServer, nobody: str) -> None:
    words = ["topicClusterList", "-t", "TBW102"]
    assert run("-n", server.namesrv_addr, *words).exit_code == 0
    assert run("-n", nobody, *words, "-n", server.namesrv_addr).exit_code == 0
    assert run("-n", server.namesrv_addr, *words, "-n", nobody).exit_code == 1


def test_a_flag_beats_the_environment(
    server: TestServer, nobody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", nobody)
    assert run("topicList").exit_code == 1
    assert run("topicList", "-n", server.namesrv_addr).exit_code == 0
    assert run("-n", server.namesrv_addr, "topicList").exit_code == 0


@pytest.mark.parametrize("words", [["topicList"], ["topicRoute", "-t", "T"], ["clusterList"]])
def test_a_broker_in_place_of_a_name_server(server: TestServer, words: list[str]) -> None:
    server_of_both = server.broker_addr
    done = run("-n", server_of_both, *words)
    assert done.exit_code == 1
    assert done.stderr.endswith(f"; is {server_of_both} a broker? -n takes NameServers\n")


def test_commands_are_grouped_by_subject() -> None:
    shown = run("--help").stdout
    at = [shown.index(f"\n{subject}:\n") for subject in SUBJECTS]
    assert at == sorted(at)
    assert len(COMMANDS) == sum(map(len, SUBJECTS.values()))
    assert shown.index("  tail ") < shown.index("Groups and clients:") < shown.index("  offsets ")
