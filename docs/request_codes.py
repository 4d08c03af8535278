"""Which request codes are answered, asked of a broker and a NameServer that serve nobody."""

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trimq.base.clock import Clock
from trimq.broker.identity import BrokerIdentity
from trimq.namesrv.config import NamesrvConfig
from trimq.remoting.contract import Processor
from trimq.settings.options import ServerOptions, server_plan
from trimq.store.message_store import MessageStore
from trimq.wiring.broker import broker_parts
from trimq.wiring.common import common_to_parts
from trimq.wiring.context import Context
from trimq.wiring.namesrv import build_namesrv
from trimq.wiring.part import Parts
from trimq.wiring.parts.brokers.cluster import NameServers, other_brokers


def broker_and_namesrv() -> tuple[Parts, Parts]:
    """The parts of both, on a store that is not open and was never there."""
    with tempfile.TemporaryDirectory() as folder:
        plan = server_plan(ServerOptions(store=Path(folder)))
        clock = Clock()
        store = MessageStore(plan.store, clock.millis)
        identity = BrokerIdentity("c", "b", 0, "127.0.0.1:10911", "127.0.0.1:10912")
        given, nobody = Context(plan, identity, store, clock), NameServers()
        common = common_to_parts(given, nobody, other_brokers(given, nobody))
        namesrv = build_namesrv(NamesrvConfig(kv_config_path=Path(folder) / "kv"), clock)
        return Parts(broker_parts(given, common)), namesrv.parts


def answered_codes() -> tuple[set[int], set[int], set[int]]:
    """The codes that the broker's port, its VIP port and the NameServer answer."""
    broker, namesrv = broker_and_namesrv()
    return _codes(broker.processors), _codes(broker.vip_processors), _codes(namesrv.processors)


def _codes(processors: Iterable[Processor[Any]]) -> set[int]:
    return {int(code) for processor in processors for code in processor.codes}
