"""Who may be held, where, and what is said of it at the start."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from trimq.commands.cli import main
from trimq.hand.hand import Hand
from trimq.hand.server import Refused, answered
from trimq.process.http import HttpRequest
from trimq.serving.server import open_server
from trimq.settings.options import ServerOptions, server_plan
from trimq.settings.parsing import SettingsError


def _options(store: Path, **more: object) -> ServerOptions:
    return ServerOptions(
        store=store,
        listen="127.0.0.1:0",
        namesrv_listen="127.0.0.1:0",
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    "address", ["9800", ":9800", "127.0.0.1:9800", "localhost:9800", "[::1]:9800"]
)
def test_the_loopback(tmp_path: Path, address: str) -> None:
    endpoint = server_plan(_options(tmp_path, hand=address)).hand
    assert endpoint is not None
    assert endpoint.port == 9800


def test_beyond_it(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"listen on 127\.0\.0\.1, or add --hand-insecure"):
        server_plan(_options(tmp_path, hand="0.0.0.0:9800"))
    endpoint = server_plan(_options(tmp_path, hand="0.0.0.0:9800", hand_insecure=True)).hand
    assert str(endpoint) == "0.0.0.0:9800"
    with pytest.raises(SettingsError, match="says nothing without --hand"):
        server_plan(_options(tmp_path, hand_insecure=True))


def test_never_by_default(tmp_path: Path) -> None:
    assert server_plan(_options(tmp_path)).hand is None


async def test_it_is_said_at_each_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "trimq.hand"):
        async with open_server(_options(tmp_path, hand="127.0.0.1:0")) as running:
            assert running.process is not None
            address = running.process.address
    assert f"can be changed at http://{address}" in caplog.text


def test_several_brokers_are_not_held() -> None:
    done = CliRunner().invoke(main, ["server", "--brokers", "2", "--hand", "9800"])
    assert done.exit_code == 2
    assert "--hand holds one broker" in done.output


def test_a_server_without_it_loads_nothing_of_it() -> None:
    code = (
        "import sys, trimq.serving.server, trimq.wiring.broker, trimq.commands.cli\n"
        "print([name for name in sys.modules if name.startswith('trimq.hand')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_a_page_in_a_browser_is_not_answered() -> None:
    """It would say from where it comes; what it asks for could be a reset."""
    request = HttpRequest("POST", "/time/now", {"origin": "http://elsewhere.example"}, b"{}")
    with pytest.raises(Refused, match="not for pages of a browser"):
        await answered(Hand(), request)
    assert b"millis" in await answered(Hand(), HttpRequest("POST", "/time/now", {}, b"{}"))
