"""The NameServer's settings under RocketMQ's own key names (NamesrvConfig).

RocketMQ's thread pool sizes and queue lengths have no counterpart here: one loop serves all.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trimq.base.setting_fields import computed_setting, limit, setting

# DefaultRequestProcessor refuses these whatever configBlackList says.
NEVER_AT_RUN_TIME: Final = frozenset(
    {"configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"}
)


def _default_folder() -> Path:
    """Where the real NameServer keeps its files."""
    return Path.home() / "namesrv"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesrvConfig:
    """A NameServer's settings; while it runs only trimq/settings/running.py changes some."""

    listen_port: int = setting(
        9876, "Port for brokers and clients.", at_least=0, at_most=65535, guarded=True
    )
    kv_config_path: Path = computed_setting(
        lambda: _default_folder() / "kvConfig.json", "File of the key-value configuration."
    )
    config_store_path: Path = computed_setting(
        lambda: _default_folder() / "namesrv.properties",
        "File that runtime changes are written to.",
    )
    order_message_enable: bool = setting(
        False, "Put a topic's ordered-topic configuration into its route.", live=True
    )
    return_order_topic_config_to_broker: bool = setting(
        True, "Answer a broker's registration with the list of ordered topics.", live=True
    )
    scan_not_active_broker_interval: int = setting(
        5000,
        "Milliseconds between two searches for silent brokers.",
        at_least=100,
        live=True,
        long=True,
    )
    support_acting_master: bool = setting(
        False, "Name the slave with the lowest id as master while a group has none.", live=True
    )
    enable_all_topic_list: bool = setting(
        True, "Answer requests for the list of all topics.", live=True
    )
    enable_topic_list: bool = setting(
        True, "Answer requests for the topics of a cluster and for unit topics.", live=True
    )
    notify_min_broker_id_changed: bool = setting(
        False, "Tell the members of a broker group when its lowest broker id changes.", live=True
    )
    need_wait_for_service: bool = setting(
        False, "Refuse route requests for a while after the start.", live=True
    )
    wait_seconds_for_service: int = setting(
        45, "Seconds to refuse route requests for (needWaitForService).", at_least=0, live=True
    )
    delete_topic_with_broker_registration: bool = setting(
        False, "Forget a broker's topics that are missing from its registration.", live=True
    )
    namesrv_max_brokers: int = limit(10_000, "Brokers that may be registered.")
    namesrv_max_topics: int = limit(200_000, "Topics of all brokers.")
    namesrv_max_kv_bytes: int = limit(
        16 * 1024 * 1024, "Characters of the key-value configuration."
    )
    config_black_list: str = setting(
        "configBlackList;configStorePath;kvConfigPath",
        "Keys that cannot be changed at run time, separated by semicolons.",
    )
