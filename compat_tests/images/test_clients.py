"""The official Go client through mapped ports, and the official Java client of RocketMQ 5 through
RocketMQ's own proxy. Each sees what it saw of the real servers, by the records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from compat_tests.comparing.records import Records, Seen, compared
from compat_tests.images.engine import HOME, Engine, folder
from compat_tests.images.test_replaced import Where
from compat_tests.scenarios import test_grpc
from compat_tests.scenarios.batches import MAIN, Batch
from compat_tests.scenarios.driver import Driver, Outcome, play
from compat_tests.scenarios.go_driver import GO
from compat_tests.scenarios.recorded import subject
from compat_tests.scenarios.stage import SETTINGS
from compat_tests.servers.processes import HOST, free_port
from compat_tests.servers.server import COMMON_SETTINGS, write_broker_conf

INNER_CONF: Final = f"{HOME}/conf/broker.conf"
# Sending in its forms, consuming, tags, pulling, and the port of the VIP channel.
OF_GO: Final = (
    *("send_sync", "send_async", "send_batch", "send_vip"),
    *("push_messages", "retry_once", "filter_tags", "pull_statuses"),
)
OF_GRPC: Final = (
    *("grpc_normal", "grpc_fifo", "grpc_simple", "grpc_delay", "grpc_transactions"),
    "grpc_filters",
)


@dataclass
class Mapped(Where):
    """Addresses of this machine that lead to containers."""

    gateway: str


def assert_as_recorded(
    driver: Driver, batch: Batch, where: Mapped, names: Sequence[str], home: Path
) -> None:
    """That applications see what they saw of the real servers; what is not in the record fails."""
    recorded = Records(live=False, writing=False).find(
        subject(driver, batch, SETTINGS[batch.servers])
    )
    played = play(driver, where, names, home)  # type: ignore[arg-type]
    for name in names:
        ours = Seen.of(without_way(played[name], where), where)  # type: ignore[arg-type]
        assert ours.error is None, (name, ours.error)
        assert compared(recorded[name].outcome, ours.outcome) == [], name


def without_way(outcome: Outcome, where: Mapped) -> Outcome:
    """As if the client had come over the loopback: the broker sees the engine's end of a mapped port."""
    text = json.dumps(outcome.outcome).replace(f"{where.gateway}:", f"{HOST}:")
    return replace(outcome, outcome=json.loads(text))


@contextmanager
def mapped(engine: Engine, home: Path, settings: dict[str, str]) -> Iterator[Mapped]:
    """As users of RocketMQ's image map ports: the same outside, `brokerIP1` and `listenPort` in the file."""
    port = free_port()
    conf = write_broker_conf(home / "broker.conf", {**settings, "listenPort": str(port)})
    namesrv = engine.run("namesrv", "-p", f"{HOST}::9876", command=("sh", "mqnamesrv"))
    broker = engine.run(
        "broker",
        *("-e", "NAMESRV_ADDR=namesrv:9876"),
        *("-p", f"{HOST}:{port}:{port}", "-p", f"{HOST}:{port - 2}:{port - 2}"),
        *("-v", f"{conf}:{INNER_CONF}", "-v", f"{folder(home / 'store')}:{HOME}/store"),
        command=("sh", "mqbroker", "-c", INNER_CONF),
    )
    broker.wait_until_well()
    yield Mapped(f"{HOST}:{namesrv.port(9876)}", f"{HOST}:{port}", broker.gateway)
    assert [one.stop() for one in (broker, namesrv)] == [0, 0]


def test_the_go_client_through_mapped_ports(engine: Engine, tmp_path: Path) -> None:
    with mapped(engine, tmp_path, COMMON_SETTINGS) as where:
        assert_as_recorded(GO, MAIN, where, OF_GO, tmp_path / "driver")


def test_the_go_client_with_a_container_of_the_first_look(engine: Engine, tmp_path: Path) -> None:
    """The page's first command: `--advertise` alone says what a mapped port is outside."""
    port = free_port()
    both = engine.run(
        "trimq",
        *("-p", f"{HOST}::9876", "-p", f"{HOST}:{port}:10911", "-p", f"{HOST}:{port - 2}:10909"),
        # The driver asks for a broker of this name.
        command=("--advertise", f"{HOST}:{port}", "--set", "brokerName=broker-a"),
    )
    both.wait_until_well()
    where = Where(f"{HOST}:{both.port(9876)}", f"{HOST}:{port}")
    names = ("send_sync", "push_messages")
    outcomes = play(GO, where, names, tmp_path / "driver")  # type: ignore[arg-type]
    assert [one.error for one in outcomes.values()] == [None] * len(names)
    assert all(one.outcome for one in outcomes.values())


def test_rocketmq_5_clients_through_the_official_proxy(engine: Engine, tmp_path: Path) -> None:
    """The proxy knows the NameServer's container alone, and finds the broker's by what that one registers."""
    settings = {**COMMON_SETTINGS, **SETTINGS[test_grpc.MAIN.servers]}
    with mapped(engine, tmp_path, settings) as where:
        assert_as_recorded(test_grpc.CLIENT, test_grpc.MAIN, where, OF_GRPC, tmp_path / "driver")
