"""What is printed where: terminals, pipes, full disks, narrow character sets; and how it ends."""

import json
import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.mqadmin.terminals import command, terminal
from tests.run.mqadmin import run_mqadmin
from trimq.testing import TestServer

HOME = Path(__file__).parent.parent.parent
LOG = HOME / "tests" / "vectors" / "commitlog-head.bin"
BODY = "Zürich \u2318"


def environment(server: TestServer, **more: str) -> dict[str, str]:
    plain = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    return {**plain, "NAMESRV_ADDR": server.namesrv_addr, **more}


def run(server: TestServer, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return run_mqadmin(*words, **{"NAMESRV_ADDR": server.namesrv_addr, **more})


def on_a_terminal(server: TestServer, *words: str, **more: str) -> str:
    return terminal(words, environment(server, **{"TERM": "xterm", **more}))[1]


def test_heads_are_bold_and_errors_red_where_that_is_wanted(server: TestServer) -> None:
    assert "\x1b[1m#Cluster Name" in on_a_terminal(server, "clusterList")
    assert "\x1b[31mmqadmin: " in on_a_terminal(server, "topicRoute", "-t", "Nope")
    for words in (["clusterList"], ["topicRoute", "-t", "Nope"]):
        shown = on_a_terminal(server, *words, NO_COLOR="1")
        assert "\x1b" not in shown
        assert "#Cluster Name" in shown or "mqadmin: " in shown
    assert "\x1b" not in on_a_terminal(server, "clusterList", TERM="dumb")


@pytest.mark.parametrize("words", [["topicList"], ["topicList", "--json"], ["clusterList"]])
def test_a_full_disk_is_one_sentence(server: TestServer, words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command(*words),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(server),
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "mqadmin: cannot print: No space left on device\n"


@pytest.mark.parametrize("words", [["topicList"], ["dumpCompactionLog", "-f", str(LOG)]])
def test_nobody_complains_when_a_reader_has_seen_enough(
    server: TestServer, words: list[str]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        command(*words),
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(server),
        check=False,
    )
    os.close(writer)
    assert done.stderr == ""


def test_a_body_that_the_terminal_cannot_show(server: TestServer) -> None:
    assert run(server, "sendMessage", "-t", "Bodies", "-p", BODY).returncode == 0
    done = subprocess.run(
        command("printMsg", "-t", "Bodies"),
        capture_output=True,
        env=environment(server, PYTHONIOENCODING="latin-1"),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert "BODY: Zürich ?\n".encode("latin-1") in done.stdout


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_terminal_gets_no_control_characters_of_messages(
    server: TestServer, flags: list[str]
) -> None:
    topic = f"Escapes{len(flags)}"
    body = "red \x1b[31m \x9b2J \x7f \u202e"
    run(server, "sendMessage", "-t", topic, "-p", body, "-k", "\x1b]0;title\x07")
    words = ["printMsg", "-t", topic, *flags]
    shown = on_a_terminal(server, *words)
    assert not set(shown) & set("\x1b\x9b\x7f\x07\u202e")
    if flags:
        message = json.loads(shown)
        assert message["properties"]["KEYS"] == "\x1b]0;title\x07"
        assert message == json.loads(run(server, *words).stdout)
    else:
        assert "BODY: red \\x1b[31m \\x9b2J \\x7f \\u202e" in shown
        # A pipe gets what was sent, as from the official tool.
        assert f"BODY: {body}\n" in run(server, *words).stdout
    refused = on_a_terminal(server, "topicRoute", "-t", "\x9b2J")
    assert "\x9b" not in refused


def test_json_has_one_way_to_write_names(server: TestServer) -> None:
    sent = json.loads(run(server, "sendMessage", "-t", "Named", "-p", BODY, "--json").stdout)
    names = {"status", "messageId", "offsetId", "queue", "queueOffset", "recallHandle"}
    assert set(sent) == names
    message = json.loads(run(server, "printMsg", "-t", "Named", "--json").stdout)
    assert message["messageId"] == sent["messageId"]
    assert (message["queueId"], message["queueOffset"]) == (sent["queue"]["queueId"], 0)
    assert message["properties"]["UNIQ_KEY"] == sent["messageId"]
    assert [key for key in message if "_" in key] == []


def test_without_a_command_there_is_help(server: TestServer) -> None:
    done = run(server)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == run(server, "help").stdout
    assert "  topicRoute " in done.stdout


def test_the_version_is_told(server: TestServer) -> None:
    done = run(server, "--version")
    assert done.returncode == 0
    assert done.stdout.startswith("mqadmin of TriMQ ")


def test_help_completes_names_of_commands(server: TestServer) -> None:
    words = {"COMP_WORDS": "mqadmin help topicR", "COMP_CWORD": "2"}
    done = run(server, _MQADMIN_COMPLETE="bash_complete", **words)
    assert done.stdout.splitlines() == ["plain,topicRoute"]


def test_ctrl_c_while_nobody_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        addr = f"127.0.0.1:{silent.getsockname()[1]}"
        with subprocess.Popen(
            command("topicList", "-n", addr, "--timeout", "60"),
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            accepted, _ = silent.accept()
            with accepted:
                # It has asked, so it waits for the answer now.
                assert accepted.recv(1)
                process.send_signal(signal.SIGINT)
                _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, "mqadmin: interrupted\n")


def test_an_error_of_the_system_comes_without_its_number(server: TestServer) -> None:
    done = run(server, "brokerStatus", "-b", "127.0.0.1:1")
    assert done.stderr == "mqadmin: no connection to 127.0.0.1:1: Connection refused\n"
