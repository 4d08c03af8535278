"""Settings, seen and changed while the broker runs."""

import dataclasses

from trimq.broker.config import NEVER_AT_RUN_TIME
from trimq.broker.topics.table import Topics
from trimq.processors.settings.get_broker_config import GetBrokerConfig
from trimq.processors.settings.set_commitlog_read_mode import SetCommitlogReadMode
from trimq.processors.settings.update_broker_config import UpdateBrokerConfig
from trimq.settings.running import RunningSettings
from trimq.wiring.context import Context
from trimq.wiring.part import Part


def running_settings(context: Context, topics: Topics) -> RunningSettings:
    plan = context.plan
    sources = dataclasses.replace(plan.sources, shown=_found_out(context))
    never = NEVER_AT_RUN_TIME | set(plan.broker.config_black_list.split(";"))
    configs = (plan.broker, plan.store, plan.replication, plan.server, plan.tls)
    settings = RunningSettings(configs, sources, context.clock, never)
    settings.when_given("brokerPermission", topics.told_anew)
    return settings


def part(settings: RunningSettings) -> Part:
    return Part(
        name="settings",
        processors=[
            GetBrokerConfig(settings),
            UpdateBrokerConfig(settings),
            SetCommitlogReadMode(),
        ],
    )


def _found_out(context: Context) -> dict[str, str]:
    """Settings whose value comes from flags, or is only known once the broker listens."""
    store = context.plan.store
    host, _, port = context.identity.address.rpartition(":")
    return {
        "listenPort": port,
        "brokerIP1": host,
        "brokerId": str(context.plan.broker.broker_id),
        "haListenPort": context.identity.ha_address.rpartition(":")[2],
        "storePathRootDir": str(store.root),
        "storePathCommitLog": ",".join(map(str, store.commit_logs)),
    }
