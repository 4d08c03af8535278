"""What flags and settings come to."""

import logging
from pathlib import Path
from typing import Any

import pytest

from trimq.serving.reachable import reachable
from trimq.settings.endpoints import AddressSyntaxError, Endpoint
from trimq.settings.options import ServerOptions, prepare_store, server_plan
from trimq.settings.parsing import SettingsError


def test_a_server_is_open_to_this_machine_only(tmp_path: Path) -> None:
    plan = server_plan(ServerOptions(store=tmp_path))
    assert plan.listen == Endpoint("127.0.0.1", 10911)
    assert plan.embedded is not None
    assert plan.embedded.listen == Endpoint("127.0.0.1", 9876)


def check(**options: Any) -> None:
    settings = {
        key: str(options.pop(key)) for key in ("brokerIP1", "bindAddress") if key in options
    }
    given = ServerOptions(store=Path("data"), settings=settings, **options)
    reachable(server_plan(given), given.listen is not None or "bindAddress" in settings)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"brokerIP1": "192.0.2.7"}, r"192.0.2.7 \(brokerIP1\).*Add --listen 0.0.0.0:10911"),
        ({"advertise": "192.0.2.7:1"}, r"192.0.2.7 \(--advertise\).*bindAddress=0.0.0.0"),
        ({"namesrv": "192.0.2.9:9876"}, r"--listen 0.0.0.0:10911 --advertise ADDRESS:10911"),
        ({"namesrv": "127.0.0.1:1;192.0.2.9:9876"}, r"the NameServer 192.0.2.9:9876 would send"),
        ({"namesrv": "no.such.host.invalid:9876"}, r"--listen 127.0.0.1:10911 if all clients"),
    ],
)
def test_a_broker_that_nobody_would_reach_does_not_start(
    options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SettingsError, match=sentence):
        check(**options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"brokerIP1": "127.0.0.1"},
        {"namesrv": "127.0.0.1:9876"},
        {"namesrv": "localhost:9876"},
        {"namesrv": "192.0.2.9:9876", "listen": "127.0.0.1:10911"},
        {"namesrv": "192.0.2.9:9876", "listen": "0.0.0.0:10911"},
        {"brokerIP1": "192.0.2.7", "bindAddress": "0.0.0.0"},
        {"brokerIP1": "192.0.2.7", "bindAddress": "192.0.2.7"},
        {"advertise": "127.0.0.1:31000", "listen": "0.0.0.0:10911"},
        {"advertise": "198.51.100.1:10911", "listen": "192.0.2.7:10911"},
        {"advertise_file": Path("f")},
        {"advertise_file": Path("f"), "brokerIP1": "192.0.2.7", "namesrv": "192.0.2.9:9876"},
    ],
)
def test_what_can_be_reached_starts_silently(
    options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    check(**options)
    assert caplog.messages == []


@pytest.mark.parametrize(
    "options",
    [
        {"advertise": "192.0.2.7:10911", "listen": "127.0.0.1:10911"},
        {"brokerIP1": "192.0.2.7", "bindAddress": "127.0.0.1"},
        {"advertise": "127.0.0.1:10911", "listen": "192.0.2.7:10911"},
    ],
)
def test_what_needs_a_forwarder_is_warned_of(
    options: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    check(**options)
    (warning,) = [one for one in caplog.records if one.levelno == logging.WARNING]
    assert "nobody will get through" in warning.getMessage()


@pytest.mark.parametrize("address", ["master", "master:ha", "10.0.0.1:0", ":10912", "x..y:10912"])
def test_a_slave_with_an_address_that_is_none_does_not_start(address: str) -> None:
    settings = {"brokerRole": "SLAVE", "brokerId": "1", "haMasterAddress": address}
    given = ServerOptions(store=Path("data"), settings=settings)
    with pytest.raises(AddressSyntaxError, match=r"haMasterAddress.*or leave it out and the slave"):
        server_plan(given)
    settings["haMasterAddress"] = "no.such.host.invalid:10912"
    assert server_plan(given).replication.ha_master_address


def test_a_store_that_is_a_link_to_nowhere(tmp_path: Path) -> None:
    link = tmp_path / "store"
    link.symlink_to(tmp_path / "disk" / "store")
    with pytest.raises(
        SettingsError, match=r"is a link to .*/disk/store, which is not there; make"
    ):
        prepare_store(link)
    assert not (tmp_path / "disk").exists()
    (tmp_path / "disk" / "store").mkdir(parents=True)
    prepare_store(link)
