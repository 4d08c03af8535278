"""Which brokers there are, and where topics are found."""

from trimq.base.clock import Clock
from trimq.namesrv.config import NamesrvConfig
from trimq.namesrv.kv_config import KVConfig
from trimq.namesrv.min_broker_notices import MinBrokerNotices
from trimq.namesrv.routes import RouteTable
from trimq.processors.namesrv.routes.add_write_perm_of_broker import AddWritePermOfBroker
from trimq.processors.namesrv.routes.broker_heartbeat import BrokerHeartbeat
from trimq.processors.namesrv.routes.get_broker_cluster_info import GetBrokerClusterInfo
from trimq.processors.namesrv.routes.get_broker_member_group import GetBrokerMemberGroup
from trimq.processors.namesrv.routes.get_routeinfo_by_topic import GetRouteinfoByTopic
from trimq.processors.namesrv.routes.query_data_version import QueryDataVersion
from trimq.processors.namesrv.routes.register_broker import RegisterBroker
from trimq.processors.namesrv.routes.unregister_broker import UnregisterBroker
from trimq.processors.namesrv.routes.wipe_write_perm_of_broker import WipeWritePermOfBroker
from trimq.wiring.part import Part


def part(
    config: NamesrvConfig,
    clock: Clock,
    routes: RouteTable,
    notices: MinBrokerNotices,
    kv_config: KVConfig,
) -> Part:
    return Part(
        name="routes",
        processors=[
            RegisterBroker(routes, kv_config, config),
            UnregisterBroker(routes),
            BrokerHeartbeat(routes),
            QueryDataVersion(routes),
            GetRouteinfoByTopic(routes, kv_config, config, clock.steady_millis),
            GetBrokerClusterInfo(routes),
            GetBrokerMemberGroup(routes),
            WipeWritePermOfBroker(routes.topics),
            AddWritePermOfBroker(routes.topics),
        ],
        services={"scan brokers": routes.scan, "send notices of brokers": notices.run},
        connections=routes,
    )
