"""A NameServer: what its parts share, and the list of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trimq.base.clock import Clock
from trimq.namesrv.config import NEVER_AT_RUN_TIME, NamesrvConfig
from trimq.namesrv.kv_config import KVConfig
from trimq.namesrv.min_broker_notices import MinBrokerNotices
from trimq.namesrv.routes import RouteTable
from trimq.settings.running import RunningSettings
from trimq.settings.sources import Sources
from trimq.wiring.part import Parts
from trimq.wiring.parts.namesrv import kv_config, routes, settings, topics


@dataclass(frozen=True, slots=True)
class Namesrv:
    """Everything that runs. ``parts`` are also the listener of its connections."""

    routes: RouteTable
    kv_config: KVConfig
    settings: RunningSettings
    parts: Parts


def build_namesrv(
    config: NamesrvConfig,
    clock: Clock,
    sources: Sources | None = None,
    process: Sequence[Any] = (),
) -> Namesrv:
    """Key-value configuration is read from its file here.

    ``process`` are the configs of the process that it shows with its own.
    """
    never = NEVER_AT_RUN_TIME | set(config.config_black_list.split(";"))
    running = RunningSettings((config, *process), sources or Sources(), clock, never)
    notices = MinBrokerNotices()
    table = RouteTable(config, clock.steady_millis, notices)
    kv = KVConfig(config.kv_config_path, config.namesrv_max_kv_bytes)
    parts = Parts(
        [
            routes.part(config, clock, table, notices, kv),
            topics.part(config, table),
            kv_config.part(kv),
            settings.part(running),
        ]
    )
    parts.load()
    return Namesrv(table, kv, running, parts)
