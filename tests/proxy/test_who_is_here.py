"""Who is still a client of a group."""

from __future__ import annotations

import pytest
import trio

from trimq.proxy.clients import Clients
from trimq.proxy.protos.definition_pb2 import Settings


@pytest.mark.parametrize(
    ("client_id", "group", "after", "is_here"),
    [
        ("c", "G", 120, True),
        ("c", "G", 121, False),
        ("c", "X", 0, False),
        ("x", "G", 0, False),
    ],
)
async def test_who_said_something_lately(client_id, group, after, is_here, autojump_clock):
    clients = Clients()
    settings = Settings()
    settings.subscription.group.name = "G"
    clients.heard_of("c", "127.0.0.1:1").settings = settings
    await trio.sleep(after)
    assert clients.is_here(client_id, group, 120) is is_here
