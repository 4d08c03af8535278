"""A mapped port is announced as container classes of tests do it: the official mqadmin asks both brokers for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from compat_tests.cluster.namesrv_asks import ask_once
from compat_tests.mqadmin.tools import OfficialTool
from compat_tests.servers.jvm import Launcher
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.real import RealNameServer, RealServer
from compat_tests.servers.server import Options
from tests.patience import until

COMMANDS: Final = (
    ("brokerIP1", "announced.example"),
    ("listenPort", "32768"),
    ("brokerName", "broker-z"),
    ("brokerPermission", "6"),
)
ANNOUNCED: Final = "announced.example:32768"


def play(server: RealServer | TrimqServer, tool: OfficialTool) -> dict[str, Any]:
    """Start it; what is printed, routed and shown."""
    server.start()
    printed = []
    for key, value in COMMANDS:
        words = ["updateBrokerConfig", "-b", server.broker_addr, "-k", key, "-v", value]
        out = tool.run(server.namesrv_addr, words).out
        printed.append("success" in out)
    # At once, with both: the last command's answer came after it.
    _, _, _, listed = ask_once(server.namesrv_addr, 106)
    _, _, _, route = ask_once(server.namesrv_addr, 105, topic="TBW102")
    _, _, _, text = ask_once(server.broker_addr, 26)
    shown = dict(line.partition("=")[::2] for line in str(text).splitlines())
    return {
        "printed": printed,
        "listed": ANNOUNCED in json.dumps(listed["brokerAddrTable"]["broker-z"]),
        "routed": any(
            one["brokerName"] == "broker-z" and ANNOUNCED in json.dumps(one)
            for one in route["brokerDatas"]
        ),
        "shown": [shown[key] for key, _ in COMMANDS],
        # It still listens where it did.
        "answers": ask_once(server.broker_addr, 28)[0],
    }


def test_the_commands_of_a_container_class(launch: Launcher, tmp_path: Path) -> None:
    options = Options({"brokerName": "broker-a"})
    real = RealServer(launch, tmp_path / "real", options)
    ours = TrimqServer(tmp_path / "ours", options)
    (tmp_path / "tools").mkdir()
    tool = OfficialTool(tmp_path / "tools")
    try:
        outcomes = [play(server, tool) for server in (real, ours)]
    finally:
        tool.close()
        real.kill()
        ours.kill()
    assert outcomes[0] == outcomes[1]
    assert outcomes[0]["routed"]


def test_the_real_name_server_forgets_the_former_name(launch: Launcher, tmp_path: Path) -> None:
    """It takes brokers back behind its answer, and keeps what was registered meanwhile."""
    names = RealNameServer(launch, tmp_path / "names")
    ours = TrimqServer(tmp_path / "ours", Options({"brokerName": "broker-a"}), namesrv=names.addr)
    (tmp_path / "tools").mkdir()
    tool = OfficialTool(tmp_path / "tools")
    try:
        names.start()
        assert play(ours, tool)["routed"]
        until(
            lambda: _listed(names.addr) == {"broker-z": {"bare 0": ANNOUNCED}}, "only the new name"
        )
    finally:
        tool.close()
        ours.kill()
        names.kill()


def _listed(namesrv: str) -> dict[str, Any]:
    """Addresses by name, as the NameServer has them."""
    _, _, _, found = ask_once(namesrv, 106)
    return {name: data["brokerAddrs"] for name, data in found["brokerAddrTable"].items()}
