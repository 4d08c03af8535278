"""`trimq proxy` and `trimq server --grpc` as a shell runs them, above all when they cannot start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from trimq.commands.cli import main

BLOCKED = """
import sys
for name in {blocked!r}:
    sys.modules[name] = None
from trimq.commands.main import main
main()
"""
FREE = ["--listen", "127.0.0.1:0"]
EXTRA = "pip install '/path/to/trimq[grpc]'"


def run_without(blocked: list[str], words: list[str]) -> subprocess.CompletedProcess[str]:
    code = BLOCKED.format(blocked=blocked)
    return subprocess.run(
        [sys.executable, "-c", code, *words], check=False, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("blocked", "named"),
    [
        (["google"], "needs protobuf: "),
        (["google.protobuf"], "needs protobuf: "),
        (["hpack"], "needs hpack: "),
        (["google.protobuf", "hpack"], "needs protobuf and hpack: "),
    ],
)
def test_without_the_extra_it_says_what_to_install(blocked: list[str], named: str) -> None:
    done = run_without(blocked, ["proxy", *FREE])
    assert (done.returncode, done.stdout) == (2, "")
    *_, sentence = done.stderr.splitlines()
    assert sentence == f"Error: the proxy of the 5.x clients {named}{EXTRA}"
    assert "Traceback" not in done.stderr


def test_a_server_that_is_to_have_one_does_not_start_without_the_extra(tmp_path: Path) -> None:
    words = ["server", *FREE, "--namesrv-listen", "127.0.0.1:0", "--store", str(tmp_path)]
    done = run_without(["hpack"], [*words, "--grpc", "0"])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].endswith(EXTRA)
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "commitlog").exists()


def test_a_server_loads_nothing_of_the_proxy() -> None:
    code = (
        "import sys, trimq.commands.cli, trimq.serving.server, trimq.testing, trimq.serving.own_proxy\n"
        "print([name for name in sys.modules"
        " if name.split('.')[0] in ('google', 'h2', 'hpack') or name.startswith('trimq.proxy')])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_what_it_is_told_by_flags_is_checked(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["proxy", "-pm", "local"])
    assert done.exit_code == 2
    assert "'trimq server --grpc HOST:PORT' starts a broker with its proxy" in done.output
    done = CliRunner().invoke(main, ["proxy", "-pc", str(tmp_path / "none.json")])
    assert done.exit_code == 2
    assert "cannot read" in done.output
    done = CliRunner().invoke(main, ["proxy", "--set", "maxMessageSize=x"])
    assert "maxMessageSize=x: must be a whole number" in done.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--brokers", "2", "--grpc", "8081"], "start 'trimq proxy' beside several"),
        (["--grpc", "here"], "--grpc: "),
        (["--grpc-config", "x.json"], "--grpc-config says nothing without --grpc"),
    ],
)
def test_a_server_says_what_is_wrong_with_it(
    tmp_path: Path, words: list[str], sentence: str
) -> None:
    done = CliRunner().invoke(main, ["server", "--store", str(tmp_path), *words])
    assert done.exit_code == 2
    assert sentence in done.output


def test_all_its_lines_are_the_proxys() -> None:
    """On the one stream of a server and its proxy."""
    words = [sys.executable, "-m", "trimq", "proxy", *FREE, "-n", ""]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    banner, sentence = done.stderr.splitlines()
    assert " INFO trimq.proxy.commands.cli TriMQ " in banner
    assert sentence.startswith("Error: --namesrv '' names no NameServer")


def test_beside_a_server_it_leaves_the_saying_to_it() -> None:
    words = [sys.executable, "-m", "trimq", "proxy", *FREE, "--supervised"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, text=True, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(
            '{"namesrv": "127.0.0.1:1", "settings": {"authenticationEnabled": "true"}}\n'
        )
        process.stdin.flush()
        assert process.stdout.readline().startswith('{"failed": "authenticationEnabled=true')
        # Its end of the pipe stays open until it has ended.
        assert process.wait() == 2
        assert process.stderr.read() == ""
