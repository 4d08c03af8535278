"""Settings, seen and changed while the broker runs."""

import dataclasses

from trimq.broker.cluster.registration import Registration
from trimq.broker.config import NEVER_AT_RUN_TIME
from trimq.broker.topics.table import Topics
from trimq.codec.records.addresses import unpack_host
from trimq.processors.settings.get_broker_config import GetBrokerConfig
from trimq.processors.settings.set_commitlog_read_mode import SetCommitlogReadMode
from trimq.processors.settings.update_broker_config import UpdateBrokerConfig
from trimq.remoting.contract import Peer
from trimq.remoting.growth_limits import host_of, is_loopback
from trimq.settings.announced import AnnouncedSettings
from trimq.settings.endpoints import is_an_own_address
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


def part(context: Context, settings: RunningSettings, registration: Registration) -> Part:
    timeout = context.config.register_broker_timeout_mills
    return Part(
        name="settings",
        processors=[
            GetBrokerConfig(settings),
            UpdateBrokerConfig(
                settings, AnnouncedSettings(settings, registration, timeout), is_of_this_host
            ),
            SetCommitlogReadMode(),
        ],
    )


def is_of_this_host(peer: Peer) -> bool:
    """Whether the connection comes from this host, or from this container.

    With the PROXY protocol both must: whom it is said to be from, and who says so.
    """
    hosts = (host_of(peer.remote_addr), host_of(unpack_host(peer.packed_host)))
    return all(is_loopback(host) or is_an_own_address(host) for host in hosts)


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
