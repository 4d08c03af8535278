"""Settings, seen and changed while the broker runs."""

import dataclasses

from trimq.broker.config import NEVER_AT_RUN_TIME
from trimq.broker.topics.table import Topics
from trimq.processors.settings.get_broker_config import GetBrokerConfig
from trimq.processors.settings.set_commitlog_read_mode import SetCommitlogReadMode
from trimq.processors.settings.update_broker_config import UpdateBrokerConfig
from trimq.settings.running import RunningSettings
from trimq.wiring.given import Given
from trimq.wiring.part import Part


def running_settings(given: Given, topics: Topics) -> RunningSettings:
    plan = given.plan
    sources = dataclasses.replace(plan.sources, shown=_found_out(given))
    never = NEVER_AT_RUN_TIME | set(plan.broker.config_black_list.split(";"))
    configs = (plan.broker, plan.store, plan.replication, plan.server, plan.tls)
    settings = RunningSettings(configs, sources, given.clock, never)
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


def _found_out(given: Given) -> dict[str, str]:
    """Settings whose value comes from flags, or is only known once the broker listens."""
    store = given.plan.store
    host, _, port = given.identity.address.rpartition(":")
    return {
        "listenPort": port,
        "brokerIP1": host,
        "brokerId": str(given.plan.broker.broker_id),
        "haListenPort": given.identity.ha_address.rpartition(":")[2],
        "storePathRootDir": str(store.root),
        "storePathCommitLog": ",".join(map(str, store.commit_logs)),
    }
