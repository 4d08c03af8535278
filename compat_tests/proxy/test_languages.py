"""A message by the official 5.x clients of other languages, from their registries, through TriMQ's proxy.

What a registry does not have, or what does not build, is skipped with the reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from compat_tests.proxy.python_client import python_client
from compat_tests.servers.artifacts import cache_root
from compat_tests.servers.kept import kept
from trimq.admin.blocking import BlockingAdminClient
from trimq.codec.bodies.topics import TopicConfig
from trimq.testing import TestServer, running_server

HERE: Final = Path(__file__).parent / "languages"
TOPIC: Final = "Languages"
NODE: Final = "rocketmq-client-nodejs@1.0.8"
PATIENCE: Final = 180
BUILD_PATIENCE: Final = 900


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with running_server(grpc=True) as started:
        yield started


def install(what: str, words: Sequence[str | Path], folder: Path) -> None:
    """Skips where it cannot be had."""
    try:
        done = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, check=False, timeout=BUILD_PATIENCE
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{what} is not ready after {BUILD_PATIENCE} s")
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        pytest.skip(f"{what} cannot be had: {lines[-1] if lines else done.returncode}")


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def node() -> list[str | Path]:
    runner = tool("node")

    def make(folder: Path) -> None:
        (folder / "package.json").write_text('{"private": true}')
        words = [tool("npm"), "install", "--silent", "--no-audit", "--no-fund", NODE]
        install(NODE, words, folder)

    home = kept(cache_root() / NODE.replace("@", "-") / "installed", make)
    shutil.copy(HERE / "hello.js", home)
    return [runner, home / "hello.js"]


def rust() -> list[str | Path]:
    cargo = tool("cargo")

    def make(folder: Path) -> None:
        for name in ("Cargo.toml", "hello.rs"):
            shutil.copy(HERE / name, folder)
        install("rocketmq 5.0.0 of crates.io", [cargo, "build", "--quiet"], folder)

    home = kept(cache_root() / "rocketmq-rust-5.0.0" / "built", make)
    return [home / "target" / "debug" / "hello"]


def python() -> list[str | Path]:
    return [python_client() / "bin" / "python", HERE / "hello.py"]


def csharp() -> list[str | Path]:
    tool("dotnet")
    pytest.skip("RocketMQ.Client of NuGet: no registry for it is reached here")


def cpp() -> list[str | Path]:
    pytest.skip("rocketmq-clients/cpp is in no registry: it is built by Bazel from its sources")


@pytest.mark.parametrize("client", [python, node, rust, csharp, cpp], ids=lambda one: one.__name__)
def test_a_message_there_and_back(client: object, server: TestServer) -> None:
    assert callable(client)
    words = client()
    topic = f"{TOPIC}-{client.__name__}"
    with BlockingAdminClient(server.namesrv_addr) as admin:
        normal = {"+message.type": "NORMAL"}
        admin.put_topic(server.broker_addr, TopicConfig(topic_name=topic, attributes=normal))
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [*words, server.grpc_endpoint, topic, "hello"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "received hello\n" in done.stdout
