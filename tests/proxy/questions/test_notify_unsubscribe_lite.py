"""A notice of the broker's goes down its client's stream."""

from __future__ import annotations

import pytest
import trio.testing

from tests.proxy.consuming import Consuming
from tests.proxy.fake_broker import FakeOut
from trimq.codec.codes import RequestCode
from trimq.codec.headers.lite import NotifyUnsubscribeLiteRequestHeader
from trimq.proxy.questions.notify_unsubscribe_lite import NotifyUnsubscribeLite
from trimq.remoting.contract import Request
from trimq.remoting.testing import RecordingPeer


@pytest.mark.parametrize(
    ("client", "group", "told"), [("c", "G", ["one"]), ("x", "G", []), ("c", "X", [])]
)
async def test_told_whom_it_is_for(nursery, client, group, told, autojump_clock):
    stage = Consuming(nursery)
    out = FakeOut()
    stage.clients.heard_of("c", "127.0.0.1:1").stream = out
    header = NotifyUnsubscribeLiteRequestHeader(
        lite_topic="one", consumer_group=group, client_id=client
    )
    NotifyUnsubscribeLite(stage.clients, nursery).handle(
        Request(RequestCode.NOTIFY_UNSUBSCRIBE_LITE, header, RecordingPeer())
    )
    await trio.testing.wait_all_tasks_blocked()
    found = [one.notify_unsubscribe_lite_command.lite_topic for one in out.sent]
    assert found == told
