"""A lite client whose stream was torn off reads no lite topics until it says so again."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from tests.proxy.consuming import Consuming
from tests.proxy.fake_broker import NAMESRV, FakeOut, caller
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.codes import RequestCode
from trimq.proxy.metadata import Metadata
from trimq.proxy.protos.definition_pb2 import ClientType
from trimq.proxy.protos.service_pb2 import TelemetryCommand
from trimq.proxy.questions.asking import Asking
from trimq.proxy.registration import Registration
from trimq.proxy.routes import Routes
from trimq.proxy.rpcs.telemetry import Telemetry
from trimq.proxy.settings import SettingsMerger


async def commands(ends):
    """The settings of a lite client; then the stream ends, or does not."""
    command = TelemetryCommand()
    command.settings.client_type = ClientType.LITE_PUSH_CONSUMER
    command.settings.subscription.group.name = "G"
    command.settings.subscription.subscriptions.add().topic.name = "T"
    yield command
    if not ends:
        await trio.sleep_forever()


@pytest.mark.parametrize(
    ("ends", "newer", "said"), [(False, False, 1), (False, True, 0), (True, False, 0)]
)
async def test_torn_off(nursery, ends, newer, said, autojump_clock):
    stage = Consuming(nursery)
    stage.broker.groups["G"] = SubscriptionGroupConfig(attributes={"lite.bind.topic": "T"})
    routes = Routes(stage.broker, [NAMESRV], 20)
    metadata = Metadata(stage.broker, routes, "DefaultCluster", 20)
    stage.clients.on_torn_off.append(stage.lite.leave)
    telemetry = Telemetry(
        stage.clients,
        SettingsMerger(stage.config, metadata),
        Registration(metadata),
        Asking(stage.clients, 60),
    )
    out = FakeOut()
    nursery.start_soon(_later, stage, newer)
    with trio.move_on_after(1):
        await telemetry(caller(), commands(ends), out)
    await trio.testing.wait_all_tasks_blocked()
    assert len(stage.broker.of(RequestCode.LITE_SUBSCRIPTION_CTL)) == said


async def _later(stage, newer):
    """Meanwhile the client may have opened another stream."""
    await trio.sleep(0.5)
    if newer:
        stage.clients.get("c").stream = FakeOut()
