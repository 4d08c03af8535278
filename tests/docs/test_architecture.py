"""The pictures of docs/ARCHITECTURE.md say what the code does."""

from __future__ import annotations

import re
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
import trio

import trimq
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.compiled import IS_COMPILED
from trimq.remoting.clients.blocking import BlockingClient
from trimq.remoting.wire.poller import AVAILABLE

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "ARCHITECTURE.md").read_text("utf-8")
PREFIX = "trimq."
SEND = {
    **{"a": "Producers", "b": "Drawn", "c": "TBW102", "d": "4", "e": "0", "f": "0"},
    **{"g": "1", "h": "0", "i": "", "j": "0", "k": "false", "m": "false"},
}
PULL = {
    **{"consumerGroup": "Consumers", "topic": "Drawn", "queueId": "0", "queueOffset": "0"},
    **{"maxMsgNums": "32", "sysFlag": "4", "commitOffset": "0", "suspendTimeoutMillis": "0"},
    **{"subscription": "*", "subVersion": "0", "expressionType": "TAG"},
}


def picture(name: str) -> list[str]:
    (found,) = re.findall(rf"^```{name}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    return [line for line in found.splitlines() if line.strip()]


def drawn_floors() -> dict[str, list[set[str]]]:
    """Folder -> its floors from top to bottom, each a set of names."""
    floors: dict[str, list[set[str]]] = {}
    folder = ""
    for line in picture("floors"):
        head, rest = line[:12].strip(), line[12:]
        folder = head or folder
        floors.setdefault(folder, []).extend(set(part.split()) for part in rest.split("/"))
    return floors


def agreed_floors() -> dict[str, list[set[str]]]:
    """The same from the import contracts."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return {
        contract["containers"][0].removeprefix(PREFIX): [
            set(re.findall(r"\w+", layer)) for layer in contract["layers"]
        ]
        for contract in config["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    }


def test_the_floors_are_those_of_the_import_contracts() -> None:
    agreed = agreed_floors()
    assert drawn_floors() == {folder: agreed[folder] for folder in drawn_floors()}
    assert set(drawn_floors()) == {"trimq", "broker", "store", "remoting", "codec"}


@contextmanager
def every_thread_watched(calls: list[str]) -> Iterator[None]:
    """Notes each function of ours that any thread begins, as `module.qualified_name`."""

    def note(frame: FrameType, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith(PREFIX):
            calls.append(f"{module.removeprefix(PREFIX)}.{frame.f_code.co_qualname}")

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@pytest.fixture(scope="module")
def walks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What a running broker calls for a send and for a pull of what was sent."""
    calls: list[str] = []
    walks: dict[str, list[str]] = {}

    def ask(addr: str) -> None:
        with BlockingClient(addr) as client:
            for name, code, fields, body in (
                ("send", RequestCode.SEND_MESSAGE_V2, SEND, b"body"),
                ("pull", RequestCode.PULL_MESSAGE, PULL, b""),
            ):
                # The first one makes the topic, and whatever else is made on first use.
                for _ in range(2):
                    calls.clear()
                    reply = client.finish(client.start(code, fields, body))
                    assert reply.code == ResponseCode.SUCCESS, reply.remark
                    # When the reply is here, the loop may still be in the step that sent it; this is another one.
                    trio.from_thread.run(trio.lowlevel.checkpoint)
                    walks[name] = list(calls)

    async def serve() -> None:
        async with trimq.serve(store=tmp_path_factory.mktemp("store")) as server:
            await trio.to_thread.run_sync(ask, server.broker_addr)

    with every_thread_watched(calls):
        trio.run(serve)
    return walks


@pytest.mark.skipif(IS_COMPILED, reason="compiled functions cannot be watched")
@pytest.mark.skipif(not AVAILABLE, reason="the picture shows the poller, which needs epoll")
@pytest.mark.parametrize("name", ["send", "pull"])
def test_a_request_goes_the_way_that_is_drawn(walks: dict[str, list[str]], name: str) -> None:
    drawn = [line.split()[0] for line in picture(name)]
    called = iter(walks[name])
    missing = [step for step in drawn if step not in called]
    assert not missing, f"drawn, but not called in this order: {missing}"
