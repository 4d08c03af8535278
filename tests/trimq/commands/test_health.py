"""`trimq health` as a shell runs it: a line for each server, exit codes, what it loads."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from trimq.admin.brokers.health import ServerHealth
from trimq.commands.cli import main
from trimq.commands.health import DEFAULT_BROKER, DEFAULT_NAMESRV, as_object, exit_code
from trimq.commands.health_lines import line
from trimq.settings.options import NAMESRV_DEFAULT, ServerOptions, server_plan
from trimq.testing import TestServer, running_server

WELL = ServerHealth("NameServer", "ns:1")
FULL = ServerHealth("broker", "a:1", "broker-a", 0, why=["the disk is full", "it is slow"])
UNKNOWN = ServerHealth("broker", "b:1", unknown=["b:1 refused it"])
ELSEWHERE = ServerHealth("broker", "c:1", "broker-c", 1, told="outside:1")


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with running_server(settings={"brokerName": "broker-a"}) as started:
        yield started


def run(*words: str, **environment: str) -> Result:
    return CliRunner(env={"NAMESRV_ADDR": "", **environment}).invoke(main, ["health", *words])


def closed_addr() -> str:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{sock.getsockname()[1]}"


def test_all_that_a_name_server_lists(server: TestServer) -> None:
    done = run("--namesrv", server.namesrv_addr)
    assert done.stdout.splitlines() == [
        f"NameServer {server.namesrv_addr}: healthy",
        f"broker {server.broker_addr} (broker-a, id 0): healthy",
    ]
    assert done.exit_code == 0


def test_one_broker_of_the_environments_name_server(server: TestServer) -> None:
    done = run("--broker", server.broker_addr, "--json", NAMESRV_ADDR=server.namesrv_addr)
    assert json.loads(done.stdout) == {
        "ok": True,
        "why": [],
        "servers": [
            {
                "kind": "NameServer",
                "address": server.namesrv_addr,
                "ok": True,
                "why": [],
                "unknown": [],
            },
            {
                "kind": "broker",
                "address": server.broker_addr,
                "ok": True,
                "name": "broker-a",
                "id": 0,
                "why": [],
                "unknown": [],
            },
        ],
    }
    assert done.exit_code == 0


def test_nobody_is_there() -> None:
    addr = closed_addr()
    done = run("--namesrv", addr, "--broker", addr, "--timeout", "1")
    why = f"not healthy: no connection to {addr}: Connection refused"
    assert done.stdout.splitlines() == [f"NameServer {addr}: {why}", f"broker {addr}: {why}"]
    assert done.exit_code == 1


def test_the_wrong_kind_of_server_cannot_be_asked(server: TestServer) -> None:
    done = run("--namesrv", server.broker_addr)
    assert "not known: " in done.stdout
    assert "does not know GET_BROKER_CLUSTER_INFO" in done.stdout
    assert done.exit_code == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--namesrv", "nowhere"], "'nowhere' is not HOST:PORT"),
        (["--namesrv", ";"], "no NameServer is named"),
        (["--broker", "127.0.0.1"], "'127.0.0.1' is not HOST:PORT"),
        (["--timeout", "0"], "'--timeout'"),
        (["--timeout", "nan"], "nan is not a number of seconds"),
        (["--cluster", "C"], "No such option"),
    ],
)
def test_mistakes(words: list[str], sentence: str) -> None:
    done = run(*words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert sentence in done.stderr


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ([WELL, ELSEWHERE], 0),
        ([WELL, FULL], 1),
        ([WELL, UNKNOWN], 2),
        # What is known to be wrong counts more.
        ([UNKNOWN, FULL], 1),
    ],
)
def test_exit_codes(found: list[ServerHealth], code: int) -> None:
    assert exit_code(found) == code
    assert json.loads(as_object(found))["ok"] == (code == 0)


def test_lines() -> None:
    assert [line(one) for one in (WELL, FULL, UNKNOWN, ELSEWHERE)] == [
        "NameServer ns:1: healthy",
        "broker a:1 (broker-a, id 0): not healthy: the disk is full; it is slow",
        "broker b:1: not known: b:1 refused it",
        "broker c:1 (broker-c, id 1, clients are told outside:1): healthy",
    ]


def test_reasons_in_one_list() -> None:
    assert json.loads(as_object([FULL, UNKNOWN]))["why"] == [
        "broker a:1: the disk is full",
        "broker a:1: it is slow",
        "broker b:1: b:1 refused it",
    ]


def test_whom_the_environment_names_is_asked_and_nobody_else(server: TestServer) -> None:
    done = run(NAMESRV_ADDR=server.namesrv_addr)
    assert [row.split()[:2] for row in done.stdout.splitlines()] == [
        ["NameServer", f"{server.namesrv_addr}:"],
        ["broker", server.broker_addr],
    ]
    assert done.exit_code == 0


def test_the_defaults_are_those_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    assert NAMESRV_DEFAULT == DEFAULT_NAMESRV
    assert str(server_plan(ServerOptions()).listen) == DEFAULT_BROKER


def test_it_loads_no_loop_and_no_server() -> None:
    addr = closed_addr()
    code = (
        "import sys; from trimq.commands.cli import main\n"
        f"main(['health', '--namesrv', '{addr}'], standalone_mode=False)"
    )
    check = "assert not {'trio', 'construct', 'trimq.store', 'trimq.spark', 'trimq.serving.server'} & set(sys.modules)"
    text = f"try:\n    exec({code!r})\nexcept SystemExit as end:\n    import sys; {check}\n    assert end.code == 1"
    subprocess.run([sys.executable, "-c", text], check=True)


def test_the_commands_are_listed_without_being_named_one_by_one() -> None:
    done = CliRunner().invoke(main, ["--help"])
    assert done.exit_code == 0
    assert "  trimq health\n" in done.stdout
    listed = done.stdout.partition("Commands:")[2].splitlines()
    names = [row.split()[0] for row in listed if row.startswith("  ") and row[2] != " "]
    assert names == [
        "check",
        "health",
        "inspect",
        "install-service",
        "namesrv",
        "offsets",
        "proxy",
        "server",
        "spark",
    ]
