"""What is announced is a setting too: shown, kept in the config file, and taken from this host only."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.broker.cluster.test_registration import Broker
from tests.trimq.settings.test_running import Running
from trimq.broker.cluster.registration import Registration
from trimq.codec.codes import ResponseCode
from trimq.codec.records.addresses import pack_host
from trimq.remoting.contract import Peer, RemotingError
from trimq.settings.announced import AnnouncedSettings
from trimq.settings.endpoints import is_an_own_address, told_address
from trimq.settings.options import Endpoint
from trimq.wiring.parts.operation.settings import is_of_this_host

NEW = {"brokerIP1": "localhost", "listenPort": "32768", "brokerName": "c"}


class Announced:
    """The settings of a broker that nobody listens to."""

    def __init__(self, folder: Path, text: str | None, **given: str) -> None:
        self.running = Running(folder, text, **given)
        broker = Broker(folder)
        self.identity = broker.identity
        registration = Registration(broker.config, broker.identity, broker.topics, [])
        self._settings = AnnouncedSettings(self.running.settings, registration, 1000)

    async def update(self, values: Mapping[str, str]) -> str | None:
        return await self._settings.update(values)

    @property
    def told(self) -> tuple[str, str]:
        return self.identity.name, self.identity.address


async def test_a_config_file_keeps_it_for_the_next_start(tmp_path: Path) -> None:
    announced = Announced(tmp_path, "brokerName=b\n# ours\n")
    said = await announced.update(NEW)
    file = announced.running.file
    assert said == f"listenPort: announced; the next start with {file} listens there"
    assert announced.told == ("c", "localhost:32768")
    assert file.read_text() == "brokerName=c\n# ours\nbrokerIP1=localhost\nlistenPort=32768\n"
    shown = announced.running.shown()
    assert {key: shown[key] for key in NEW} == NEW
    config = announced.running.plan.broker
    assert (config.broker_name, config.broker_ip1) == ("c", "localhost")
    announced.running.start()
    assert announced.running.plan.listen.port == 32768
    # It is as it was then.
    assert await announced.update(NEW) is None


async def test_without_one_only_the_name_is_kept(tmp_path: Path) -> None:
    announced = Announced(tmp_path, None)
    said = await announced.update(NEW)
    assert said == "brokerIP1, listenPort: announced until this server stops"
    assert announced.told == ("c", "localhost:32768")
    assert announced.running.kept.read_text() == "brokerName=c\n"
    announced.running.start()
    plan = announced.running.plan
    assert (plan.broker.broker_name, plan.listen.port, plan.broker.broker_ip1) == ("c", 10911, None)


async def test_the_command_line_names_it_again(tmp_path: Path) -> None:
    announced = Announced(tmp_path, None, brokerName="b")
    said = await announced.update({"brokerName": "c"})
    assert said is not None
    assert said.startswith("brokerName: lost at the next start")


async def test_a_name_that_was_for_the_next_start_is_in_force_then(tmp_path: Path) -> None:
    announced = Announced(tmp_path, "brokerName=b\n")
    said = await announced.running.settings.update({"brokerName": "c"})
    assert said == "brokerName: in force from the next start on"
    assert announced.told[0] == "broker-a"
    assert await announced.update({"brokerName": "c"}) is None
    assert announced.told[0] == "c"
    assert await announced.running.settings.update({"brokerName": "c"}) is None


async def test_what_else_is_guarded_stays_so(tmp_path: Path) -> None:
    announced = Announced(tmp_path, None)
    before = announced.running.shown()
    for values in (
        {"brokerIP2": "10.0.0.9"},
        NEW | {"bindAddress": "0.0.0.0"},
        NEW | {"mine": "1"},
    ):
        with pytest.raises(RemotingError) as refused:
            await announced.update(values)
        assert refused.value.code == ResponseCode.NO_PERMISSION
    assert announced.told == ("broker-a", "10.0.0.1:10911")
    assert announced.running.shown() == before


@pytest.mark.parametrize(
    "host",
    [
        "192.0.2.7",
        "::1",
        "2001:db8::7",
        "localhost",
        "my_container-1",
        "a.example.org",
        "h.",
        "7up",
    ],
)
async def test_what_a_host_may_be(tmp_path: Path, host: str) -> None:
    announced = Announced(tmp_path, None)
    await announced.update({"brokerIP1": host})
    assert Endpoint.parse(announced.identity.address).host == host


def test_who_is_on_this_host() -> None:
    own = told_address(Endpoint("0.0.0.0", 1))
    here = ["127.0.0.1:1", "127.8.9.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1", f"{own}:1"]
    elsewhere = ["192.0.2.1:1", "[2001:db8::7]:1", "[::ffff:192.0.2.1]:1"]
    peers = {address: Peer(address, pack_host(address), 1) for address in (*here, *elsewhere)}
    assert [address for address, peer in peers.items() if is_of_this_host(peer)] == here
    # A forwarder is only believed to come from elsewhere.
    assert not is_of_this_host(Peer("127.0.0.1:1", pack_host("192.0.2.1:1"), 1))
    assert not is_of_this_host(Peer("192.0.2.1:1", pack_host("127.0.0.1:1"), 1))
    assert not is_an_own_address("no address")
