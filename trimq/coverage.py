"""Which request codes are answered: with trimq/unsupported.py the source of docs/compatibility.md.

A unit test asserts that every RequestCode is in exactly one of the tables there or in the processor lists.
"""

import tempfile
from pathlib import Path
from typing import Any

from trimq.broker.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.identity import BrokerIdentity
from trimq.namesrv.config import NamesrvConfig
from trimq.options import ServerOptions, server_plan
from trimq.server_config import ServerConfig
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.tls_config import TlsConfig
from trimq.unsupported import NEVER_RECEIVED, UNSUPPORTED
from trimq.wiring.broker import build_state
from trimq.wiring.namesrv import build_namesrv
from trimq.wiring.processors import on_main_port_only, processors

__all__ = ["NEVER_RECEIVED", "UNSUPPORTED", "answered_codes", "setting_classes"]


def answered_codes() -> tuple[set[int], set[int], set[int]]:
    """The codes that the broker's port, its VIP port and the NameServer answer."""
    with tempfile.TemporaryDirectory() as folder:
        plan = server_plan(ServerOptions(store=Path(folder)))
        clock = Clock()
        store = MessageStore(plan.store, clock.millis)
        identity = BrokerIdentity("c", "b", 0, "127.0.0.1:10911", "127.0.0.1:10912")
        table = processors(plan, identity, build_state(plan, identity, store, clock), clock)
        namesrv = build_namesrv(NamesrvConfig(kv_config_path=Path(folder) / "kv"), clock).processors
    return (
        _codes(table),
        _codes([one for one in table if not on_main_port_only(one)]),
        _codes(namesrv),
    )


def _codes(table: list[Any]) -> set[int]:
    return {int(code) for processor in table for code in processor.codes}


def setting_classes() -> list[tuple[str, type[Any]]]:
    """What the settings page documents."""
    return [
        ("Broker", BrokerConfig),
        ("Store", StoreConfig),
        ("Listening, metrics", ServerConfig),
        ("TLS", TlsConfig),
        ("NameServer", NamesrvConfig),
    ]
