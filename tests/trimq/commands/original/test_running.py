"""The servers of a machine: which run, how they are stopped, whether they are well."""

from __future__ import annotations

import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from trimq.commands.original import health
from trimq.commands.original.commands import run
from trimq.commands.original.health import check, container_health
from trimq.commands.original.launch import NotLaunched
from trimq.commands.original.processes import Running, running_servers, seconds_since_start
from trimq.commands.original.shutdown import shut_down
from trimq.testing import TestServer, running_server


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with running_server(settings={"brokerName": "broker-a"}) as started:
        yield started


def closed_addr() -> str:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{sock.getsockname()[1]}"


def test_servers_are_found_by_their_command_lines(tmp_path: Path) -> None:
    for pid, words in {
        "1": ("sh", "-c", "trimq server"),
        "10": (
            "/usr/bin/python3",
            "-P",
            "-m",
            "trimq",
            "server",
            "--listen",
            "a:1",
            "--listen",
            "b:2",
        ),
        "9": ("python3", "/usr/local/bin/trimq", "namesrv"),
        "11": ("python3", "-m", "trimq", "health"),
        "12": ("grep", "trimq", "server"),
        "13": (),
    }.items():
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "cmdline").write_text("".join(f"{word}\0" for word in words))
    (tmp_path / "14").mkdir()
    (tmp_path / "self").mkdir()
    found = list(running_servers(tmp_path))
    assert [(one.pid, one.kind) for one in found] == [(9, "namesrv"), (10, "server")]
    assert found[1].option("--listen") == "b:2"
    assert found[1].option("--store") is None


@pytest.mark.parametrize(
    "emulator",
    [
        ("/usr/libexec/qemu-binfmt/aarch64-binfmt-P", "/usr/bin/python3"),
        ("/usr/bin/qemu-aarch64-static",),
        ("/run/rosetta/rosetta", "/usr/bin/python3"),
    ],
)
def test_an_emulated_server_is_found(tmp_path: Path, emulator: tuple[str, ...]) -> None:
    words = (*emulator, "/usr/bin/python3", "-P", "-m", "trimq", "server", "--listen", "a:1")
    # What starts another program is not that one.
    for pid, line in (("1", ("timeout", "9", *words[-6:])), ("7", words)):
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "cmdline").write_text("".join(f"{word}\0" for word in line))
    (found,) = running_servers(tmp_path)
    assert (found.pid, found.kind, found.words) == (7, "server", ("--listen", "a:1"))


def test_a_server_is_asked_to_stop() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as sleeper:
        found = [Running(sleeper.pid, "server", ()), Running(1, "namesrv", ())]
        assert shut_down("broker", found) == [f"broker asked to stop: pid={sleeper.pid}"]
        assert sleeper.wait(PATIENCE) == -signal.SIGTERM


def test_the_proxy_beside_a_server_is_left_to_it() -> None:
    beside = Running(1, "proxy", ("--supervised", "--listen", "a:1"))
    with pytest.raises(NotLaunched, match="no proxy of TriMQ's runs here"):
        shut_down("proxy", [beside])


@pytest.mark.parametrize(
    ("what", "sentence", "code"),
    [
        ("namesrv", "no namesrv of TriMQ's runs here", 255),
        ("proxy", "no proxy of TriMQ's runs here", 255),
        ("", "nothing is not one of broker, namesrv, proxy", 2),
    ],
)
def test_nothing_to_stop(what: str, sentence: str, code: int) -> None:
    with pytest.raises(NotLaunched, match=sentence) as raised:
        shut_down(what, [Running(1, "server", ())])
    assert raised.value.code == code


def test_commands_end_with_their_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["/opt/bin/mqcontroller", "-c", "x"]) == 1
    assert run(["mqother"]) == 2
    assert run([]) == 2
    assert capsys.readouterr().err.count("Error: ") == 3


def broker(listen: str, *words: str) -> Running:
    return Running(1, "server", ("--listen", listen, *words))


def name_server(listen: str) -> Running:
    return Running(2, "namesrv", ("--listen", listen))


def test_a_broker_and_a_name_server_are_well(server: TestServer) -> None:
    embedded = ("--namesrv-listen", server.namesrv_addr)
    both = container_health([broker(server.broker_addr, *embedded)], {})
    assert [(one.kind, one.ok) for one in both] == [("NameServer", True), ("broker", True)]
    (one,) = container_health([broker(server.broker_addr)], {"NAMESRV_ADDR": server.namesrv_addr})
    assert (one.name, one.ok) == ("broker-a", True)
    everywhere = server.namesrv_addr.replace("127.0.0.1", "0.0.0.0")
    (one,) = container_health([name_server(everywhere)], {})
    assert (one.addr, one.ok) == (server.namesrv_addr, True)


def test_a_name_server_elsewhere_is_no_fault_of_a_broker(server: TestServer) -> None:
    (one,) = container_health([broker(server.broker_addr, "--namesrv", closed_addr())], {})
    assert one.ok


def test_a_proxy_that_takes_connections_is_well() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        addr = f"127.0.0.1:{listener.getsockname()[1]}"
        everywhere = addr.replace("127.0.0.1", "0.0.0.0")
        (one,) = container_health([Running(3, "proxy", ("--listen", everywhere))], {})
        assert (one.kind, one.addr, one.ok) == ("proxy", addr, True)
    (one,) = container_health([Running(3, "proxy", ("--listen", closed_addr()))], {})
    assert one.why == ["takes no connections: Connection refused"]


def test_what_does_not_answer_is_not_well() -> None:
    (one,) = container_health([name_server(closed_addr())], {})
    assert one.ok is False
    (one,) = container_health([broker(closed_addr())], {})
    assert one.ok is False
    assert container_health([], {}) == []


def test_a_broker_that_wants_tls_is_well() -> None:
    with running_server(settings={"tls.server.mode": "enforcing"}) as started:
        named = ("--namesrv-listen", started.namesrv_addr)
        found = container_health([broker(started.broker_addr, *named)], {})
    assert [one.ok for one in found] == [True, True]


def test_how_long_a_process_is_there(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as sleeper:
        assert 0 <= seconds_since_start(sleeper.pid) < PATIENCE
        sleeper.kill()
    assert seconds_since_start(sleeper.pid) == math.inf
    (tmp_path / "7").mkdir()
    (tmp_path / "7/stat").write_text(f"7 (a ) b) S {' '.join(map(str, range(4, 22)))} 500 1")
    (tmp_path / "uptime").write_text("105.50 200.00\n")
    assert seconds_since_start(7, tmp_path) == 105.5 - 500 / os.sysconf("SC_CLK_TCK")
    (tmp_path / "7/stat").write_text("7 (half")
    assert seconds_since_start(7, tmp_path) == math.inf


def test_a_check_waits_for_what_has_just_been_started(
    server: TestServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looks = [[name_server(closed_addr())], [name_server(server.namesrv_addr)]]
    monkeypatch.setattr(health, "running_servers", lambda: looks.pop(0) if looks[1:] else looks[0])
    monkeypatch.setattr(health, "seconds_since_start", lambda pid: 3.0)
    assert check(PATIENCE) == 0
    assert capsys.readouterr().out == f"NameServer {server.namesrv_addr}: healthy\n"


@pytest.mark.parametrize(
    ("age", "listed", "said"), [(31.0, True, "not healthy"), (3.0, False, "no server of TriMQ's")]
)
def test_a_check_does_not_wait_for_what_is_old_or_not_there(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    age: float,
    listed: bool,
    said: str,
) -> None:
    found = [name_server(closed_addr())] if listed else []
    monkeypatch.setattr(health, "running_servers", lambda: found)
    monkeypatch.setattr(health, "seconds_since_start", lambda pid: age)
    began = time.monotonic()
    assert check(PATIENCE) == 1
    assert time.monotonic() - began < PATIENCE / 2
    assert said in capsys.readouterr().out


def test_a_check_waits_no_longer_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "running_servers", lambda: [name_server(closed_addr())])
    monkeypatch.setattr(health, "seconds_since_start", lambda pid: 3.0)
    assert check(0.1) == 1
