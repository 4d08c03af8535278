"""mqadmin sendMessage: where bodies come from, properties, delays, and what is refused."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from trimq.admin.blocking import BlockingAdminClient
from trimq.mqadmin.cli import main
from trimq.testing import TestServer


def send(server: TestServer, *words: str, given: bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["-n", server.namesrv_addr, "sendMessage", *words], input=given)


def bodies(server: TestServer, topic: str) -> list[str]:
    return [value["body"] for value in stored(server, topic)]


def stored(server: TestServer, topic: str) -> list[dict[str, object]]:
    words = ["-n", server.namesrv_addr, "tail", topic, "--json", "-N", "100"]
    return [json.loads(line) for line in CliRunner().invoke(main, words).stdout.splitlines()]


def test_every_line_is_a_message(server: TestServer) -> None:
    done = send(server, "-t", "Lines", "--stdin", "--lines", given=b"one\r\n\ntwo\n\n three")
    assert done.exit_code == 0
    assert done.stderr == "mqadmin: standard input has an empty line: it is not sent\n"
    # A head, and a row for each.
    assert [row.split()[2] for row in done.stdout.splitlines()[1:]] == ["SEND_OK"] * 3
    assert bodies(server, "Lines") == ["one", "two", " three"]
    assert len({value["queueId"] for value in stored(server, "Lines")}) == 3


def test_lines_are_sent_as_they_come(server: TestServer) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "trimq.mqadmin", "sendMessage", "-t", "Piped", "--stdin", "--lines"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "NAMESRV_ADDR": server.namesrv_addr},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"first\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith(b"#Broker Name")
        assert b"SEND_OK" in process.stdout.readline()
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def test_whole_files(server: TestServer, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(f"file {name}\n\n".encode())
    words = ["--file", str(tmp_path / "a"), "--file", str(tmp_path / "b")]
    assert send(server, "-t", "Files", *words, "--json").exit_code == 0
    assert bodies(server, "Files") == ["file a\n\n", "file b\n\n"]
    send(server, "-t", "FileLines", *words, "--lines")
    assert bodies(server, "FileLines") == ["file a", "file b"]
    send(server, "-t", "Input", "--stdin", given=b"\xff\n")
    assert stored(server, "Input")[0]["bodyEncoding"] == "base64"


def test_properties_and_a_place(server: TestServer) -> None:
    words = ["--property", "a=b", "--property", "c=d=e f", "-k", "k1 k2", "-c", "T"]
    done = send(server, "-t", "Props", "-p", "x", *words, "-b", "broker-a", "-i", "2", "--json")
    assert json.loads(done.stdout)["queue"]["queueId"] == 2
    (value,) = stored(server, "Props")
    properties = value["properties"]
    assert isinstance(properties, dict)
    assert {"a": "b", "c": "d=e f", "KEYS": "k1 k2", "TAGS": "T"}.items() <= properties.items()


def test_delays(server: TestServer) -> None:
    assert send(server, "-t", "Late", "-p", "x", "--delay-level", "3").exit_code == 0
    with BlockingAdminClient(server.namesrv_addr) as admin:
        assert admin.max_offset(admin.place_of("SCHEDULE_TOPIC_XXXX", "broker-a", 2)) == 1


@pytest.mark.parametrize(
    ("words", "given", "code", "sentence"),
    [
        ([], None, 2, "give one of -p, --stdin and --file"),
        (["-p", "x", "--stdin"], None, 2, "give one of -p, --stdin and --file"),
        (["-p", "x", "--lines"], None, 2, "--lines needs --stdin or --file"),
        (["--stdin"], b"", 1, "there is nothing to send"),
        (["--stdin", "--lines"], b"\n\n", 1, "there is nothing to send"),
        (["--file", "/no/such/file"], None, 1, "cannot read /no/such/file: No such file"),
        (["-p", "x", "--property", "a"], None, 2, "'a' is not NAME=VALUE"),
        (["-p", "x", "--property", "=a"], None, 2, "is not NAME=VALUE"),
        (["-p", "x", "--property", "KEYS=a"], None, 2, "KEYS is set with -k"),
        (["-p", "x", "--property", "DELAY=1"], None, 2, "DELAY is set with --delay-level"),
        (["-p", "x", "--property", "UNIQ_KEY=/x"], None, 2, "UNIQ_KEY is reserved for RocketMQ"),
        (["-p", "x", "--property", "a=b\x02c"], None, 2, "characters U+0001 and U+0002"),
        (["-p", "x", "--delay-level", "19"], None, 2, "'--delay-level'"),
        (["-p", "x", "--delay", "1", "--delay-level", "1"], None, 2, "give one of --delay-level"),
        (["-p", "x", "--delay", "259300"], None, 1, "should not be bigger than the max delay"),
        (["-p", "x", "--deliver-at", "+4d"], None, 1, "should not be bigger than the max delay"),
    ],
)
def test_failures(
    server: TestServer, words: list[str], given: bytes | None, code: int, sentence: str
) -> None:
    done = send(server, "-t", "Refused", *words, given=given)
    assert (done.exit_code, done.stdout) == (code, "")
    assert sentence in done.stderr


def test_how_far_it_came_is_reported(server: TestServer) -> None:
    too_long = b"x" * (5 << 20)
    done = send(server, "-t", "Far", "--stdin", "--lines", given=b"one\ntwo\n" + too_long)
    assert done.exit_code == 1
    assert "; 2 messages were sent before\n" in done.stderr
    assert bodies(server, "Far") == ["one", "two"]
