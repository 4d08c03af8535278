"""Faults of a server that is a process of its own, as a project's tests ask for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimq.admin import AdminError
from trimq.remoting.errors import RemotingConnectError
from trimq.testing import running_server


def test_faults(tmp_path: Path) -> None:
    with running_server(tmp_path / "store", hand=True) as server:
        server.send("T", "one")
        server.faults.fail_next(sends=1, code="SYSTEM_BUSY", topic="T")
        with pytest.raises(AdminError, match="start flow control for a while"):
            server.send("T", "two")
        server.faults.full_disk()
        with pytest.raises(AdminError, match="disk is full"):
            server.send("T", "three")
        server.faults.away()
        with pytest.raises(RemotingConnectError, match="refused"):
            server.send("T", "four")
        server.faults.clear()
        server.send("T", "five")
        assert [message.body for message in server.messages("T")] == [b"one", b"five"]
        assert server.faults.list() == ()
