"""Attacks on RocketMQ that were published, against TriMQ: what each wants does not happen."""

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.requests import send_header
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.clients.client import Client
from trimq.serving.server import RunningServer, open_server
from trimq.settings.options import ServerOptions


class Attacked(NamedTuple):
    """A server with its files in `folder/store`; nothing else may appear beside."""

    folder: Path
    server: RunningServer

    def beside(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
async def attacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Attacked]:
    config = tmp_path / "broker.conf"
    config.write_text(
        'innerClientAuthenticationCredentials={"accessKey":"inner","secretKey":"s3cret"}\n'
    )
    options = ServerOptions(
        config=config,
        store=tmp_path / "store",
        listen="127.0.0.1:0",
        namesrv_listen="127.0.0.1:0",
    )
    async with open_server(options) as server:
        # Whatever would start a program from here on is a failure.
        monkeypatch.setattr(subprocess, "Popen", _no_program)
        yield Attacked(tmp_path, server)


def _no_program(*_arguments: object, **_options: object) -> None:
    raise AssertionError("a program was started")


@pytest.mark.parametrize("topic", ["../../../x", "/tmp/x", "..", "a/../../../x", "x\0y"])
async def test_cve_2019_17572(attacked: Attacked, topic: str) -> None:
    """A topic that is created by a send, with a name that leads out of the store."""
    before = sorted(attacked.folder.rglob("*"))
    async with Client.connect(attacked.server.broker_addr) as client:
        answer = await client.request(RequestCode.SEND_MESSAGE, send_header(topic), b"x")
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert sorted(attacked.folder.rglob("*")) == before
    assert attacked.beside() == ["broker.conf", "store"]


async def test_cve_2023_33246(attacked: Attacked) -> None:
    """UPDATE_BROKER_CONFIG: the path of a program, and a number that makes the broker start it."""
    made = attacked.folder / "made"
    body = f"filterServerNums=1\nrocketmqHome=-c $@|sh . echo touch {made};\n".encode()
    async with Client.connect(attacked.server.broker_addr) as client:
        answer = await client.request(RequestCode.UPDATE_BROKER_CONFIG, None, body)
        shown = (await client.request(RequestCode.GET_BROKER_CONFIG)).body.decode()
    assert answer.code in {
        ResponseCode.SUCCESS,
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.NO_PERMISSION,
    }
    assert answer.code != ResponseCode.SUCCESS or "no effect" in (answer.remark or "")
    assert str(made) not in shown
    assert not made.exists()


@pytest.mark.parametrize(
    "setting",
    ["storePathRootDir={}", "storePathCommitLog={}", "regionId=x\\nstorePathRootDir={}"],
)
async def test_cve_2023_33246_by_paths(attacked: Attacked, setting: str) -> None:
    """The same request: where files are written, now or at the next start."""
    elsewhere = attacked.folder / "elsewhere"
    body = setting.format(elsewhere).encode()
    async with Client.connect(attacked.server.broker_addr) as client:
        await client.request(RequestCode.UPDATE_BROKER_CONFIG, None, body)
    assert not elsewhere.exists()
    for file in attacked.folder.rglob("*.[cp]*"):
        if file.is_file():
            lines = file.read_text(errors="replace").splitlines()
            assert not [
                line for line in lines if line.startswith("storePath") and "elsewhere" in line
            ]


@pytest.mark.parametrize("key", ["configStorePath", "kvConfigPath", "rocketmqHome"])
async def test_cve_2023_37582(attacked: Attacked, key: str) -> None:
    """UPDATE_NAMESRV_CONFIG: the file that changed settings go to, and what should be in it."""
    target = attacked.folder / "target"
    body = f"{key}={target}\nproductEnvName=x\\n* * * * * id\n".encode()
    async with Client.connect(attacked.server.namesrv_addr) as client:
        await client.request(RequestCode.UPDATE_NAMESRV_CONFIG, None, body)
        await client.request(RequestCode.UPDATE_NAMESRV_CONFIG, None, b"enableTopicList=false\n")
    assert not target.exists()
    assert attacked.beside() == ["broker.conf", "store"]


async def test_cve_2024_23321(attacked: Attacked) -> None:
    """GET_BROKER_CONFIG: anybody reads the administrator's keys."""
    async with Client.connect(attacked.server.broker_addr) as client:
        answer = await client.request(RequestCode.GET_BROKER_CONFIG)
    assert answer.code == ResponseCode.SUCCESS
    assert b"s3cret" not in answer.body
