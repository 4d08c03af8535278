"""The scripts of `deploy/bin`: each name that RocketMQ's images have is there and does what is meant."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trimq.commands.original.commands import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / "deploy/bin"


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """As in a container: in the folder of the scripts, where `python3` on the path has TriMQ."""
    python = folder / "python3"
    # A link would not find the packages of the environment.
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    path = os.pathsep.join((str(folder), os.environ.get("PATH", os.defpath)))
    return subprocess.run(
        words,
        cwd=BIN,
        env={"PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_command_has_its_script() -> None:
    names = {path.name for path in BIN.iterdir()} - {"original.sh"}
    assert names == {*COMMANDS, "mqshutdown", "container-health"}
    assert all(os.access(path, os.X_OK) for path in BIN.iterdir())


def test_a_script_says_its_own_name(tmp_path: Path) -> None:
    done = run(tmp_path, "sh", "mqproxy", "-pc", "x.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: cannot read x.json: No such file")
    done = run(tmp_path, "./mqbroker")
    assert done.returncode == 2
    assert "no NameServer is named" in done.stderr


def test_a_command_takes_the_scripts_place(tmp_path: Path) -> None:
    done = run(tmp_path, "sh", "mqbroker", "-n", "127.0.0.1:1", "-m")
    assert done.returncode == 0, done.stderr
    assert "listenPort=10911" in done.stdout
    done = run(
        tmp_path, "sh", "tools.sh", "org.apache.rocketmq.tools.command.MQAdminStartup", "help"
    )
    assert done.returncode == 0, done.stderr
    assert "topicList" in done.stdout
    assert run(tmp_path, "sh", "mqadmin", "help").stdout == done.stdout


@pytest.mark.parametrize(
    ("words", "environment", "said", "code"),
    [
        (("sh", "-c", "echo there"), {}, "there\n", 0),
        (("./docker-entrypoint.sh", "echo", "there"), {}, "there\n", 0),
        (("./docker-entrypoint.sh", "controller"), {}, "", 1),
        (("./docker-entrypoint.sh", "dummy"), {"NODE_ROLE": "controller"}, "", 1),
        (("./docker-entrypoint.sh", "--no-such-flag"), {}, "", 2),
    ],
)
def test_the_entry_point(
    tmp_path: Path, words: tuple[str, ...], environment: dict[str, str], said: str, code: int
) -> None:
    done = run(tmp_path, *words, **environment)
    assert (done.stdout, done.returncode) == (said, code)
