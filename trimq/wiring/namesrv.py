"""A NameServer's parts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trimq.broker.clock import Clock
from trimq.namesrv.config import NEVER_AT_RUN_TIME, NamesrvConfig
from trimq.namesrv.kv_config import KVConfig
from trimq.namesrv.min_broker_notices import MinBrokerNotices
from trimq.namesrv.routes import RouteTable
from trimq.processors.namesrv.add_write_perm_of_broker import AddWritePermOfBroker
from trimq.processors.namesrv.broker_heartbeat import BrokerHeartbeat
from trimq.processors.namesrv.delete_kv_config import DeleteKvConfig
from trimq.processors.namesrv.delete_topic_in_namesrv import DeleteTopicInNamesrv
from trimq.processors.namesrv.get_all_topic_list_from_nameserver import (
    GetAllTopicListFromNameserver,
)
from trimq.processors.namesrv.get_broker_cluster_info import GetBrokerClusterInfo
from trimq.processors.namesrv.get_broker_member_group import GetBrokerMemberGroup
from trimq.processors.namesrv.get_has_unit_sub_topic_list import GetHasUnitSubTopicList
from trimq.processors.namesrv.get_has_unit_sub_ununit_topic_list import GetHasUnitSubUnunitTopicList
from trimq.processors.namesrv.get_kv_config import GetKvConfig
from trimq.processors.namesrv.get_kvlist_by_namespace import GetKvlistByNamespace
from trimq.processors.namesrv.get_namesrv_config import GetNamesrvConfig
from trimq.processors.namesrv.get_routeinfo_by_topic import GetRouteinfoByTopic
from trimq.processors.namesrv.get_system_topic_list_from_ns import GetSystemTopicListFromNs
from trimq.processors.namesrv.get_topics_by_cluster import GetTopicsByCluster
from trimq.processors.namesrv.get_unit_topic_list import GetUnitTopicList
from trimq.processors.namesrv.put_kv_config import PutKvConfig
from trimq.processors.namesrv.query_data_version import QueryDataVersion
from trimq.processors.namesrv.register_broker import RegisterBroker
from trimq.processors.namesrv.register_topic_in_namesrv import RegisterTopicInNamesrv
from trimq.processors.namesrv.unregister_broker import UnregisterBroker
from trimq.processors.namesrv.update_namesrv_config import UpdateNamesrvConfig
from trimq.processors.namesrv.wipe_write_perm_of_broker import WipeWritePermOfBroker
from trimq.remoting.contract import Processor
from trimq.running_settings import RunningSettings
from trimq.sources import Sources


@dataclass(frozen=True, slots=True)
class Namesrv:
    """State and processors of one NameServer; ``routes`` is also its connection listener."""

    routes: RouteTable
    kv_config: KVConfig
    settings: RunningSettings
    processors: list[Processor[Any]]
    notices: MinBrokerNotices


def build_namesrv(
    config: NamesrvConfig,
    clock: Clock,
    sources: Sources | None = None,
    process: Sequence[Any] = (),
) -> Namesrv:
    """Everything a NameServer consists of; ``kv_config`` is loaded from its file.

    ``process`` are the configs of the process that it shows with its own.
    """
    never = NEVER_AT_RUN_TIME | set(config.config_black_list.split(";"))
    settings = RunningSettings((config, *process), sources or Sources(), clock, never)
    notices = MinBrokerNotices()
    routes = RouteTable(config, clock.millis, notices)
    kv_config = KVConfig(config.kv_config_path, config.namesrv_max_kv_bytes)
    kv_config.load()
    processors: list[Processor[Any]] = [
        *_routes(routes, kv_config, config, clock),
        *_topics(routes, config),
        PutKvConfig(kv_config),
        GetKvConfig(kv_config),
        DeleteKvConfig(kv_config),
        GetKvlistByNamespace(kv_config),
        UpdateNamesrvConfig(settings),
        GetNamesrvConfig(settings),
    ]
    return Namesrv(routes, kv_config, settings, processors, notices)


def _routes(
    routes: RouteTable, kv_config: KVConfig, config: NamesrvConfig, clock: Clock
) -> list[Processor[Any]]:
    return [
        RegisterBroker(routes, kv_config, config),
        UnregisterBroker(routes),
        BrokerHeartbeat(routes),
        QueryDataVersion(routes),
        GetRouteinfoByTopic(routes, kv_config, config, clock.millis),
        GetBrokerClusterInfo(routes),
        GetBrokerMemberGroup(routes),
        WipeWritePermOfBroker(routes.topics),
        AddWritePermOfBroker(routes.topics),
    ]


def _topics(routes: RouteTable, config: NamesrvConfig) -> list[Processor[Any]]:
    return [
        GetAllTopicListFromNameserver(routes.topics, config),
        GetSystemTopicListFromNs(routes),
        GetTopicsByCluster(routes, config),
        GetUnitTopicList(routes.topics, config),
        GetHasUnitSubTopicList(routes.topics, config),
        GetHasUnitSubUnunitTopicList(routes.topics, config),
        RegisterTopicInNamesrv(routes),
        DeleteTopicInNamesrv(routes),
    ]
